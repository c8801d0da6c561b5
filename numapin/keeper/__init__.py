"""The keeper: puts each thread where its placement says, sees that it stays there, and says what it did, once.

It is told by its callers what there is (a tree, a cpuset) and what time it is; what it changes goes through `Threads`.
"""

import errno
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol, TypeVar

from numapin.ids import CpuSet
from numapin.keeper.metrics import Counts
from numapin.keeper.telling import Teller
from numapin.orders import HotOrder, Orders
from numapin.placement import Placement, Placing, place
from numapin.placement.drift import culprit, strays, wanted
from numapin.policies import Scheduling
from numapin.tree import Tree

CHECKS = 10
"""Looks in which every thread is compared once with where it belongs."""

T = TypeVar("T")

GONE = (errno.ESRCH, errno.ENOENT)
DENIED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
"""Will be refused the next time too. EINVAL is not: a cpuset that is written at this moment refuses a valid mask."""


class Threads(Protocol):
    """The only door to changes. Every method raises OSError with the kernel's errno."""

    def affinity(self, tid: int) -> CpuSet: ...
    def set_affinity(self, tid: int, cpus: CpuSet) -> None: ...
    def scheduling(self, tid: int) -> Scheduling: ...
    def set_scheduling(self, tid: int, scheduling: Scheduling) -> None: ...
    def interrupt_affinity(self, irq: int) -> CpuSet: ...
    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None: ...


class Keeper:
    """Places the threads of one server."""

    def __init__(self, orders: Orders, threads: Threads, teller: Teller, counts: Counts) -> None:
        self._orders, self._threads, self._teller, self._counts = orders, threads, teller, counts
        self._placing = Placing()
        self._tree: Tree = ()
        self._allowed: CpuSet | None = None
        self._cpuset_changed = False
        self._ours: set[CpuSet] = set()
        """Every set of CPUs that was ever given to a thread: one that shows it got it from here, or from its maker."""
        self._before: dict[int, Scheduling] = {}
        """How the hot threads were scheduled before."""
        self._refused: set[tuple[int, str]] = set()
        """Thread and what was refused: not tried again until the cpuset changes."""
        self._round: Iterator[int] = iter(())

    def tend(self, tree: Tree, allowed: CpuSet, now: float) -> None:
        """Place what is new or belongs elsewhere than before."""
        self._cpuset_changed = self._allowed not in (None, allowed)
        if self._cpuset_changed:
            self._refused.clear()
        self._tree, self._allowed = tree, allowed
        before, self._placing = self._placing, place(self._orders, allowed, tree, self._placing.taken)
        self._ours |= {one.cpus for one in self._placing.threads.values()}
        self._give_back(before)
        for tid, placement in self._placing.threads.items():
            if before.threads.get(tid) != placement:
                self._put(tid, placement)
        self._teller.placed(before, self._placing, tree, now)
        self._teller.remark((*self._placing.remarks, *strays(tree)))
        self._counts.threads = len(self._placing.threads)
        self._counts.hot = sum(one.order is not None for one in self._placing.threads.values())

    def check(self) -> None:
        """Compare some threads with where they belong, all of them in `CHECKS` calls, and put back what moved."""
        some = list(islice(self._round, len(self._placing.threads) // CHECKS + 1))
        if not some:
            self._round = iter(tuple(self._placing.threads))
            some = list(islice(self._round, len(self._placing.threads) // CHECKS + 1))
            self._cpuset_changed = False
        for tid in some:
            placement = self._placing.threads.get(tid)
            if placement:
                self._compare(tid, placement)

    def step_aside(self, own: Iterable[int]) -> None:
        """Keep the keeper's own threads off the CPUs that are somebody's own."""
        for tid in own:
            if self._placing.free and self._affinity(tid) != self._placing.free:
                self._set_affinity(tid, self._placing.free)

    def _put(self, tid: int, placement: Placement) -> None:
        shown = self._affinity(tid)
        if shown is None:
            return
        cpus = wanted(shown, placement, self._ours)
        if shown != cpus and self._set_affinity(tid, cpus):
            self._counts.placed += 1
        if placement.order:
            self._make_hot(tid, placement.order)

    def _compare(self, tid: int, placement: Placement) -> None:
        shown = self._affinity(tid)
        if shown is None or (shown == placement.cpus and not placement.order):
            return
        cpus = wanted(shown, placement, self._ours)
        if shown != cpus and self._set_affinity(tid, cpus):
            who = culprit(shown, self._allowed or self._orders.cpus, self._orders, cpuset_changed=self._cpuset_changed)
            self._drifted(tid, "affinity", f"had CPUs {shown} and was put back on {cpus}", who)
        if placement.order and self._make_hot(tid, placement.order):
            self._drifted(tid, "scheduling", "had lost its scheduling and has it again", "somebody in the container")

    def _drifted(self, tid: int, what: str, message: str, who: str) -> None:
        self._counts.repaired[what] += 1
        self._teller.drifted(tid, self._tree, message, who)

    def _affinity(self, tid: int) -> CpuSet | None:
        return self._attempt(tid, "affinity", lambda: self._threads.affinity(tid))

    def _set_affinity(self, tid: int, cpus: CpuSet) -> bool:
        """Whether the kernel took it, and all of it."""

        def change() -> CpuSet:
            self._threads.set_affinity(tid, cpus)
            return self._threads.affinity(tid)

        return self._attempt(tid, "affinity", change) == cpus

    def _make_hot(self, tid: int, order: HotOrder) -> bool:
        """Whether its scheduling had to be changed, and was."""
        shown = self._attempt(tid, "scheduling", lambda: self._threads.scheduling(tid))
        asked = scheduling(order)
        if not self._orders.scheduling or shown is None or _agrees(shown, asked):
            return False
        self._before.setdefault(tid, shown)
        return self._set_scheduling(tid, asked)

    def _set_scheduling(self, tid: int, asked: Scheduling) -> bool:
        def change() -> bool:
            self._threads.set_scheduling(tid, asked)
            return True

        return self._attempt(tid, "scheduling", change) is True

    def _give_back(self, before: Placing) -> None:
        """Threads that are hot no longer get the scheduling that they had."""
        for tid in [tid for tid in self._before if tid not in self._placing.threads]:
            del self._before[tid]
        for tid, placement in self._placing.threads.items():
            old = before.threads.get(tid)
            if old and old.order and not placement.order and tid in self._before:
                self._set_scheduling(tid, self._before.pop(tid))

    def _attempt(self, tid: int, what: str, call: Callable[[], T]) -> T | None:
        """The answer of a call about a thread; None where the thread is gone, or it was refused, which is said once."""
        if (tid, what) in self._refused:
            return None
        try:
            return call()
        except OSError as error:
            if error.errno in DENIED:
                self._refused.add((tid, what))
            if error.errno not in GONE:
                self._counts.refused += 1
                self._teller.refused(tid, self._tree, what, error.errno or 0)
            return None


def _agrees(shown: Scheduling, asked: Scheduling) -> bool:
    """The kernel shows a niceness of real-time threads too, on some versions."""
    return shown.fifo == asked.fifo and (shown.priority == asked.priority if asked.fifo else shown.nice == asked.nice)


def scheduling(order: HotOrder) -> Scheduling:
    """Without RESET_ON_FORK every thread that a hot one makes would be as hot."""
    if order.fifo:
        return Scheduling(fifo=True, priority=order.fifo, reset_on_fork=True)
    return Scheduling(fifo=False, priority=0, reset_on_fork=True, nice=order.nice or 0)
