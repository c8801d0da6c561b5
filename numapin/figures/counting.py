"""What two looks at the kernel's counters come to: rates, shares."""

from collections.abc import Iterable, Iterator, Mapping

from numapin.counters import Counts, Event, TaskCounts
from numapin.figures import Figure, Kind, share
from numapin.ids import NodeSet
from numapin.topology import Topology
from numapin.units import GIGA, MIB
from numapin.values import value

ANONYMOUS = Kind("remote_memory_percent", "its anonymous memory on other nodes", "%", "lower")
GROWTH = Kind("remote_growth_mib", "its memory's growth on other nodes", "MiB/s", "lower")
OTHER = Kind("other_node_per_second", "page allocations from other nodes, whole machine", "1/s", "lower", 0)
MISSED = Kind("numa_miss_per_second", "page allocations off the wanted node, whole machine", "1/s", "lower", 0)
DRAM = Kind("remote_reads_percent", "memory reads served by other nodes", "%", "lower")
LINK = Kind("socket_links_gb_s", "data between the sockets, whole machine", "GB/s", "lower", 2)
CACHE = Kind("llc_hit_percent", "last-level cache (L3) hit rate", "%", "higher")
VOLUNTARY = Kind("voluntary_switches", "context switches, voluntary", "1/s", "", 0)
INVOLUNTARY = Kind("involuntary_switches", "context switches, involuntary", "1/s", "lower", 0)
MIGRATIONS = Kind("migrations", "migrations to another CPU", "1/s", "lower", 0)
QUEUE = Kind("run_queue_wait_ms", "run-queue wait of all threads", "ms/s", "lower")
IRQ_REMOTE = Kind("remote_interrupts_percent", "its devices' interrupts on other nodes", "%", "lower")

_TASKS = (
    (VOLUNTARY, "voluntary", 1),
    (INVOLUNTARY, "involuntary", 1),
    (MIGRATIONS, "migrations", 1),
    (QUEUE, "waited", 1_000_000),
)
LINKS = "links"
"""The event of LINK: bytes."""
NO_COUNT = "this kernel does not count it"


@value
class Measured:
    """Two looks, what the CPU counted between them, and where the server belongs."""

    before: Counts
    after: Counts
    events: Mapping[str, Event]
    topology: Topology
    nodes: NodeSet
    """Where the server's memory belongs."""
    devices: Mapping[int, int]
    """Node of the device, by interrupt."""

    @property
    def seconds(self) -> float:
        """Between the two looks."""
        return max(self.after.seconds - self.before.seconds, 1e-9)


def counting(measured: Measured) -> Iterator[Figure]:
    """All figures that need no load."""
    yield from _memory(measured)
    links = measured.events[LINKS]
    yield Figure(LINK, None if links.count is None else links.count / GIGA / measured.seconds, links.why)
    yield _ratio(DRAM, measured.events, "node_misses", "node_loads")
    misses = _ratio(CACHE, measured.events, "llc_misses", "llc_loads")
    yield Figure(CACHE, None if misses.number is None else 100 - misses.number, misses.why)
    for kind, name, scale in _TASKS:
        total = _sum(measured.before.tasks, measured.after.tasks, name)
        yield Figure(
            kind, None if total is None else total / scale / measured.seconds, "" if total is not None else NO_COUNT
        )
    yield from _interrupts(measured)


def _memory(measured: Measured) -> Iterator[Figure]:
    if len(measured.topology.memory_nodes) < 2:
        why = "this machine has one node: no memory is remote"
        yield from (Figure(kind, None, why) for kind in (ANONYMOUS, GROWTH, OTHER, MISSED))
        return
    if measured.nodes:
        yield _anonymous(measured)
        yield _growth(measured)
    else:
        yield from (Figure(kind, None, "nobody can say where its memory belongs") for kind in (ANONYMOUS, GROWTH))
    for kind, name in ((OTHER, "other_node"), (MISSED, "numa_miss")):
        grown = [_delta(measured, node, name) for node in measured.after.numastat]
        known = [one for one in grown if one is not None]
        yield Figure(kind, sum(known) / measured.seconds if known else None, "" if known else NO_COUNT)


def _anonymous(measured: Measured) -> Figure:
    pages = measured.after.pages
    whole = sum(pages.anonymous.values()) if pages else 0
    there = _elsewhere(pages.anonymous, measured.nodes) if pages else 0
    return Figure(ANONYMOUS, share(there, whole), "" if whole else "its memory may not be looked at")


def _growth(measured: Measured) -> Figure:
    before, after = measured.before.cgroup, measured.after.cgroup
    if before is None or after is None:
        return Figure(GROWTH, None, "memory.numa_stat of its cgroup is not to be seen here")
    more = _elsewhere(after.anonymous, measured.nodes) - _elsewhere(before.anonymous, measured.nodes)
    return Figure(GROWTH, max(0, more) / MIB / measured.seconds)


def _elsewhere(sizes: Mapping[int, int], own: NodeSet) -> int:
    return sum(size for node, size in sizes.items() if node not in own)


def _delta(measured: Measured, node: int, name: str) -> int | None:
    before, after = (counts.numastat.get(node, {}).get(name) for counts in (measured.before, measured.after))
    return None if before is None or after is None else after - before


def _ratio(kind: Kind, events: Mapping[str, Event], part: str, whole: str) -> Figure:
    some, every = events[part], events[whole]
    if some.count is None or every.count is None:
        return Figure(kind, None, some.why or every.why)
    found = share(min(some.count, every.count), every.count)
    return Figure(kind, found, "" if found is not None else "nothing was counted")


def _sum(before: Mapping[int, TaskCounts], after: Mapping[int, TaskCounts], name: str) -> float | None:
    """Growth over all threads that are there now; of a thread that was made meanwhile all of it."""
    grown = []
    for tid, task in after.items():
        now, then = getattr(task, name), getattr(before.get(tid), name, 0)
        # A thread id that was given to another thread meanwhile has counted less than it had.
        if now is not None and then is not None:
            grown.append(now - then if now >= then else now)
    return sum(grown) if grown else None


def _interrupts(measured: Measured) -> Iterator[Figure]:
    """Per node, and how many came to another node than the device's."""
    counted = {irq: _came(measured, irq) for irq in measured.devices if irq in measured.after.interrupts}
    if not counted:
        why = "no interrupt of a device of its own is counted here"
        yield Figure(IRQ_REMOTE, None, why)
        return
    for node in measured.topology.cpu_nodes:
        here = sum(_on(measured, counts.items(), node) for counts in counted.values())
        kind = Kind(f"interrupts_node{node}", f"its devices' interrupts on node {node}", "1/s", "", 0)
        yield Figure(kind, here / measured.seconds)
    every = sum(sum(counts.values()) for counts in counted.values())
    local = sum(_on(measured, counts.items(), measured.devices[irq]) for irq, counts in counted.items())
    yield Figure(IRQ_REMOTE, share(every - local, every), "" if every else "none came in this time")


def _came(measured: Measured, irq: int) -> dict[int, int]:
    before, after = measured.before.interrupts.get(irq, {}), measured.after.interrupts[irq]
    return {cpu: max(0, count - before.get(cpu, 0)) for cpu, count in after.items()}


def _on(measured: Measured, counts: Iterable[tuple[int, int]], node: int) -> int:
    cpus = measured.topology.cpus_of([node])
    return sum(count for cpu, count in counts if cpu in cpus)
