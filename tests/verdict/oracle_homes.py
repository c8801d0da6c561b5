"""The chain of DESIGN section 5 that finds a device's home, once more, from its text."""

from collections.abc import Iterator

from numapin.assignment import Assignment
from numapin.ids import PciAddress
from numapin.settings import Settings
from numapin.topology import Topology

Nodes = frozenset[int]
Case = tuple[Topology, Assignment, Settings]


def home_chain(case: Case, pci: PciAddress | None, names: set[str], affinity: Nodes) -> Iterator[int]:
    """DESIGN says "Home of a PCI device, first answer wins"."""
    machine, assignment, settings = case
    with_cpus = [node for node in machine.nodes if node.cpus]
    # DESIGN says "`--home`"
    yield from (node for name, node in settings.home.items() if name in names)
    # DESIGN says "`numa_node` ≥ 0 with CPUs; `numa_node` ≥ 0 without CPUs → the one nearest CPU node by distance"
    # DESIGN says "the nearest parent bridge that knows"
    function = machine.pci.get(pci) if pci else None
    while function:
        yield from settled(machine, function.numa_node)
        function = machine.pci.get(function.parent) if function.parent else None
    # DESIGN says "`local_cpulist` when it is a strict subset of the online CPUs and lies in one node"
    function = machine.pci.get(pci) if pci else None
    local = frozenset((function.local_cpus if function else None) or ())
    for node in with_cpus:
        if local and local < frozenset(machine.cpus_online) and local <= frozenset(node.cpus):
            yield node.id
    # DESIGN says "NVML CPU affinity when it lies in exactly one node"
    for node in with_cpus:
        if affinity and affinity <= frozenset(node.cpus):
            yield node.id
    # DESIGN says "the file in `NCCL_TOPO_FILE`"
    if pci and pci in assignment.nccl_nodes:
        yield from settled(machine, assignment.nccl_nodes[pci])
    # DESIGN says "a machine with exactly one CPU node → that one; else unknown"
    if len(with_cpus) == 1:
        yield with_cpus[0].id


def settled(machine: Topology, number: int | None) -> Iterator[int]:
    """The home that a node number means: "nodes without CPUs are never a home", "a tie is unknown"."""
    nodes = {node.id: node for node in machine.nodes}
    if number is None or number not in nodes:
        return
    if nodes[number].cpus:
        yield number
        return
    far = {n: nodes[number].distances.get(n) for n, node in nodes.items() if node.cpus}
    nearest = [n for n in far if far[n] is not None and far[n] == min(d for d in far.values() if d is not None)]
    yield from nearest if len(nearest) == 1 else ()
