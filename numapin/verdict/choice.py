"""Where to bind: the nodes, CPUs and memory nodes that a case comes down to, aligned or not."""

from collections.abc import Iterable

from numapin.assignment import Device
from numapin.ids import CpuSet, NodeSet
from numapin.values import value
from numapin.verdict.case import Case


@value
class Choice:
    """Where the plan binds; all empty where nothing can be chosen."""

    nodes: NodeSet = NodeSet()
    cpus: CpuSet = CpuSet()
    mems: NodeSet = NodeSet()


def choose(case: Case) -> Choice:
    """The nodes that the policy wants, as far as they have allowed CPUs; else the best one that has."""
    wanted = case.required
    if case.settings.policy != "restricted" and len(case.units(wanted)) > 1:
        wanted = _best(case)
    bindable = NodeSet.of(node for node in wanted if case.cpus_on(NodeSet.of([node]))) or _best(case)
    nodes = case.spread(bindable) & case.cpu_nodes
    return Choice(nodes, case.cpus_on(nodes), case.mems_on(nodes))


def _best(case: Case) -> NodeSet:
    """The unit with most accelerators, then most devices, then most allowed CPUs, then the lowest id."""

    def held(devices: Iterable[Device], unit: NodeSet) -> int:
        return sum(node in unit for node in (case.homes[device].node for device in devices) if node is not None)

    def merit(unit: NodeSet) -> tuple[int, int, int]:
        devices = case.assignment.devices
        return held(case.assignment.accelerators, unit), held(devices, unit), len(case.cpus_on(unit))

    candidates = case.units(case.cpu_nodes)
    return max(candidates, key=merit) & case.cpu_nodes if candidates else NodeSet()
