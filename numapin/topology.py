"""The machine as a value: nodes, CPUs, distances, PCI devices; and the questions that need no device's home."""

from collections.abc import Iterable, Mapping

from numapin.ids import CpuSet, NodeSet, PciAddress
from numapin.values import field, value


@value
class Node:
    """One NUMA node as /sys/devices/system/node/node<id>/ shows it."""

    id: int
    cpus: CpuSet
    """Online CPUs; empty for a node that is memory only."""
    memory_bytes: int | None
    """MemTotal; 0 for a node of CPUs only, None where there is no meminfo."""
    distances: Mapping[int, int]
    """By node id, as the firmware's SLIT says; 10 is local. Empty where there is no distance file."""
    package: int | None = None
    """physical_package_id of the node's CPUs; None where they have several or none."""
    gpu_memory: bool = False
    """The node is a GPU's own memory (GH200, GB200, POWER9): never a place for host memory."""
    available_bytes: int | None = None
    """MemFree + Inactive(file) + SReclaimable: what can be had without pushing anything out but page cache."""
    free_huge_bytes: Mapping[str, int] = field(default_factory=dict)
    """Free huge pages in bytes, by page size as the cgroup names it (`2MB`, `1GB`)."""

    @property
    def has_memory(self) -> bool:
        """Whether host memory can be on this node; a node without a meminfo file is taken to have some."""
        return self.memory_bytes != 0 and not self.gpu_memory


@value
class PciDevice:
    """One PCI function as /sys/bus/pci/devices/<address>/ shows it. None stands for a file that is not there."""

    address: PciAddress
    class_code: int | None = None
    """24 bits: base class, subclass, programming interface."""
    vendor: int | None = None
    numa_node: int | None = None
    """What the firmware said; None where it said nothing (the kernel's -1)."""
    local_cpus: CpuSet | None = None
    parent: PciAddress | None = None
    """The bridge above it; None for a device on a root bus."""
    is_virtual_function: bool = False


@value
class Topology:
    """A machine."""

    cpus_online: CpuSet
    nodes: tuple[Node, ...]
    """Ordered by id; empty where the kernel shows none (no CONFIG_NUMA, or hidden by a sandbox)."""
    pci: Mapping[PciAddress, PciDevice] = field(default_factory=dict)
    siblings: Mapping[int, CpuSet] = field(default_factory=dict)
    """Hardware threads of the same core, by CPU; CPUs whose topology files are absent are not in it."""
    latencies: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """Nanoseconds by node of the CPU and node of the memory, where `bench` was ever run here."""

    def node(self, node_id: int) -> Node | None:
        """The node of that id, or None."""
        return next((node for node in self.nodes if node.id == node_id), None)

    @property
    def cpu_nodes(self) -> NodeSet:
        """Nodes that have online CPUs: the only ones that can be a home."""
        return NodeSet.of(node.id for node in self.nodes if node.cpus)

    @property
    def memory_nodes(self) -> NodeSet:
        """Nodes that can hold host memory."""
        return NodeSet.of(node.id for node in self.nodes if node.has_memory)

    def cpus_of(self, nodes: Iterable[int]) -> CpuSet:
        """The online CPUs of these nodes."""
        wanted = set(nodes)
        mask = 0
        for node in self.nodes:
            if node.id in wanted:
                mask |= node.cpus.mask
        return CpuSet(mask)

    def nodes_of(self, cpus: CpuSet) -> NodeSet:
        """The nodes that have any of these CPUs (several for one CPU where nodes overlap, as under numa=fake)."""
        return NodeSet.of(node.id for node in self.nodes if node.cpus & cpus)

    def nearest(self, node_id: int, among: NodeSet) -> NodeSet:
        """Those of `among` that are nearest to a node by distance; itself where it is one of them.

        All of `among` where the firmware gave no distances: nobody can say then which is nearest.
        """
        if node_id in among:
            return NodeSet.of([node_id])
        origin = self.node(node_id)
        distances = {other: origin.distances[other] for other in among if origin and other in origin.distances}
        if not distances:
            return among
        least = min(distances.values())
        return NodeSet.of(other for other, distance in distances.items() if distance == least)

    def package_of(self, node_id: int) -> NodeSet:
        """The nodes that share the node's package, itself included; only itself where its package is unknown."""
        origin = self.node(node_id)
        if origin is None or origin.package is None:
            return NodeSet.of([node_id])
        return NodeSet.of(node.id for node in self.nodes if node.package == origin.package)

    def ancestors(self, address: PciAddress) -> list[PciDevice]:
        """The bridges above a device, nearest first."""
        found: list[PciDevice] = []
        device = self.pci.get(address)
        while device and device.parent and len(found) < len(self.pci):
            device = self.pci.get(device.parent)
            if device:
                found.append(device)
        return found
