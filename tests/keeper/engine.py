"""Starts the stand-in for an engine, with numapin in front of it or not. Standard library only: the lab uses it too."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

STANDIN = (sys.executable, "-S", str(Path(__file__).with_name("standin.py")))
SECONDS = 20


def until(seen: Callable[[], Any], seconds: float = SECONDS, pause: float = 0.1) -> Any:
    """What is seen as soon as that is something, or after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := seen()) and time.monotonic() < end:
        time.sleep(pause)
    return found


class Engine:
    """A running stand-in; leaving the block ends it."""

    def __init__(self, *words: str, front: tuple[str, ...] = (), variables: Mapping[str, str] | None = None) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- as long as the engine
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*front, *STANDIN, *words], stdin=pipe, stdout=pipe, stderr=self._errors, env=variables, text=True
        )
        self.pid = self.process.pid
        self._expect("ready")

    def _expect(self, word: str) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().strip()
        if not line or not line.startswith(word):
            self.process.kill()
            self.__exit__()
            raise RuntimeError(f"the engine said {line!r} instead of {word or 'anything'!r}: {self.said()}")
        return line

    def tell(self, line: str) -> str:
        """Give it a line; its answer."""
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._expect("ready" if line == "reexec" else "")

    def tree(self) -> list[dict]:
        """Its processes as they see themselves: pid, role, title, names by thread."""
        found: list[dict] = json.loads(self.tell("tree"))
        return [{**one, "threads": {int(tid): name for tid, name in one["threads"].items()}} for one in found]

    def keeper(self) -> int:
        """Its keeper's process id, by that one's command line; 0 where there is none."""
        words = ["numapin-keeper", "--pid", str(self.pid)]
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = file.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if any(command[place : place + 3] == words for place in range(len(command))):
                return int(file.parent.name)
        return 0

    def said(self) -> str:
        """What numapin, the server and the keeper said on stderr so far."""
        if not self._errors.closed:
            self._errors.seek(0)
            self._said = self._errors.read()
        return self._said

    def end(self) -> int:
        """Let it leave; its exit status."""
        assert self.process.stdin
        try:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.said()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            if stream:
                stream.close()
