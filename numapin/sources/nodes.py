"""NUMA nodes and CPUs: /sys/devices/system/{node,cpu} (Documentation/ABI/stable/sysfs-devices-node)."""

import re
from collections.abc import Iterable, Mapping

from numapin.ids import CpuSet, NodeSet
from numapin.sources.drivers import gpu_memory_nodes
from numapin.sources.parsing import known, number, read
from numapin.sources.root import Root
from numapin.topology import Node

NODE = "/sys/devices/system/node"
CPU = "/sys/devices/system/cpu"

_MEMINFO = re.compile(r"Node\s+\d+\s+([\w()]+):\s+(\d{1,18})\b", re.ASCII)
_NAMED = re.compile(r"(?:node|cpu)(\d{1,5})", re.ASCII)
_HUGE = re.compile(r"hugepages-(\d{1,12})kB", re.ASCII)


def read_online_cpus(root: Root) -> CpuSet:
    """/sys/devices/system/cpu/online; where a kernel is too old for it, each cpu<N>/online (cpu0 often has none)."""
    online = read(root, f"{CPU}/online", CpuSet.parse)
    if online is not None:
        return online
    return CpuSet.of(cpu for cpu in _numbered(root, CPU, "cpu") if root.read(f"{CPU}/cpu{cpu}/online") != "0")


def read_nodes(root: Root, online: CpuSet) -> tuple[Node, ...]:
    """All online nodes, those without CPUs or memory too, ordered by id."""
    listed = read(root, f"{NODE}/online", NodeSet.parse)
    ids = sorted(_numbered(root, NODE, "node")) if listed is None else list(listed)
    gpu_memory = gpu_memory_nodes(root)
    return tuple(_node(root, node, ids, online, node in gpu_memory) for node in ids)


def _numbered(root: Root, directory: str, name: str) -> Iterable[int]:
    found = (_NAMED.fullmatch(entry) for entry in root.names(directory) if entry.startswith(name))
    return (int(match[1]) for match in found if match)


def _node(root: Root, node: int, ids: list[int], online: CpuSet, is_gpu: bool) -> Node:
    place = f"{NODE}/node{node}"
    cpus = read(root, f"{place}/cpulist", CpuSet.parse)
    if cpus is None:
        cpus = read(root, f"{place}/cpumap", CpuSet.parse_mask) or CpuSet()
    cpus &= online
    memory = read(root, f"{place}/meminfo", meminfo) or {}
    return Node(
        id=node,
        cpus=cpus,
        memory_bytes=memory.get("MemTotal"),
        distances=_distances(root, place, ids),
        package=_package(root, cpus),
        gpu_memory=is_gpu and not cpus,
        available_bytes=available(memory),
        free_huge_bytes=_huge_pages(root, place),
    )


def meminfo(text: str) -> dict[str, int]:
    """Bytes by name from `Node 0 MemTotal:  131072 kB` lines."""
    return {name: int(kib) * 1024 for name, kib in _MEMINFO.findall(text)}


def available(memory: Mapping[str, int]) -> int | None:
    """What can be had on a node without pushing out more than page cache; None where meminfo does not say."""
    if "MemFree" not in memory:
        return None
    return memory["MemFree"] + memory.get("Inactive(file)", 0) + memory.get("SReclaimable", 0)


def _distances(root: Root, place: str, ids: list[int]) -> dict[int, int]:
    """The file has one number for each online node, in the order of their ids, not one for each id."""
    values = read(root, f"{place}/distance", _numbers) or []
    return dict(zip(ids, values, strict=False))


def _numbers(text: str) -> list[int]:
    return [number(part) for part in text.split()]


def _package(root: Root, cpus: CpuSet) -> int | None:
    """physical_package_id of the node's CPUs, of which the first and the last are asked; -1 is none."""
    asked = {min(cpus), max(cpus)} if cpus else set()
    packages = {read(root, f"{CPU}/cpu{cpu}/topology/physical_package_id", known) for cpu in asked}
    return packages.pop() if len(packages) == 1 else None


def read_siblings(root: Root, cpus: CpuSet) -> dict[int, CpuSet]:
    """Hardware threads of the same core, by CPU: core_cpus_list, before Linux 5.3 thread_siblings_list."""
    siblings: dict[int, CpuSet] = {}
    shown = CpuSet.of(_numbered(root, CPU, "cpu")) if cpus else cpus
    for cpu in cpus & shown:
        if cpu in siblings:
            continue
        place = f"{CPU}/cpu{cpu}/topology"
        core = read(root, f"{place}/core_cpus_list", CpuSet.parse)
        if core is None:
            core = read(root, f"{place}/thread_siblings_list", CpuSet.parse)
        if core:
            siblings.update(dict.fromkeys(core, core))
    return siblings


def _huge_pages(root: Root, place: str) -> dict[str, int]:
    """Free bytes by page size from hugepages/hugepages-2048kB/free_hugepages, named as the hugetlb cgroup does."""
    pools: dict[str, int] = {}
    for name in root.names(f"{place}/hugepages"):
        found = _HUGE.fullmatch(name)
        free = read(root, f"{place}/hugepages/{name}/free_hugepages", number) if found else None
        if found and free is not None:
            pools[page_size(int(found[1]))] = free * int(found[1]) * 1024
    return pools


def page_size(kib: int) -> str:
    """`2MB` for 2048: how hugetlb.<size>.max spells a size (mem_fmt, mm/hugetlb_cgroup.c)."""
    for unit, size in (("GB", 1 << 20), ("MB", 1 << 10)):
        if kib >= size:
            return f"{kib // size}{unit}"
    return f"{kib}KB"
