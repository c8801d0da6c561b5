"""The home of a device: the chain of questions whose first answer wins."""

from collections.abc import Iterator, Mapping

from numapin.assignment import Accelerator, Assignment, Device
from numapin.ids import CpuSet, PciAddress
from numapin.topology import Topology
from numapin.values import value


@value
class Home:
    """A node, or None where nobody can say, and who said it."""

    node: int | None
    source: str | None
    """`operator`, `sysfs`, `nearest`, `bridge`, `local_cpulist`, `nvml`, `nccl`, `only-node`, or None."""


UNKNOWN = Home(None, None)


@value
class Locator:
    """Answers where devices are, from one topology, the operator's overrides and an NCCL topology file."""

    topology: Topology
    overrides: Mapping[str, int]
    nccl_nodes: Mapping[PciAddress, int]

    @classmethod
    def of(cls, topology: Topology, assignment: Assignment, overrides: Mapping[str, int]) -> "Locator":
        """The locator for one container."""
        return cls(topology, overrides, assignment.nccl_nodes)

    def device(self, device: Device) -> Home:
        """The home of an assigned device."""
        for key in device.keys:
            if key in self.overrides:
                return Home(self.overrides[key], "operator")
        affinity = device.cpu_affinity if isinstance(device, Accelerator) else None
        return self._first(device.pci, affinity)

    def function(self, address: PciAddress) -> Home:
        """The home of any PCI function of the machine."""
        if str(address) in self.overrides:
            return Home(self.overrides[str(address)], "operator")
        return self._first(address, None)

    def _first(self, address: PciAddress | None, affinity: CpuSet | None) -> Home:
        return next((home for home in self._answers(address, affinity) if home), UNKNOWN)

    def _answers(self, address: PciAddress | None, affinity: CpuSet | None) -> Iterator[Home | None]:
        if address:
            yield self._firmware(address)
            yield self._bridge(address)
            yield self._local_cpus(address)
        yield self._one_node(affinity, "nvml")
        if address:
            yield self._nccl(address)
        yield self._only_node()

    def _firmware(self, address: PciAddress) -> Home | None:
        device = self.topology.pci.get(address)
        return self._settle(device.numa_node, "sysfs") if device else None

    def _bridge(self, address: PciAddress) -> Home | None:
        for bridge in self.topology.ancestors(address):
            home = self._settle(bridge.numa_node, "bridge")
            if home:
                return home
        return None

    def _settle(self, node: int | None, source: str) -> Home | None:
        """A node with CPUs is a home; for one without, the nearest that has CPUs is, if there is just one."""
        if node is None:
            return None
        if node in self.topology.cpu_nodes:
            return Home(node, source)
        if self.topology.node(node) is None:
            return None
        nearest = list(self.topology.nearest(node, self.topology.cpu_nodes))
        return Home(nearest[0], "nearest") if len(nearest) == 1 else None

    def _local_cpus(self, address: PciAddress) -> Home | None:
        device = self.topology.pci.get(address)
        # The kernel prints all online CPUs where it does not know the node (drivers/pci/pci-sysfs.c).
        if device is None or device.local_cpus is None or not device.local_cpus < self.topology.cpus_online:
            return None
        return self._one_node(device.local_cpus, "local_cpulist")

    def _one_node(self, cpus: CpuSet | None, source: str) -> Home | None:
        """The node that holds all of these CPUs, if exactly one does."""
        if not cpus:
            return None
        nodes = list(self.topology.nodes_of(cpus))
        return Home(nodes[0], source) if len(nodes) == 1 else None

    def _nccl(self, address: PciAddress) -> Home | None:
        return self._settle(self.nccl_nodes.get(address), "nccl")

    def _only_node(self) -> Home | None:
        nodes = list(self.topology.cpu_nodes)
        return Home(nodes[0], "only-node") if len(nodes) == 1 else None
