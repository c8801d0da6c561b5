"""Where memory is: /proc/<pid>/numa_maps (numa_maps(5), show_numa_map in fs/proc/task_mmu.c), memory.numa_stat."""

import os
import re
from collections import Counter
from collections.abc import Mapping

from numapin.ids import MAX_ID
from numapin.server import Pages
from numapin.sources.cgroup import Cgroups
from numapin.sources.parsing import MOST_NUMBER, read
from numapin.sources.root import Root, read_descriptor

KIB = 1024
_PAGE_KIB = re.compile(r" kernelpagesize_kB=(\d{1,9})")
_NODE = re.compile(r"\bN(\d{1,5})=(\d{1,16})")
_FILE = re.compile(r" file=(\S+)")
_SHARED = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "/dev/hugepages/")  # noqa: S108 -- names in a kernel's file
_PRIVATE_HUGE = "/anon_hugepage"
"""MAP_PRIVATE | MAP_HUGETLB: a file in name only."""


def read_maps(proc: str, pid: int) -> Pages | None:
    """All mappings of one process; None where they cannot be read (ptrace(2), PTRACE_MODE_READ).

    The kernel walks every page for it and holds the mmap lock meanwhile: the process's own mmap, munmap and first page
    faults of a mapping wait. 4 KiB pages take 6 ms for every GiB, huge ones a tenth of a millisecond [measured].
    """
    content = read_descriptor(f"{proc}/{pid}/numa_maps")
    return None if content is None else parse_maps(content.decode("ascii", "replace"))


def parse_maps(text: str) -> Pages:
    """The lines of numa_maps: `7f… bind=static:0 anon=25 dirty=25 N0=25 kernelpagesize_kB=4`."""
    found: dict[str, Counter[int]] = {"anonymous": Counter(), "shared": Counter(), "file": Counter()}
    for line in text.splitlines():
        size = _PAGE_KIB.search(line)
        if size:
            counts = found[_kind(line)]
            for node, count in _NODE.findall(line):  # no name can look so: the kernel writes its = and blanks as octal
                counts[int(node)] += int(count) * int(size[1]) * KIB
    return Pages(**{kind: dict(sorted(counts.items())) for kind, counts in found.items()})


def _kind(line: str) -> str:
    file = _FILE.search(line)
    if file is None or file[1].startswith(_PRIVATE_HUGE):
        return "anonymous"
    return "shared" if file[1].startswith(_SHARED) else "file"


def read_cgroup_pages(root: Root, cgroups: Cgroups) -> Pages | None:
    """memory.numa_stat of the process's own group: of all its processes together, at no cost; None where it is hidden.

    Version 2 counts bytes, of groups below too, and names shmem apart from file, of which it is a part.
    """
    # Not of the groups above, where this one has no such file: they hold others' memory too.
    directory = next(cgroups.directories("memory"), None)
    lines = read(root, f"{directory}/memory.numa_stat", _lines) if directory else None
    if not lines or _is_whole_machine(root, str(directory)):
        return None
    return _of_version_1(lines) if "hierarchical_total" in lines else _of_version_2(lines)


def _is_whole_machine(root: Root, directory: str) -> bool:
    """The root group holds everybody's memory. In version 2 it alone has no cgroup.type; in 1, one file more."""
    files = set(root.names(directory))
    return "cgroup.sane_behavior" in files or {"cgroup.type", "cgroup.subtree_control"} & files == {
        "cgroup.subtree_control"
    }


def _lines(text: str) -> dict[str, dict[int, int]]:
    """`anon N0=4096 N1=0` and `anon=12 N0=12`; nodes or counts beyond all bounds are passed over."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        pairs = ((int(node), int(count)) for node, count in _NODE.findall(rest))
        found[name.partition("=")[0]] = {node: count for node, count in pairs if _is_sane(node, count)}
    return found


def _is_sane(node: int, count: int) -> bool:
    return node <= MAX_ID and count <= MOST_NUMBER


def _of_version_2(lines: Mapping[str, Mapping[int, int]]) -> Pages:
    shared = lines.get("shmem", {})
    file = {node: max(0, count - shared.get(node, 0)) for node, count in lines.get("file", {}).items()}
    return Pages(lines.get("anon", {}), shared, file)


def _of_version_1(lines: Mapping[str, Mapping[int, int]]) -> Pages:
    """Pages. Shared memory is on the lists of anonymous pages there: nobody can tell it apart."""
    anonymous, file = (
        {node: count * os.sysconf("SC_PAGE_SIZE") for node, count in lines.get(f"hierarchical_{name}", {}).items()}
        for name in ("anon", "file")
    )
    return Pages(anonymous, {}, file)
