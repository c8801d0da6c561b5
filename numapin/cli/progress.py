"""A bar on the terminal while something takes long; nothing where stderr is no terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICK = 0.1
Advance = Callable[[int], object]
"""Told how many steps more were done."""


@contextmanager
def progress(label: str, steps: int) -> Iterator[Advance]:
    """A bar of so many steps."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda _: None
        return
    import click  # noqa: PLC0415 -- the command line may have been read without it

    with click.progressbar(length=steps, label=label, file=sys.stderr) as bar:
        yield bar.update


def wait(label: str, seconds: float, goes_on: Callable[[], bool]) -> None:
    """Let so much time pass, or less where it does not go on."""
    ticks = max(1, round(seconds / TICK))
    begin = time.monotonic()
    with progress(label, ticks) as advance:
        for tick in range(1, ticks + 1):
            time.sleep(max(0.0, begin + tick * seconds / ticks - time.monotonic()))
            advance(1)
            if not goes_on():
                return
