"""Starts numapin in the guest, alone or in front of a server that can be looked at."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.lab.guest import process
from tests.lab.guest.machine import addresses, run
from tests.lab.guest.main import RESULTS
from tests.nvml.driver import Gpu, answers, build, environment

NUMAPIN = (sys.executable, "-m", "numapin")
SERVER = (sys.executable, "-S", str(Path(__file__).with_name("server.py")))


@cache
def _driver() -> Path:
    """The tests' own NVML library, which the harness compiled into the results' folder."""
    return build(RESULTS / "nvml")


def driver(*gpus: str) -> dict[str, str]:
    """Variables under which NVML enumerates these devices of the computer, and no others."""
    file = RESULTS / ("answers-" + "-".join(gpus))
    file.write_text(answers([Gpu(uuid=f"GPU-{name}", pci=addresses()[name]) for name in gpus]))
    return environment(_driver().parent, file)


def numapin(*words: str, **options: Any) -> dict[str, Any]:
    """`numapin WORDS...`, with `front` before it, to its end: exit status and what it said."""
    variables = os.environ | options.pop("variables", {})
    front = options.pop("front", ())
    done = run(*front, *NUMAPIN, *words, check=False, env=variables, **options)
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


class Server:
    """A server with `numapin run OPTIONS --` in front; without options, by itself. Leaving the block ends it."""

    def __init__(self, *words: str, mib: int = 200, front: tuple[str, ...] = (), **options: Any) -> None:
        variables = os.environ | options.pop("variables", {})
        command = [*front, *(NUMAPIN if words else ()), *words, *(("--",) if words else ()), *SERVER, str(mib)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=variables, text=True, **pipes, **options)

    @property
    def pid(self) -> int:
        return self.process.pid

    def _expect(self, word: str) -> None:
        assert self.process.stdout
        said = self.process.stdout.readline().strip()
        if said != word:
            self.process.kill()
            raise RuntimeError(f"the server said {said!r}: {self.process.communicate()}")

    def __enter__(self) -> "Server":
        self._expect("ready")
        return self

    def grow(self, mib: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"grow {mib}\n")
        self.process.stdin.flush()
        self._expect("grown")

    def look(self) -> dict[str, Any]:
        return process.look(self.pid)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.said = self.process.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.said = self.process.communicate()[1]
