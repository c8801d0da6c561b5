"""A running server as a value: its tree, where each thread may run, where its memory is."""

from collections.abc import Iterator, Mapping

from numapin.ids import CpuSet, NodeSet
from numapin.tree import Process, Tree
from numapin.values import field, value


@value
class ThreadState:
    """What binds one thread. None stands for what cannot be seen."""

    cpus: CpuSet | None
    """Its affinity: Cpus_allowed_list of /proc/<pid>/task/<tid>/status."""
    memory_policy: str | None = None
    """As numa_maps(5) spells it, `bind=static:0`."""


@value
class Pages:
    """Memory in bytes, by node."""

    anonymous: Mapping[int, int] = field(default_factory=dict)
    """The process's own, which its memory policy places: heap, stacks, copies of file pages, private huge pages."""
    shared: Mapping[int, int] = field(default_factory=dict)
    """Shared memory (shm, memfd, tmpfs): placed by whichever process touched it first."""
    file: Mapping[int, int] = field(default_factory=dict)
    """Mapped files: page cache, which lies where whoever read the file first was, perhaps in another container."""

    def __add__(self, other: "Pages") -> "Pages":
        return Pages(
            _sum(self.anonymous, other.anonymous), _sum(self.shared, other.shared), _sum(self.file, other.file)
        )


def _sum(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    return {node: one.get(node, 0) + other.get(node, 0) for node in sorted(one.keys() | other.keys())}


@value
class Server:
    """A server at one moment."""

    tree: Tree
    threads: Mapping[int, ThreadState]
    """By thread id; those that ended meanwhile are not in it."""
    cpuset: CpuSet | None = None
    """What its cgroup allows now."""
    mems: NodeSet | None = None
    pages: Pages | None = None
    """All of it; None where nobody asked, or nobody may look."""
    pages_of: Mapping[int, Pages] = field(default_factory=dict)
    """By process id, where each was looked at; empty where the cgroup was asked for all of them together."""
    interrupts: Mapping[int, CpuSet] = field(default_factory=dict)
    """Where each of its devices' interrupts may go now: smp_affinity_list."""
    binders: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """By process id: variables, as NAME=value, by which an engine or a library rebinds itself."""

    def states(self, process: Process) -> Iterator[tuple[int, ThreadState]]:
        """The threads of a process that could be looked at."""
        return ((one.tid, self.threads[one.tid]) for one in process.threads if one.tid in self.threads)
