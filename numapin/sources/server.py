"""A running server, read once: who is in its tree, where each thread may run, where its memory is."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from numapin.errors import CannotRead
from numapin.ids import CpuSet
from numapin.marker import MARKER, Marker
from numapin.server import Pages, Server, ThreadState
from numapin.settings import Counting
from numapin.sources import tasks
from numapin.sources.another import AnotherProcess
from numapin.sources.census import Census
from numapin.sources.cgroup import Cgroups
from numapin.sources.environment import BINDERS, binders
from numapin.sources.pages import read_cgroup_pages, read_maps
from numapin.sources.process import Status, read_status
from numapin.sources.root import LiveRoot
from numapin.tree import Process, Tree
from numapin.values import value

PROC = "/proc"
MOST_WALKED = 16 << 30
"""Bytes of resident memory up to which the kernel is made to walk all pages; above, the cgroup's own count serves."""

_RESIDENT = re.compile(r"(\d{1,15}) kB", re.ASCII)


@value
class Looking:
    """How closely a server is looked at."""

    threads: bool = True
    """Every thread; else the main thread of each process."""
    pages: Counting = "auto"
    interrupts: tuple[int, ...] = ()


def find_servers() -> list[int]:
    """Servers that numapin started, by their marker: PID 1 where it is one, else the topmost of each tree.

    Only those of this process's own cgroup where there are any: a pod's containers may share a process namespace.
    """
    if 1 in (marked := _marked([1])):
        return [1]
    marked = _marked(tasks.numbers(tasks.processes(PROC)) - {os.getpid()})
    here = {pid for pid in marked if _cgroup(pid) == _cgroup(os.getpid())}
    chosen = here or marked
    return sorted(pid for pid in chosen if (tasks.parent_and_start(PROC, pid) or (0, 0))[0] not in chosen)


def _marked(among: Iterable[int]) -> set[int]:
    return {pid for pid in among if tasks.variables(PROC, pid, [MARKER])}


def _cgroup(pid: int) -> str | None:
    return LiveRoot().read(f"{PROC}/{pid}/cgroup")


def read_marker(pid: int) -> Marker | None:
    """Where numapin bound the server when it started it; None where it did not.

    Raises CannotRead where its environment holds something else under that name.
    """
    text = tasks.variables(PROC, pid, [MARKER]).get(MARKER)
    try:
        return Marker.parse(text) if text else None
    except ValueError as error:
        raise CannotRead(f"{MARKER} of process {pid} cannot be understood: {error}") from None


def read_server(pid: int, looking: Looking) -> Server:
    """The server and all processes below it, this one left out. Raises CannotRead where there is no such process."""
    census = Census(PROC, pid, os.getpid(), BINDERS, ())
    census.look(0.0)
    if not census.tree:
        raise CannotRead(f"there is no process {pid} here", "A sidecar sees the server's under shareProcessNamespace.")
    root = AnotherProcess(pid)
    cgroups = Cgroups(root)
    cpuset = cgroups.cpuset()
    status = read_status(root)
    pages, pages_of = _pages(census.tree, looking.pages, root, cgroups)
    return Server(
        tree=census.tree,
        threads=dict(_states(census.tree, looking)),
        cpuset=cpuset.cpus,
        mems=status.mems if status.mems is not None else cpuset.mems,
        pages=pages,
        pages_of=pages_of,
        interrupts={irq: cpus for irq in looking.interrupts if (cpus := _interrupt(irq)) is not None},
        binders={one.pid: found for one in census.tree if (found := binders(one.variables))},
    )


def _states(tree: Tree, looking: Looking) -> Iterator[tuple[int, ThreadState]]:
    """By thread id: affinity, and the memory policy where every thread is looked at."""
    for process in tree:
        for thread in process.threads if looking.threads else process.threads[:1]:
            status = _status(process.pid, thread.tid)
            if status.affinity is not None:
                policy = tasks.memory_policy(PROC, process.pid, thread.tid) if looking.threads else None
                yield thread.tid, ThreadState(status.affinity, policy)


def _status(pid: int, tid: int) -> Status:
    return read_status(LiveRoot(), f"{pid}/task/{tid}")


def _interrupt(irq: int) -> CpuSet | None:
    text = LiveRoot().read(f"{PROC}/irq/{irq}/smp_affinity_list")
    return None if text is None else CpuSet.parse(text)


def _pages(
    tree: Tree, counting: Counting, root: AnotherProcess, cgroups: Cgroups
) -> tuple[Pages | None, Mapping[int, Pages]]:
    if counting == "off":
        return None, {}
    if counting == "maps" or (counting == "auto" and sum(map(_resident, tree)) <= MOST_WALKED):
        found = {one.pid: pages for one in tree if (pages := read_maps(PROC, one.pid)) is not None}
        if tree[0].pid in found:
            return sum(found.values(), Pages()), found
    return read_cgroup_pages(root, cgroups), {}


def _resident(process: Process) -> int:
    """VmRSS in bytes; 0 where it is not told."""
    found = _RESIDENT.match(_status(process.pid, process.pid).values.get("VmRSS", ""))
    return int(found[1]) << 10 if found else 0
