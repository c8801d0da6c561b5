"""This process's control groups: cpuset, limits; version 1, 2 and both at once.

/proc/self/cgroup names the group, /proc/self/mountinfo says where its hierarchy is mounted and which part of it
(cgroups(7), cgroup_namespaces(7), Documentation/admin-guide/cgroup-v2.rst).
"""

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from numapin.ids import CpuSet, NodeSet, shorten
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
            cpu_quota=self._tightest("cpu", self._cpu_quota),
            memory_max=self._bytes("memory", ("memory.max", "memory.limit_in_bytes")),
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

    def _tightest(self, controller: str, read_limit: Callable[[str], float | None]) -> float | None:
        """The smallest limit of the group and its parents in sight: each of them holds."""
        found = (read_limit(directory) for directory in self.directories(controller))
        return min((one for one in found if one is not None), default=None)

    def _bytes(self, controller: str, names: tuple[str, ...]) -> int | None:
        def read_limit(directory: str) -> int | None:
            return next((one for name in names if (one := read(self._root, f"{directory}/{name}", limit))), None)

        tightest = self._tightest(controller, read_limit)
        return None if tightest is None else int(tightest)

    def _cpu_quota(self, directory: str) -> float | None:
        """CPUs' worth of time, from cpu.max or from version 1's pair of files."""
        quota = read(self._root, f"{directory}/cpu.max", _quota)
        if quota is not None:
            return quota or None
        time = read(self._root, f"{directory}/cpu.cfs_quota_us", limit)
        period = read(self._root, f"{directory}/cpu.cfs_period_us", number)
        return time / period if time and period else None

    def _huge_pages(self) -> dict[str, int]:
        """The tightest limit by page size."""
        found: dict[str, int] = {}
        for directory in self.directories("hugetlb"):
            for name in self._root.names(directory):
                size = _HUGETLB.fullmatch(name)
                granted = read(self._root, f"{directory}/{name}", limit) if size else None
                if size and granted:
                    found[size[1]] = min(granted, found.get(size[1], granted))
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
    """cpu.max, `$MAX $PERIOD` in microseconds, as CPUs' worth of time; 0 for no limit.

    Raises ValueError for anything else: the kernel always prints both.
    """
    quota, blank, period = text.partition(" ")
    if quota == "max":
        return 0.0
    if not blank:
        raise ValueError(f"{shorten(text)} is not a quota and a period")
    return number(quota) / number(period) if number(period) > 0 else 0.0
