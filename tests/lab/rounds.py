"""A round: one computer under one kernel, and the guest scripts that run there. One boot serves all their cases."""

import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from tests.lab.boot import Limit, boot
from tests.lab.computer import Computer
from tests.lab.kernels import Kernel, kernels

SECONDS = 360
"""The longest that a round may take."""


@dataclass(frozen=True)
class Round:
    """What a test module asks for, in its ROUNDS. Modules that name the same share one boot."""

    computer: Computer
    scripts: tuple[str, ...]
    """Names of modules of tests/lab/guest, which run one after the other."""
    series: str | None = None
    """The kernel's; None is the newest that is there."""

    image: bool = False
    """Whether the guest needs the image that our Dockerfile makes: the file `image` tells it where that is."""

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.series or kernels()[-1])

    @property
    def lacking(self) -> str | None:
        """Why it cannot be booted here."""
        return None if not self.series or self.series in kernels() else f"kernel {self.series} has not been fetched"

    def __str__(self) -> str:
        return f"{self.computer.name}-{'-'.join(self.scripts)}-{self.series or 'newest'}"


class CaseFailed(Exception):
    """A case raised, in the guest, or never ran."""


@dataclass(frozen=True)
class Seen:
    """What the cases of a round returned, by name."""

    told: dict[str, dict[str, Any]]
    directory: Path

    def __getitem__(self, case: str) -> Any:
        if case not in self.told:
            raise CaseFailed(f"{case} did not run; {self.directory} has the console")
        if "error" in self.told[case]:
            raise CaseFailed(f"{case} failed in the guest:\n{self.told[case]['error']}")
        return self.told[case]["value"]


@dataclass
class Rounds:
    """Boots rounds side by side, as many at a time as this machine has CPUs."""

    directory: Path
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(os.cpu_count()))
    futures: dict[Round, "Future[Seen]"] = field(default_factory=dict)

    stop: Event = field(default_factory=Event)
    image: str = ""
    """Where the image is mounted."""

    def start(self, wanted: Round) -> "Future[Seen]":
        """Begin it, or find it begun."""
        if wanted not in self.futures:
            self.futures[wanted] = self.pool.submit(self._run, wanted)
        return self.futures[wanted]

    def _run(self, wanted: Round) -> Seen:
        directory = self.directory / str(wanted)
        directory.mkdir()
        (directory / "image").write_text(self.image)
        boot(wanted.computer, wanted.kernel, wanted.scripts, directory, Limit(SECONDS, self.stop))
        lines = (directory / "results").read_text().splitlines()
        return Seen({told["case"]: told for told in map(json.loads, lines)}, directory)

    def close(self) -> None:
        """End those that nobody waits for any more."""
        self.stop.set()
        self.pool.shutdown(cancel_futures=True)
