"""An emulated computer as a value, and the QEMU options that build it.

    Computer(
        name="two-sockets",
        nodes=(Node(socket=0), Node(socket=1)),
        complexes=(RootComplex(0, Device("gpu0", "gpu"), Device("nic0", "nic")), RootComplex(1, Device("nic1", "nic"))),
    )

Each root complex is a pxb-pcie with a bus number of its own and an ACPI _PXM method, from which the kernel takes
numa_node of all that is below; one without a node has no _PXM, and numa_node is -1 there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

REMOTE = 21
"""Distance of two sockets, as most firmware says it in ACPI's SLIT; 10 is a node's own."""

KINDS = {
    # e1000e asks for three MSI-X vectors: rx, tx and link changes. No option ROM: nobody boots from it.
    "nic": ("-netdev", "user,id={id},restrict=on", "-device", "e1000e,netdev={id},mac={mac},romfile=,bus={bus}"),
    "virtio-nic": (
        *("-netdev", "user,id={id},restrict=on"),
        *("-device", "virtio-net-pci,netdev={id},mac={mac},romfile=,bus={bus}"),
    ),
    # Stands in for a GPU: a PCI display device (class 0x0380) that needs no driver. NVML's answers name its address.
    "gpu": ("-device", "bochs-display,bus={bus}"),
    # Its queues' interrupts are managed by the kernel (PCI_IRQ_AFFINITY), which refuses to move them.
    "nvme": (
        *("-drive", "if=none,id={id},driver=null-co,size=1G,read-zeroes=on"),
        *("-device", "nvme,serial={id},drive={id},bus={bus}"),
    ),
}
"""What can be plugged in, as the options of QEMU that do it."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A NUMA node. Without CPUs it is memory only, without memory CPUs only; memory in MiB."""

    cpus: int = 4
    memory: int = 1024
    socket: int = 0


@dataclass(frozen=True)
class Device:
    """A PCI function, by the name that tests and guest scripts use."""

    name: str
    kind: str


@dataclass(frozen=True, init=False)
class Switch:
    """A PCIe switch: one upstream port, and a downstream port for each device."""

    devices: tuple[Device, ...]

    def __init__(self, *devices: Device) -> None:
        object.__setattr__(self, "devices", devices)


@dataclass(frozen=True, init=False)
class RootComplex:
    """A root complex of its own, beside a node or, with None, beside nobody knows which."""

    node: int | None
    ports: tuple[Device | Switch, ...]

    def __init__(self, node: int | None, *ports: Device | Switch) -> None:
        object.__setattr__(self, "node", node)
        object.__setattr__(self, "ports", ports)

    @property
    def devices(self) -> tuple[Device, ...]:
        """All below it, in the order in which the firmware numbers their buses."""
        return tuple(
            device for port in self.ports for device in (port.devices if isinstance(port, Switch) else (port,))
        )


@dataclass(frozen=True, kw_only=True)
class Computer:
    """A whole computer. All sockets have equally many CPUs, which is QEMU's rule.

    And a power of two: else the APIC numbers have gaps, and Linux 6.1 loses interrupts between CPUs under TCG.
    """

    name: str
    nodes: tuple[Node, ...]
    complexes: tuple[RootComplex, ...] = ()
    distances: dict[tuple[int, int], int] = field(default_factory=dict, hash=False)
    """Of two nodes, the lower first; `REMOTE` where none is given."""
    remapping: bool = False
    """Interrupt remapping (VT-d): an interrupt moves at once, not with the next one that comes."""
    claims: tuple[int, int] | None = None
    """What the firmware's HMAT says of each node's memory, for its own CPUs: nanoseconds and MB/s."""

    @property
    def kernel_options(self) -> str:
        return "intel_iommu=on" if self.remapping else ""

    def distance(self, one: int, other: int) -> int:
        return 10 if one == other else self.distances.get((min(one, other), max(one, other)), REMOTE)

    def description(self) -> dict[str, object]:
        """What guest scripts are told of it; they look up the addresses, which firmware gives, by themselves."""
        devices = [
            {"name": device.name, "kind": device.kind, "node": complex_.node}
            for complex_ in self.complexes
            for device in complex_.devices
        ]
        return {"name": self.name, "nodes": len(self.nodes), "devices": devices}

    def options(self) -> list[str]:
        """The command line of QEMU, but for what to boot."""
        sockets = len({node.socket for node in self.nodes if node.cpus})
        cpus, memory = sum(node.cpus for node in self.nodes), sum(node.memory for node in self.nodes)
        # A CPU without AVX: emulated, wide vectors and five page table levels cost more than they give.
        machine = ["-machine", "q35,hmat=on" if self.claims else "q35", "-cpu", "Nehalem", "-m", f"{memory}M"]
        # Without threads every CPU is a core of its own, and QEMU's CPU options need to name no more than that.
        if cpus // sockets & cpus // sockets - 1:
            raise ValueError(f"{self.name}: {cpus // sockets} CPUs a socket are no power of two")
        machine += ["-smp", f"{cpus},sockets={sockets},cores={cpus // sockets},threads=1"]
        machine += ["-device", "intel-iommu,intremap=on"] if self.remapping else []
        return [*machine, *self._nodes(), *self._distances(), *self._claims(), *self._buses()]

    def _nodes(self) -> Iterator[str]:
        cores = dict.fromkeys((node.socket for node in self.nodes), 0)
        for number, node in enumerate(self.nodes):
            if node.memory:
                yield from ("-object", f"memory-backend-ram,id=ram{number},size={node.memory}M")
            yield from ("-numa", f"node,nodeid={number}" + (f",memdev=ram{number}" if node.memory else ""))
            for _ in range(node.cpus):
                yield from ("-numa", f"cpu,node-id={number},socket-id={node.socket},core-id={cores[node.socket]}")
                cores[node.socket] += 1

    def _distances(self) -> Iterator[str]:
        numbers = range(len(self.nodes))
        for one, other in ((one, other) for one in numbers for other in numbers if one < other):
            yield from ("-numa", f"dist,src={one},dst={other},val={self.distance(one, other)}")

    def _claims(self) -> Iterator[str]:
        """QEMU wants one of each for every pair; the kernel shows the best of each node."""
        if not self.claims:
            return
        numbers = range(len(self.nodes))
        for one, other in ((one, other) for one in numbers for other in numbers):
            times = 1 if one == other else 2
            place = f"hmat-lb,initiator={one},target={other},hierarchy=memory,data-type="
            yield from ("-numa", f"{place}access-latency,latency={self.claims[0] * times}")
            yield from ("-numa", f"{place}access-bandwidth,bandwidth={self.claims[1] // times}M")

    def _buses(self) -> Iterator[str]:
        for number, complex_ in enumerate(self.complexes):
            bus = f"pxb{number}"
            # Sixteen bus numbers each, so that an address tells its root complex: 0000:10:.. is the first.
            where = "" if complex_.node is None else f",numa_node={complex_.node}"
            yield from ("-device", f"pxb-pcie,id={bus},bus_nr={16 * (number + 1)},bus=pcie.0{where}")
            for place, port in enumerate(complex_.ports):
                root = f"{bus}port{place}"
                chassis = 16 * (number + 1) + place
                yield from ("-device", f"pcie-root-port,id={root},bus={bus},chassis={chassis},slot={place}")
                yield from _switch(port, root, chassis) if isinstance(port, Switch) else _plug(port, root)


def _switch(switch: Switch, root: str, chassis: int) -> Iterator[str]:
    yield from ("-device", f"x3130-upstream,id={root}up,bus={root}")
    for place, device in enumerate(switch.devices):
        port = f"{root}down{place}"
        yield from ("-device", f"xio3130-downstream,id={port},bus={root}up,chassis={128 + chassis},slot={place}")
        yield from _plug(device, port)


def _plug(device: Device, bus: str) -> Iterator[str]:
    # A locally administered address, made of the name, so that the same interface has the same in every boot.
    mac = "52:54:" + ":".join(f"{byte:02x}" for byte in device.name.encode()[-4:].rjust(4, b"\0"))
    for option in KINDS[device.kind]:
        yield option.format(id=device.name, mac=mac, bus=bus)
