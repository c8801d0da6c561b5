"""One case to judge: a container on a machine, with the homes of its devices looked up."""

from collections.abc import Iterable, Iterator, Mapping

from numapin.assignment import Accelerator, Assignment, Device
from numapin.home import Home, Locator
from numapin.ids import CpuSet, NodeSet, PciAddress
from numapin.settings import Settings
from numapin.topology import PciDevice, Topology
from numapin.values import value


@value
class Case:
    """The facts of one container, and the questions about nodes that every rule asks.

    A unit is what counts as one node: the node itself, or under `--align socket` the nodes of its package.
    """

    topology: Topology
    assignment: Assignment
    settings: Settings
    locator: Locator
    homes: Mapping[Device, Home]

    @classmethod
    def of(cls, topology: Topology, assignment: Assignment, settings: Settings) -> "Case":
        """Look up where each assigned device is."""
        locator = Locator.of(topology, assignment, settings.home)
        homes = {device: locator.device(device) for device in assignment.devices}
        return cls(topology, assignment, settings, locator, homes)

    def homes_of(self, devices: Iterable[Device]) -> NodeSet:
        """The known homes of these devices."""
        nodes = (self.homes[device].node for device in devices)
        return NodeSet.of(node for node in nodes if node is not None)

    @property
    def required(self) -> NodeSet:
        """N of the rules: the homes of all assigned devices, or the nodes of the allowed CPUs where none is known."""
        return self.homes_of(self.assignment.devices) or self.cpu_nodes

    @property
    def anchors(self) -> NodeSet:
        """The nodes that CPUs and memory must reach, each said once: the accelerators' homes, or else N."""
        return self.homes_of(self.assignment.accelerators) or self.required

    def has_strangers(self, devices: Iterable[Device]) -> bool:
        """Whether nobody can say where one of these is, and that matters: it may be just where it should be."""
        return self.settings.unknown == "fail" and any(self.homes[device].node is None for device in devices)

    @property
    def is_all_unknown(self) -> bool:
        """Devices are assigned, nobody can say where any of them is, and that matters: nothing can be called wrong."""
        devices = self.assignment.devices
        return self.has_strangers(devices) and not self.homes_of(devices)

    @property
    def cpu_nodes(self) -> NodeSet:
        """The nodes of the allowed CPUs."""
        return self.topology.nodes_of(self.assignment.cpus)

    def unit(self, node: int) -> NodeSet:
        """What counts as one node with this one."""
        return self.topology.package_of(node) if self.settings.align == "socket" else NodeSet.of([node])

    def units(self, nodes: NodeSet) -> list[NodeSet]:
        """The units of these nodes, each once, by lowest node."""
        return sorted({self.unit(node) for node in nodes}, key=lambda unit: unit.mask & -unit.mask)

    def spread(self, nodes: NodeSet) -> NodeSet:
        """These nodes and all that count as one with them."""
        return NodeSet.of(member for node in nodes for member in self.unit(node))

    def cpus_on(self, nodes: NodeSet) -> CpuSet:
        """The allowed CPUs of these nodes' units."""
        return self.assignment.cpus & self.topology.cpus_of(self.spread(nodes))

    def serving(self, node: int) -> NodeSet:
        """The memory nodes of a node's unit; for one without memory, the nearest that has, an allowed one first."""
        memory = self.topology.memory_nodes
        own = self.unit(node) & memory
        if own:
            return own
        nearest = self.topology.nearest(node, memory)
        return NodeSet.of(list(nearest & self.assignment.mems or nearest)[:1])

    def mems_on(self, nodes: NodeSet) -> NodeSet:
        """The allowed memory nodes that serve these nodes."""
        served = NodeSet.of(member for node in nodes for member in self.serving(node))
        return served & self.assignment.mems

    @property
    def needed_units(self) -> int:
        """The fewest units that can hold as many accelerators as are assigned, by what units hold, free or not."""
        assigned: dict[object, int | None] = {
            one.pci or one: self.homes[one].node for one in self.assignment.accelerators
        }
        peers: dict[object, int | None] = {address: self.locator.function(address).node for address in self._peers()}
        held: dict[NodeSet, int] = {}
        for node in {**peers, **assigned}.values():
            if node is not None:
                held[self.unit(node)] = held.get(self.unit(node), 0) + 1
        wanted = len(assigned)
        for count, capacity in enumerate(sorted(held.values(), reverse=True), start=1):
            wanted -= capacity
            if wanted <= 0:
                return count
        return len(held)

    def _peers(self) -> Iterator[PciAddress]:
        """All accelerators of the machine that are of the assigned ones' kind."""
        pci = self.topology.pci
        kinds = {kind(pci[one.pci]) for one in self.assignment.accelerators if one.pci and one.pci in pci}
        return (device.address for device in pci.values() if device.class_code is not None and kind(device) in kinds)


def kind(device: PciDevice) -> tuple[int | None, int | None, bool]:
    """What makes two accelerators the same resource to a device plugin: vendor, class, and being a whole device."""
    return (device.vendor, device.class_code, device.is_virtual_function)


def label_all(devices: Iterable[Device]) -> list[str]:
    """The labels of devices in a stable order: accelerators by index, others by name."""
    return [device.label for device in sorted(devices, key=order)]


def order(device: Device) -> tuple[int, int, str]:
    """The order in which messages name devices; independent of the order in which they were found."""
    if isinstance(device, Accelerator):
        return (0, device.index, device.label)
    return (1, 0, device.label)
