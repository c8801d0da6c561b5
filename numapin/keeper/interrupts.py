"""The NIC's interrupts, kept where `run` put them: irqbalance moves what it was not told to leave alone."""

from itertools import cycle, islice

from numapin.keeper import Threads
from numapin.keeper.metrics import Counts
from numapin.keeper.telling import Teller
from numapin.orders import Pinned

MOST = 64
"""Interrupts that are looked at in one round: a loaded host has thousands, and nothing hurries."""


class Interrupts:
    """Looks at them in turn. One is kept once it was seen where it belongs: what `run` was refused stays so."""

    def __init__(self, pinned: tuple[Pinned, ...], kernel: Threads, teller: Teller, counts: Counts) -> None:
        self._kernel, self._teller, self._counts = kernel, teller, counts
        self._size = min(MOST, len(pinned))
        self._next = cycle(pinned)
        self._kept: set[int] = set()

    def check(self) -> None:
        """Look at some, and put back those that moved."""
        for one in islice(self._next, self._size):
            self._check(one)

    def _check(self, one: Pinned) -> None:
        try:
            shown = self._kernel.interrupt_affinity(one.irq)
            if shown == one.cpus:
                self._kept.add(one.irq)
            elif one.irq in self._kept:
                self._kernel.set_interrupt_affinity(one.irq, one.cpus)
                self._counts.repaired["interrupt"] += 1
                self._teller.moved(one.device, one.irq, shown, one.cpus)
        except (OSError, ValueError):
            # Given back by the driver, or not ours to write any more.
            self._kept.discard(one.irq)
