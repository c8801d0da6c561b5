"""Real refusals: a seccomp filter, and a policy that somebody set in front."""

import errno
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.change.launch import environment, numapin, start
from tests.change.seccomp import MEMORY, deny

MAPS = ("cat", "/proc/self/numa_maps")
JUDGED = ("--policy", "best-effort", "--irq", "off")
"""Judged so that a machine of several nodes passes: what is tested here comes after the verdict."""


def run(*words: str, **options) -> subprocess.CompletedProcess[bytes]:
    return numapin("run", *JUDGED, *words, **options)


def policy_of(output: bytes) -> str:
    """The one memory policy that all mappings but the kernel's own have."""
    return output.splitlines()[0].split(b" ", 1)[1].split(b" file=")[0].decode()


def said(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stderr.decode().splitlines()


def refusal(done: subprocess.CompletedProcess[bytes]) -> tuple[str, str]:
    """The sentence of the refusal that ended a run, and its hint."""
    (sentence,) = (line for line in said(done) if " was refused: " in line)
    (*_, hint) = (line for line in said(done) if line.startswith("numapin:   hint: "))
    return sentence, hint


@pytest.fixture
def node() -> str:
    """The nodes that best-effort binds memory to here, where it may be bound at all."""
    report = json.loads(numapin("plan", *JUDGED, "--format", "json").stdout)
    done = run("--", *MAPS)
    if done.returncode:
        pytest.skip(f"memory cannot be bound where these tests run: {done.stderr.decode()}")
    return report["mems"]


@pytest.mark.parametrize(("word", "shown"), [("bind", "bind=static:"), ("preferred", "prefer (many)=static:")])
def test_the_server_has_the_policy(node, word, shown):
    """/proc/self/numa_maps of what was exec'd: the kernel's own proof."""
    done = run("--memory-policy", word, "--", *MAPS)
    assert policy_of(done.stdout) == f"{shown}{node}"


def test_memory_off_leaves_the_policy_alone(node):
    """And says that it was not attempted."""
    done = run("--memory", "off", "--", *MAPS)
    assert policy_of(done.stdout) == "default"
    assert node
    assert any("set_mempolicy" in line and line.endswith("(skipped: --memory off)") for line in said(done))


DENIED = {
    "all": (MEMORY, errno.EPERM),
    "set": (("set_mempolicy",), errno.EPERM),
    "no such call": (MEMORY, errno.ENOSYS),
    "invalid": (("set_mempolicy",), errno.EINVAL),
}


@pytest.fixture(params=list(DENIED))
def denied(request):
    """A filter, by what it denies and how; as the preexec_fn that installs it, and the errno."""
    names, code = DENIED[request.param]
    return deny(names, code, drop_sys_nice=True), code


def test_a_denied_policy_stops_a_run_that_requires_it(denied, tmp_path):
    """77, one sentence that names the step and the kernel's word, a hint, and no server."""
    install, code = denied
    done = run("--", "touch", str(tmp_path / "started"), preexec_fn=install)
    assert (done.returncode, done.stdout) == (77, b"")
    assert not (tmp_path / "started").exists()
    sentence, hint = refusal(done)
    assert sentence.startswith("numapin: set_mempolicy MPOL_BIND|MPOL_F_STATIC_NODES nodes=")
    assert sentence.endswith(f" was refused: {os.strerror(code)}")
    assert {errno.EPERM: "seccomp", errno.ENOSYS: "seccomp", errno.EINVAL: "cpuset.mems"}[code] in hint
    assert not any("execve" in line for line in said(done))


def test_a_denied_policy_is_a_warning_where_it_is_only_tried(denied):
    """The server starts, with the policy it would have had without numapin, and the log says why."""
    install, code = denied
    done = run("--memory", "try", "--", *MAPS, preexec_fn=install)
    assert done.returncode == 0, done.stderr
    assert policy_of(done.stdout) == "default"
    (refused,) = (line for line in said(done) if line.endswith("(refused)"))
    assert "set_mempolicy" in refused
    assert code


def test_a_denied_policy_is_not_attempted_where_it_is_off(denied):
    """No call, no refusal, no hint."""
    install, _ = denied
    done = run("--memory", "off", "--", "sh", "-c", "exit 6", preexec_fn=install)
    assert done.returncode == 6
    assert not [line for line in said(done) if "refused" in line or "hint: The seccomp" in line]


def test_the_hint_names_seccomp_and_the_capability():
    """What docker run and a pod spec need; the kernel itself never answers EPERM here."""
    done = run("--", "true", preexec_fn=deny(MEMORY, drop_sys_nice=True))
    _, hint = refusal(done)
    assert all(word in hint for word in ("seccomp", "SYS_NICE", "--cap-add", "--memory try"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root has the capability in its bounding set for sure")
def test_the_hint_does_not_ask_for_a_capability_that_is_there():
    """A profile of somebody's own: it needs a rule."""
    done = run("--", "true", preexec_fn=deny(MEMORY))
    _, hint = refusal(done)
    assert "seccomp" in hint
    assert "--cap-add" not in hint


def test_a_policy_that_cannot_be_read_back_is_not_taken_for_granted():
    """get_mempolicy alone denied: what was set cannot be proved, and a run that requires it stops."""
    install = deny(["get_mempolicy"], drop_sys_nice=True)
    done = run("--", "true", preexec_fn=install)
    assert done.returncode == 77
    assert "execve" not in done.stderr.decode()
    assert run("--memory", "try", "--", "sh", "-c", "exit 6", preexec_fn=install).returncode == 6


def test_a_denied_affinity_stops_a_run_that_requires_it():
    """Some profiles deny it; where the mask is right already there is nothing to set."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("with one CPU the mask is right before anything is set")
    words = ("--cpus", str(allowed[0]), "--memory", "off", "--", "sh", "-c", "exit 6")
    install = deny(["sched_setaffinity"])
    done = run(*words, preexec_fn=install)
    assert done.returncode == 77
    sentence, hint = refusal(done)
    assert sentence == f"numapin: sched_setaffinity cpus={allowed[0]} was refused: Operation not permitted"
    assert "seccomp" in hint
    assert run("--cpu", "try", *words, preexec_fn=install).returncode == 6
    assert run("--cpu", "off", *words, preexec_fn=install).returncode == 6


def behind_numactl(option: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    if not shutil.which("numactl"):
        pytest.skip("numactl is not installed")
    return start(["numactl", option, sys.executable, "-m", "numapin", "run", *JUDGED, *words], env=environment())


def test_a_policy_in_front_that_agrees_is_kept(node):
    """numactl --membind binds without STATIC_NODES: its policy stays as it is."""
    done = behind_numactl(f"--membind={node}", "--", *MAPS)
    assert (done.returncode, policy_of(done.stdout)) == (0, f"bind:{node}")
    assert any("set_mempolicy" in line and line.endswith("(already)") for line in said(done))


@pytest.mark.parametrize("option", ["--preferred", "--interleave"])
def test_a_policy_in_front_that_does_not_agree_is_a_refusal(node, option):
    """Two who bind memory: who reads the log learns of the other, and what to do."""
    if "-" in node or "," in node:
        pytest.skip("several nodes: --preferred takes one")
    done = behind_numactl(f"{option}={node}", "--", "true")
    name = option.removeprefix("--").upper()
    sentence, hint = refusal(done)
    assert done.returncode == 77
    assert f"MPOL_{name} nodes={node}" in hint
    assert "--memory off" in hint
    assert "File exists" not in sentence, "EEXIST is numapin's own word here, not the kernel's"


def test_a_preferred_policy_in_front_agrees_with_a_preferred_one(node):
    """Weaker than bind, and as strong as was asked."""
    if "-" in node or "," in node:
        pytest.skip("several nodes: --preferred takes one")
    done = behind_numactl(f"--preferred={node}", "--memory-policy", "preferred", "--", *MAPS)
    assert (done.returncode, policy_of(done.stdout)) == (0, f"prefer:{node}")


def test_local_allocation_in_front_is_no_binding(node):
    """MPOL_LOCAL says what the default does: it is replaced."""
    assert policy_of(behind_numactl("--localalloc", "--", *MAPS).stdout) == f"bind=static:{node}"
