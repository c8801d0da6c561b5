"""This process's control groups: cpuset, limits; version 1, 2 and both at once.

/proc/self/cgroup names the group, /proc/self/mountinfo says where its hierarchy is mounted and which part of it
(cgroups(7), cgroup_namespaces(7), Documentation/admin-guide/cgroup-v2.rst).
"""

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from numapin.ids import CpuSet, NodeSet
from numapin.sources.parsing import limit, number, read
from numapin.sources.root import Root
from numapin.values import value

Value = TypeVar("Value")

_HUGETLB = re.compile(r"hugetlb\.(\d{1,4}[KMG]B)\.(?:max|limit_in_bytes)", re.ASCII)
DEFAULT_MOUNT = "/sys/fs/cgroup"


@value
class Mount:
    """One mounted cgroup hierarchy."""

    point: str
    top: str
    """The group that is seen at the mount point: `/`, or a path below the hierarchy's root."""
    controllers: frozenset[str]
    """Of version 1; empty for the version 2 hierarchy."""
    is_v2: bool


@value
class Cpuset:
    """What the cpuset controller allows; None where it is not to be seen."""

    cpus: CpuSet | None
    mems: NodeSet | None


@value
class Limits:
    """Limits of this container; None stands for no limit, and for nobody saying."""

    cpu_quota: float | None
    memory_max: int | None
    huge_pages: dict[str, int]
    rt_runtime_us: int | None


class Cgroups:
    """The groups of this process, ready to be asked for a file by controller."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._mounts = list(_mounts(root))
        self._paths = dict(_paths(root.read("/proc/self/cgroup") or ""))

    def cpuset(self) -> Cpuset:
        """Effective CPUs and memory nodes; v1 kernels before 3.17 have no effective files."""
        cpus = self.value("cpuset", ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"), CpuSet.parse)
        mems = self.value("cpuset", ("cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"), NodeSet.parse)
        return Cpuset(cpus or None, mems or None)

    def limits(self) -> Limits:
        """CPU time, memory, huge pages, real-time budget."""
        return Limits(
            cpu_quota=self._cpu_quota(),
            memory_max=self.value("memory", ("memory.max", "memory.limit_in_bytes"), limit),
            huge_pages=self._huge_pages(),
            rt_runtime_us=self.value("cpu", ("cpu.rt_runtime_us",), number),
        )

    def value(self, controller: str, names: tuple[str, ...], parse: Callable[[str], Value]) -> Value | None:
        """The first of these files that the nearest group has; a controller may be off in the lowest groups."""
        for directory in self.directories(controller):
            for name in names:
                found = read(self._root, f"{directory}/{name}", parse)
                if found is not None:
                    return found
        return None

    def directories(self, controller: str) -> Iterator[str]:
        """Where the controller's files of this process's group may be: the group first, then its parents in sight."""
        for mount in self._mounts:
            if not mount.is_v2 and controller not in mount.controllers:
                continue
            below = self._below(mount, "" if mount.is_v2 else controller)
            while below is not None:
                yield f"{mount.point}{below}"
                below = below.rpartition("/")[0] if below else None

    def _below(self, mount: Mount, controller: str) -> str | None:
        """The group's path below the mount point, without a slash at its end; None where it is not below it."""
        path = self._paths.get(controller, "/").rstrip("/")
        top = mount.top.rstrip("/")
        if ".." in top.split("/") or ".." in path.split("/"):
            # The mount, or the process, is outside of the cgroup namespace: what is seen there is not ours.
            return None
        if path == top or path.startswith(f"{top}/"):
            return path[len(top) :]
        # A namespaced path under a mount of the host's tree: the group itself is seen at the mount point.
        return ""

    def _cpu_quota(self) -> float | None:
        v2 = self.value("cpu", ("cpu.max",), _quota)
        if v2 is not None:
            return v2 or None
        quota = self.value("cpu", ("cpu.cfs_quota_us",), limit)
        period = self.value("cpu", ("cpu.cfs_period_us",), number)
        return quota / period if quota and period else None

    def _huge_pages(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for directory in self.directories("hugetlb"):
            for name in self._root.names(directory):
                size = _HUGETLB.fullmatch(name)
                granted = read(self._root, f"{directory}/{name}", limit) if size else None
                if size and granted:
                    found.setdefault(size[1], granted)
            if found:
                break
        return found


def _mounts(root: Root) -> Iterator[Mount]:
    """Mounted hierarchies, version 1 before 2: in a hybrid system the controllers are in version 1."""
    text = root.read("/proc/self/mountinfo")
    mounts = [mount for line in (text or "").splitlines() if (mount := _mount(line))]
    if not mounts and root.read(f"{DEFAULT_MOUNT}/cgroup.controllers") is not None:
        mounts.append(Mount(DEFAULT_MOUNT, "/", frozenset(), is_v2=True))
    yield from sorted(mounts, key=lambda mount: mount.is_v2)


def _mount(line: str) -> Mount | None:
    """A line of mountinfo: `30 20 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw` (proc_pid_mountinfo(5))."""
    before, _, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    if len(left) < 5 or len(right) < 3 or right[0] not in ("cgroup", "cgroup2"):
        return None
    controllers = frozenset(right[2].split(",")) if right[0] == "cgroup" else frozenset[str]()
    return Mount(_unescape(left[4]), _unescape(left[3]), controllers, is_v2=right[0] == "cgroup2")


def _unescape(text: str) -> str:
    """mountinfo writes blanks and the like as octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)


def _paths(text: str) -> Iterator[tuple[str, str]]:
    """Group path by controller; the version 2 line `0::/path` is under the empty name."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, found, path = rest.partition(":")
        if found:
            for controller in controllers.split(","):
                yield controller, path


def _quota(text: str) -> float:
    """cpu.max, `$MAX $PERIOD` in microseconds, as CPUs' worth of time; 0 for no limit."""
    words = text.split()
    if len(words) != 2 or words[0] == "max":
        return 0.0 if words[:1] == ["max"] else number(text)
    period = number(words[1])
    return number(words[0]) / period if period > 0 else 0.0
