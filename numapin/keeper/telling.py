"""What the keeper says: each thing once, in a sentence that names the thread, its process, and what became of it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from numapin.ids import CpuSet
from numapin.keeper.metrics import Counts
from numapin.orders import HotOrder, Orders
from numapin.placement import Placing, Remark
from numapin.placement.workers import is_worker
from numapin.tree import Process, Tree

PATIENCE = 60.0
"""Seconds after which a pattern that matched nothing, or a worker that cannot be told, is spoken of."""


class Say(Protocol):
    """Says one thing: a line for a person, or its fields for a program."""

    def __call__(self, level: Any, line: str, /, **fields: Any) -> None: ...


class Teller:
    """Remembers what was said."""

    def __init__(self, orders: Orders, say: Say, counts: Counts, now: float) -> None:
        self._orders, self._say, self._counts, self._start = orders, say, counts, now
        self._said: set[tuple[str, object]] = set()
        self._free = orders.cpus
        self._matched: set[str] = set()
        self._waiting: dict[int, float] = {}
        """When a worker that cannot be told was first seen, by process."""
        self._why: Mapping[int, str] = {}

    def placed(self, before: Placing, placing: Placing, tree: Tree, now: float) -> None:
        """What is new: hot threads, the CPUs kept for them, workers beside their accelerators."""
        for process, tid in _threads(tree):
            placement = placing.threads[tid]
            old = before.threads.get(tid)
            if placement.order and not (old and old.order):
                self._matched.add(placement.order.asked)
                where = (
                    f"CPU {placement.cpus} is its own" if placement.own else f"on {placement.cpus.label} with others"
                )
                self._say("info", f"{process.name(tid)} is hot: {self._how(placement.order)}, {where}")
        if placing.free != self._free:
            self._free = placing.free
            kept = CpuSet.of(placing.taken.values()).label
            self._say("info", f"kept for hot threads: {kept}; all others belong on {placing.free.label}")
        self._workers(placing, tree, now)

    def _how(self, order: HotOrder) -> str:
        if not self._orders.scheduling:
            return "its scheduling left as it is"
        return order.how

    def _workers(self, placing: Placing, tree: Tree, now: float) -> None:
        told, workers = placing.told, self._orders.workers
        own = [process for process in tree if workers and is_worker(process, workers)]
        self._counts.workers = sum(process.pid in told.shares for process in own)
        self._counts.untold = len(told.untold)
        self._why = told.untold
        self._waiting = {pid: self._waiting.get(pid, now) for pid in told.untold}
        for process in own:
            share = told.shares.get(process.pid)
            if share and self._is_new("worker", (process.pid, share.index)):
                where = f"{share.cpus.label} of node {share.node}"
                self._say("info", f"{process.label} has {share.label}: it belongs on {where}")

    def wait(self, tree: Tree, now: float) -> None:
        """Speak of what has not come for a minute: workers that cannot be told, patterns that matched nothing."""
        for process in tree if self._waiting else ():
            if now - self._waiting.get(process.pid, now) >= PATIENCE and self._is_new("untold", process.pid):
                message = f"{process.label} stays on {self._orders.cpus.label}: {self._why[process.pid]}"
                hint = "A profile says how the workers of an engine are known (--workers, --profiles)."
                self._say("warning", message, hint=hint)
        if now - self._start >= PATIENCE and self._is_new("patterns", ""):
            for asked in dict.fromkeys(order.asked for order in self._orders.hot):
                if asked not in self._matched:
                    self._unmatched(asked, tree)

    def _unmatched(self, asked: str, tree: Tree) -> None:
        names = sorted({thread.name for process in tree for thread in process.threads if thread.name})
        there = ", ".join(repr(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
        hint = "Names have at most 15 characters (/proc/PID/task/TID/comm), and an unnamed thread has its maker's."
        self._say("warning", f"{asked!r} matched no thread in a minute; there are {there}", hint=hint)

    def remark(self, remarks: Iterable[Remark]) -> None:
        """Say what was remarked, once."""
        for one in remarks:
            if self._is_new(*one.key):
                self._say("warning", one.message, hint=one.hint)

    def drifted(self, tid: int, tree: Tree, what: str, who: str) -> None:
        """A thread had moved and was put back: said once for each process and cause."""
        process = _find(tree, tid)
        if self._is_new("drift", (process.pid, who)):
            self._say("warning", f"{process.name(tid)} {what}; moved by {who}")

    def moved(self, device: str, irq: int, shown: CpuSet, cpus: CpuSet) -> None:
        """An interrupt had moved and was put back: said once for each device."""
        if self._is_new("interrupt", device):
            balancer = self._orders.irq_balancer
            who = f"irqbalance ({balancer})" if balancer else "irqbalance, or the driver when it was set up anew"
            message = f"interrupt {irq} of {device} had CPUs {shown} and was put back on {cpus}; moved by {who}"
            self._say("warning", message, hint="Ban it there (irqbalance --banirq=N or --banmod=DRIVER).")

    def refused(self, tid: int, tree: Tree, what: str, code: int) -> None:
        """The kernel refused a change: said once for each process, kind and cause."""
        process = _find(tree, tid)
        if self._is_new("refused", (process.pid, what, code)):
            hint = self._orders.rt_hint if what == "scheduling" else "The keeper needs the same user, or SYS_NICE."
            self._say("warning", f"the {what} of {process.name(tid)} cannot be set: {os.strerror(code)}", hint=hint)

    def unwritten(self, path: str, why: str) -> None:
        """The metrics cannot be written: said once for each cause."""
        if self._is_new("metrics", why):
            self._say("warning", f"the metrics cannot be written to {path}: {why}")

    def _is_new(self, kind: str, about: object) -> bool:
        new = (kind, about) not in self._said
        self._said.add((kind, about))
        return new


def _threads(tree: Tree) -> Iterator[tuple[Process, int]]:
    return ((process, thread.tid) for process in tree for thread in process.threads)


def _find(tree: Tree, tid: int) -> Process:
    return next((process for process, number in _threads(tree) if number == tid), Process(tid, 0, ""))
