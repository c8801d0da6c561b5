"""Where each thread of a running server belongs: hot ones on a CPU of their own, workers beside their accelerators.

Deciding only: a tree and the orders in, a placement for each thread out. The keeper reads, compares and changes.
"""

from collections.abc import Iterator, Mapping

from numapin.ids import CpuSet
from numapin.orders import HotOrder, Orders, Share
from numapin.placement.matching import matches
from numapin.placement.workers import Told, tell
from numapin.tree import Process, Thread, Tree
from numapin.values import field, value


@value
class Placement:
    """Where a thread belongs."""

    cpus: CpuSet
    """Those on which it may run; a thread that the engine itself binds to fewer is left there."""
    order: HotOrder | None = None
    """Of a hot thread: what it was made hot by."""
    own: bool = False
    """The only CPU of `cpus` is this thread's own."""


@value
class Remark:
    """Something that is to be said, once for each key."""

    key: tuple[str, int]
    """What it is about, and the thread or process."""
    message: str
    hint: str = ""


@value
class Placing:
    """Where all threads of a tree belong."""

    threads: Mapping[int, Placement] = field(default_factory=dict)
    taken: Mapping[int, int] = field(default_factory=dict)
    """CPU by hot thread: what the next placing keeps as it is."""
    told: Told = field(default_factory=Told)
    remarks: tuple[Remark, ...] = ()
    free: CpuSet = CpuSet()
    """CPUs of the whole server that are no thread's own."""


def place(orders: Orders, allowed: CpuSet, tree: Tree, taken: Mapping[int, int]) -> Placing:
    """Where the threads belong, given the CPUs that the cpuset allows now, and those that hot threads already have."""
    told = tell(tree, orders)
    pools = {process.pid: _pool(orders, allowed, told.shares.get(process.pid)) for process in tree}
    hot = list(_hot(orders, tree))
    everywhere = {_pool(orders, allowed, share) for share in (None, *orders.shares)}
    own = _own_cpus([(thread.tid, pools[process.pid]) for _, process, thread in hot], everywhere, orders, taken)
    reserved = CpuSet.of(own.values())
    threads: dict[int, Placement] = {}
    for process in tree:
        placement = Placement(pools[process.pid] - reserved)
        threads.update((thread.tid, placement) for thread in process.threads)
    remarks = []
    for order, process, thread in hot:
        if thread.tid in own:
            threads[thread.tid] = Placement(CpuSet.of([own[thread.tid]]), order, own=True)
        elif orders.scheduling and (not order.fifo or orders.unsafe):
            threads[thread.tid] = Placement(pools[process.pid] - reserved, order)
        else:
            remarks.append(_crowded(process, thread, pools[process.pid]))
    free = _pool(orders, allowed, None) - reserved
    return Placing(threads, own, told, tuple(remarks), free)


def _pool(orders: Orders, allowed: CpuSet, share: Share | None) -> CpuSet:
    """A process's CPUs; where the cpuset took them all away, what is left of the server's, or of the cpuset."""
    wanted = share.cpus if share else orders.cpus
    return wanted & allowed or orders.cpus & allowed or allowed


def _hot(orders: Orders, tree: Tree) -> Iterator[tuple[HotOrder, Process, Thread]]:
    """The hot threads, those of the first order first: where CPUs are few, it is the one that counts."""
    seen: set[int] = set()
    for order in orders.hot:
        for process in tree:
            for thread in process.threads:
                if thread.tid not in seen and matches(order.rule, process, thread):
                    seen.add(thread.tid)
                    yield order, process, thread


def _own_cpus(
    hot: list[tuple[int, CpuSet]], pools: set[CpuSet], orders: Orders, taken: Mapping[int, int]
) -> dict[int, int]:
    """A CPU for each hot thread, out of the pool of its process, as long as every pool keeps one for the others.

    A thread keeps the CPU that it has, unless there is no other for one that comes before it.
    """
    own: dict[int, int] = {}
    reserved = CpuSet()
    owned = {taken[tid] for tid, _ in hot if tid in taken}
    for tid, pool in hot:
        before = taken.get(tid)
        free = [cpu for cpu in pool - reserved if all(_spares(one, reserved, cpu) for one in pools | {pool})]
        if free:
            best = min(free, key=lambda cpu: (cpu in owned, _crowd(cpu, reserved, orders), -cpu))
            own[tid] = before if before in free else best
            reserved |= CpuSet.of([own[tid]])
    return own


def _spares(pool: CpuSet, reserved: CpuSet, cpu: int) -> bool:
    """Whether a pool that this CPU is taken from still has one left."""
    return cpu not in pool or len(pool - reserved) > 1


def _crowd(cpu: int, reserved: CpuSet, orders: Orders) -> int:
    """How many hot threads are on the same core already: they share its execution units."""
    return len(orders.cores.get(cpu, CpuSet()) & reserved)


def _crowded(process: Process, thread: Thread, pool: CpuSet) -> Remark:
    message = f"{process.name(thread.tid)} stays as it is: a CPU of its own would leave no other of CPUs {pool} free"
    return Remark(("crowded", thread.tid), message, "Give the container more CPUs, or force it with --rt-unsafe.")
