"""A keeper with its surroundings: threads that remember, a clock that is told, and all that is said."""

import errno
import os
from dataclasses import dataclass, field

from numapin.ids import CpuSet
from numapin.keeper import CHECKS, Keeper
from numapin.keeper.metrics import Counts
from numapin.keeper.telling import Teller
from numapin.policies import Scheduling
from tests.keeper.trees import cpus, orders, tree

ALL = cpus("0-7")
OTHER = Scheduling(fifo=False, priority=0, reset_on_fork=False)


@dataclass
class FakeThreads:
    """Threads of a machine; each is on all CPUs until it is told otherwise."""

    cpus: dict[int, CpuSet] = field(default_factory=dict)
    how: dict[int, Scheduling] = field(default_factory=dict)
    irqs: dict[int, CpuSet] = field(default_factory=dict)
    refuses: dict[str, int] = field(default_factory=dict)
    """errno by call."""
    gone: set[int] = field(default_factory=set)
    calls: list[tuple] = field(default_factory=list)

    def _call(self, name: str, tid: int, *rest) -> None:
        if tid in self.gone:
            raise OSError(errno.ESRCH, "gone")
        if rest:
            self.calls.append((name, tid, *map(str, rest)))
        if name in self.refuses:
            raise OSError(self.refuses[name], os.strerror(self.refuses[name]))

    def affinity(self, tid: int) -> CpuSet:
        self._call("affinity", tid)
        return self.cpus.get(tid, ALL)

    def set_affinity(self, tid: int, wanted: CpuSet) -> None:
        self._call("set_affinity", tid, wanted)
        self.cpus[tid] = wanted

    def scheduling(self, tid: int) -> Scheduling:
        self._call("scheduling", tid)
        return self.how.get(tid, OTHER)

    def set_scheduling(self, tid: int, wanted: Scheduling) -> None:
        self._call("set_scheduling", tid, wanted)
        self.how[tid] = wanted

    def interrupt_affinity(self, irq: int) -> CpuSet:
        self._call("interrupt_affinity", irq)
        return self.irqs[irq]

    def set_interrupt_affinity(self, irq: int, wanted: CpuSet) -> None:
        self._call("set_interrupt_affinity", irq, wanted)
        self.irqs[irq] = wanted


class Scene:
    """A keeper with its surroundings."""

    def __init__(self, *wanted, **others) -> None:
        self.kernel, self.counts, self.said = FakeThreads(), Counts(), []
        told = orders(*wanted, **others)
        self.teller = Teller(told, self._say, self.counts, now=0)
        self.keeper = Keeper(told, self.kernel, self.teller, self.counts)

    def _say(self, level: str, line: str, /, hint: str = "") -> None:
        self.said.append((level, line, hint))

    def tend(self, *others, allowed: str = "0-7", now: float = 0) -> None:
        self.keeper.tend(tree(*others), cpus(allowed), now)

    def check(self) -> None:
        for _ in range(2 * CHECKS):
            self.keeper.check()

    def warnings(self) -> list[str]:
        return [line for level, line, _ in self.said if level == "warning"]
