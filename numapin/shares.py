"""The container's CPUs shared out to its accelerators: each worker's on the node of its own."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from numapin.assignment import Accelerator, Assignment
from numapin.ids import CpuSet
from numapin.orders import Share
from numapin.topology import Topology
from numapin.verdict import Verdict


def share_out(topology: Topology, assignment: Assignment, verdict: Verdict) -> tuple[Share, ...]:
    """For each accelerator a part of the bound CPUs of its node, in whole cores, as many for one as for the next.

    Where a node has fewer cores than accelerators, all of them share its CPUs. Accelerators whose node nobody knows,
    or that have no bound CPU on it, get nothing: their workers stay where the server is bound.
    """
    found: dict[Accelerator, Share] = {}
    homes = {one: verdict.homes[one].node for one in assignment.accelerators if one in verdict.homes}
    for node in dict.fromkeys(homes.values()):
        cpus = CpuSet() if node is None else topology.cpus_of([node]) & verdict.cpus
        own = [one for one in assignment.accelerators if homes.get(one) == node]
        if node is not None and cpus:
            parts = divide(cpus, len(own), topology.siblings)
            found |= {one: _share(one, node, part) for one, part in zip(own, parts, strict=True)}
    return tuple(found[one] for one in assignment.accelerators if one in found)


def _share(one: Accelerator, node: int, cpus: CpuSet) -> Share:
    ordinal = one.index if one.position is None else one.position
    names = (str(ordinal), *(name for name in (one.uuid, one.mig) if name))
    return Share(one.label, one.index, names, one.device, node, cpus)


def divide(cpus: CpuSet, parts: int, siblings: Mapping[int, CpuSet]) -> list[CpuSet]:
    """CPUs in so many parts of whole cores, neighbours together; all of them for each where there are too few cores."""
    cores = list(_cores(cpus, siblings))
    if len(cores) < parts:
        return [cpus] * parts
    most, rest = divmod(len(cores), parts)
    ends = [most * part + min(part, rest) for part in range(parts + 1)]
    return [_union(cores[start:end]) for start, end in pairwise(ends)]


def _cores(cpus: CpuSet, siblings: Mapping[int, CpuSet]) -> Iterator[CpuSet]:
    seen = CpuSet()
    for cpu in cpus:
        if cpu not in seen:
            core = siblings.get(cpu, CpuSet()) & cpus | CpuSet.of([cpu])
            seen |= core
            yield core


def _union(sets: list[CpuSet]) -> CpuSet:
    mask = 0
    for one in sets:
        mask |= one.mask
    return CpuSet(mask)
