"""Starts numapin in the guest, alone or in front of a server that can be looked at."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.keeper.engine import until as until_seconds
from tests.lab.guest import process
from tests.lab.guest.machine import addresses, run
from tests.lab.guest.main import RESULTS
from tests.nvml.driver import Gpu, answers, build, environment

until = partial(until_seconds, seconds=40, pause=0.3)
"""As long as anything that the keeper does may take, on an emulated computer."""

Variables = Mapping[str, str] | None
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


def verify(server: str, *words: str, **options: Any) -> dict[str, Any]:
    """What verify says of a server: as an object, but for a quick look."""
    form = () if "--quick" in words else ("--format", "json")
    told = numapin("verify", "--pid", server, *words, *form, variables=driver("gpu0"), **options)
    return {**told, "json": json.loads(told["out"]) if form and told["out"] else None}


class Server:
    """A server with `numapin WORDS... --` in front; without words, by itself."""

    def __init__(self, words: tuple[str, ...], mib: int, front: tuple[str, ...], variables: Mapping[str, str]) -> None:
        command = [*front, *((*NUMAPIN, *words, "--") if words else ()), *SERVER, str(mib)]
        pipe = subprocess.PIPE
        environment = os.environ | variables
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        self.said = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    def _expect(self, word: str) -> None:
        assert self.process.stdout
        said = self.process.stdout.readline().strip()
        if said != word:
            self.process.kill()
            raise RuntimeError(f"the server said {said!r}: {self.process.communicate()}")

    def wait(self) -> None:
        """Until it is up."""
        self._expect("ready")

    def grow(self, mib: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"grow {mib}\n")
        self.process.stdin.flush()
        self._expect("grown")

    def look(self) -> dict[str, Any]:
        return process.look(self.pid)

    def end(self) -> None:
        """Let it leave; what it said on the way is in `said`."""
        try:
            self.said = self.process.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.said = self.process.communicate()[1]


@contextmanager
def serving(*words: str, mib: int = 200, front: tuple[str, ...] = (), variables: Variables = None) -> Iterator[Server]:
    """A server that is up; leaving the block ends it."""
    server = Server(words, mib, front, variables or {})
    try:
        server.wait()
        yield server
    finally:
        server.end()
