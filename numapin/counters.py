"""What the kernel has counted for a server up to one moment: values, of which two make a measurement."""

from collections.abc import Mapping

from numapin.server import Pages
from numapin.values import field, value


@value
class TaskCounts:
    """One thread, since it was made. None stands for what this kernel does not count."""

    voluntary: int | None
    """Context switches because it waited for something."""
    involuntary: int | None
    """Context switches because another wanted the CPU, or its time was over."""
    migrations: int | None
    """Times that it came to another CPU."""
    ran: int | None
    """Nanoseconds on a CPU."""
    waited: int | None
    """Nanoseconds on a run queue, ready and without a CPU."""


@value
class Counts:
    """All that is counted of a server and of its machine."""

    seconds: float
    """When: a monotonic clock."""
    tasks: Mapping[int, TaskCounts] = field(default_factory=dict)
    """By thread id."""
    numastat: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """By node, of the whole machine: pages that were allocated, by the kernel's names (numastat.rst)."""
    cgroup: Pages | None = None
    """The memory of its cgroup; None where that is hidden."""
    pages: Pages | None = None
    """The memory of its processes, or of its cgroup where they are too large to be walked."""
    interrupts: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    """Of its own devices: how often, by CPU, by interrupt."""

    @property
    def busiest(self) -> list[int]:
        """Thread ids, those that ran most first."""
        return sorted(self.tasks, key=lambda tid: self.tasks[tid].ran or 0, reverse=True)


@value
class Opening:
    """What the kernel is asked to count (perf_event_open(2)): an event of a thread, or of what CPUs share."""

    kind: int
    """PERF_TYPE_: of a PMU, /sys/bus/event_source/devices/<name>/type."""
    config: int
    thread: int = -1
    cpu: int = -1
    size: float = 1
    """What one count stands for."""


@value
class Event:
    """What was counted, of all openings together; or why it was not."""

    count: float | None = None
    why: str = ""
