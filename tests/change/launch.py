"""Starts things with and without numapin in front, and reads what the probe printed of itself."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODULE = (sys.executable, "-m", "numapin")
SCRIPT = (str(Path(sys.executable).with_name("numapin")),)
MARKER = b"NUMAPIN_APPLIED="
RUN = ("run", "--policy", "best-effort", "--memory", "try", "--irq", "off", "--")
"""Binds what this machine lets bind, and execs wherever the tests run: on several nodes, under a seccomp filter."""
SECONDS = 30
"""Far more than anything here takes: a hang ends in a failure."""

Word = str | bytes


class Variables(Mapping[Any, Any]):
    """An environment for subprocess that may hold a name twice, which no dict can."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self.pairs = list(pairs)

    def items(self) -> Any:
        return list(self.pairs)

    def __getitem__(self, name: Any) -> Any:
        return dict(self.pairs)[name]

    def __iter__(self) -> Any:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Seen:
    """What the probe saw of itself."""

    arguments: list[bytes]
    variables: list[bytes]
    """As NAME=value, in their order."""
    files: dict[int, str]
    """Of each open descriptor: status flags, descriptor flags, and where it leads (of pipes without their number)."""
    status: dict[str, str]
    """The lines of /proc/self/status about signals, and Threads."""
    pid: int
    parent: int
    umask: str
    directory: bytes

    @property
    def without_marker(self) -> list[bytes]:
        return [variable for variable in self.variables if not variable.startswith(MARKER)]

    @property
    def marker(self) -> list[bytes]:
        return [variable.removeprefix(MARKER) for variable in self.variables if variable.startswith(MARKER)]


def numapin(*words: Word, via: Sequence[str] = MODULE, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """`numapin WORDS...`, ended, with what it printed; options are subprocess.run's."""
    return start((*via, *words), **options)


def start(command: Sequence[Word], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A command, ended, with what it printed; one that still runs after `SECONDS` is a failure."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(list(command), timeout=SECONDS, check=False, **options)


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without numapin's own variables, and with these."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NUMAPIN_")} | variables


def parse(output: bytes) -> Seen:
    """What the probe printed."""
    lines = [line.partition(b" ")[::2] for line in output.splitlines()]
    plain = {name.decode(): value.decode() for name, value in lines}

    def texts(wanted: bytes) -> list[bytes]:
        return [bytes.fromhex(value.decode()) for name, value in lines if name == wanted]

    return Seen(
        arguments=texts(b"argument"),
        variables=texts(b"variable"),
        files=dict(_file(value.decode()) for name, value in lines if name == b"fd"),
        status=dict(_pair(value.decode()) for name, value in lines if name == b"status"),
        pid=int(plain["pid"]),
        parent=int(plain["parent"]),
        umask=plain["umask"],
        directory=texts(b"directory")[0],
    )


def _file(text: str) -> tuple[int, str]:
    number, rest = text.split(" ", 1)
    return int(number), rest.partition(":[")[0]


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name, value.strip()
