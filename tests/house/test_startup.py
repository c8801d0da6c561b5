"""What numapin loads to start, and that it starts without what it need not have. Sets of modules, no milliseconds."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from numapin.errors import NumapinError
from numapin.sources.pod import read_pod
from tests.change.launch import environment
from tests.nvml.driver import Gpu, answers, build
from tests.nvml.driver import environment as driver_environment

HEAVY = {"asyncio", "cffi", "dataclasses", "inspect", "logging", "multiprocessing", "psutil", "pynvml", "pyroute2"}
HEAVY |= {"ctypes", "socket", "ssl", "structlog", "subprocess", "tarfile", "tempfile", "urllib.request", "xml"}
"""Each costs milliseconds, and is needed only where its answer is."""

SCRIPT = """
import os, sys

def told(*_):
    os.write(1, (chr(10) + " ".join(sorted(sys.modules))).encode())
    os._exit(0)

os.execve = told
before = set(sys.modules)
from numapin.cli import run
run(sys.argv[1:])
sys.stdout.flush()
told()
"""


def loaded(*words: str, **variables: str) -> set[str]:
    """The modules that are there when numapin would exec, or has ended, in a Python that starts with nothing else."""
    command = [sys.executable, "-I", "-c", SCRIPT, *words]
    done = subprocess.run(command, env=environment(**variables), capture_output=True, text=True, timeout=30, check=True)
    return set(done.stdout.rpartition("\n")[2].split())


def bare() -> set[str]:
    """What Python itself and this environment's start-up files load."""
    command = [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


PORTABLE = {"NUMAPIN_POLICY": "best-effort", "NUMAPIN_MEMORY": "try", "NUMAPIN_IRQ": "off"}


def test_importing_the_command_line_loads_nothing_heavy():
    """`import numapin.cli` is what every start does first."""
    command = [sys.executable, "-I", "-c", "import sys, numapin.cli; print(*sys.modules)"]
    found = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "numapin.cli" in found
    assert (found - bare()) & (HEAVY | {"click", "json"}) == set()


def test_the_entrypoints_own_form_loads_nothing_heavy():
    """`run -- COMMAND` to the point of exec: neither click nor JSON."""
    found = loaded("run", "--", "true", **PORTABLE)
    assert {"numapin.kernel", "numapin._native"} <= found
    assert (found - bare()) & (HEAVY | {"click", "json"}) == set()


def test_a_run_with_options_loads_click_and_nothing_else_heavy():
    """What click itself loads is click's."""
    command = [sys.executable, "-I", "-c", "import sys, click; print(*sys.modules)"]
    clicks = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    found = loaded("run", "--policy", "best-effort", "--memory", "try", "--irq", "off", "--", "true")
    assert "numapin.kernel" in found
    assert (found - bare() - clicks) & HEAVY == set()


@pytest.mark.parametrize("words", [["check"], ["plan"], ["plan", "--", "true"], ["show"]], ids=" ".join)
def test_what_only_judges_never_loads_what_changes_things(words):
    """A dry run has no kernel to hand to a step."""
    found = loaded(*words, "--policy", "best-effort") if words != ["show"] else loaded("show")
    assert "numapin.verdict" in found
    assert found & {"numapin.kernel", "numapin._native", "numapin.apply", "numapin.cli.running"} == set()


def test_few_modules_are_ours_on_the_way_to_exec():
    """Countable: another one is a decision."""
    ours = {module for module in loaded("run", "--", "true", **PORTABLE) if module.startswith("numapin")}
    assert len(ours) <= 66, sorted(ours)


BLOCKED = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
del sys.argv[1]
from numapin.cli import main
main()
"""


def without(library: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """numapin where a library cannot be imported."""
    command = [sys.executable, "-I", "-c", BLOCKED, library, *words]
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=30, check=False
    )


def test_without_pynvml_the_gpus_are_unknown_and_the_reason_says_so(tmp_path: Path):
    """A driver in sight that nobody can ask: 69, and not "no GPU"."""
    (tmp_path / "answers").write_text(answers([Gpu(uuid="GPU-1", pci="0000:00:00.0")]))
    driver = driver_environment(build(tmp_path).parent, tmp_path / "answers")
    done = without("pynvml", "check", "--format", "json", **driver)
    (reason,) = (reason for reason in json.loads(done.stdout)["reasons"] if reason["severity"] == "error")
    assert (done.returncode, reason["code"]) == (69, "GPU_HIDDEN")
    assert "pynvml" in reason["message"]


class OwnNamespace:
    """A live machine that is not the host's process namespace: its second process is no kernel thread."""

    is_live = True

    def read(self, path):
        return {"/proc/2/comm": "sleep"}.get(path)

    def names(self, _):
        return []

    def resolve(self, _):
        return "/proc/1"

    def writable(self, _):
        return None


def test_without_psutil_only_the_pod_cannot_be_told(monkeypatch):
    """Only --scope pod needs it; there it is a sentence, or nobody in sight, and no ImportError."""
    assert without("psutil", "check", "--policy", "best-effort").returncode == 0
    monkeypatch.setitem(sys.modules, "psutil", None)
    with contextlib.suppress(NumapinError):
        assert read_pod(OwnNamespace()) == ()


def test_without_pyroute2_files_alone_must_do():
    """Interfaces of which only netlink tells more are judged by what sysfs shows."""
    done = without("pyroute2", "check", "--policy", "best-effort")
    assert done.returncode == 0, done.stderr


def test_without_structlog_the_server_starts_all_the_same():
    """A log in another form is no reason not to serve."""
    done = without("structlog", "run", "--log-format", "json", "--", "sh", "-c", "exit 6", **PORTABLE)
    assert done.returncode == 6, done.stderr


def test_without_the_native_module_a_dry_run_works_and_a_run_is_refused():
    """An image without libnuma: 77 with a sentence; --memory off starts."""
    assert without("numapin._native", "plan", "--policy", "best-effort").returncode == 0
    done = without("numapin._native", "run", "--policy", "best-effort", "--", "true")
    assert (done.returncode, done.stdout) == (77, "")
    assert "native module" in done.stderr
    words = ("run", "--policy", "best-effort", "--memory", "off", "--", "sh", "-c", "exit 6")
    assert without("numapin._native", *words).returncode == 6
