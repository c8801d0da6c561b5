"""Hypothesis strategies: machines of two to four nodes, and containers on them."""

from hypothesis import strategies as st

from numapin.assignment import Accelerator, Assignment, Container, NetworkInterface, RdmaDevice
from numapin.ids import CpuSet, NodeSet, PciAddress
from numapin.settings import Settings
from numapin.topology import Node, PciDevice, Topology

GIB = 1 << 30
CPUS_PER_NODE = 4
GPU, RDMA, NIC = 0x03, 0x02, 0x5E
"""PCI buses of the three kinds of devices."""


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    """Up to four nodes in packages of one or two, one of them perhaps without memory; nine PCI functions on them."""
    count = draw(st.integers(2, 4))
    bare = draw(st.sampled_from([None, None, 0, 1]))
    paired = draw(st.booleans())
    far = [draw(st.sampled_from([12, 20, 32])) for _ in range(count)]
    nodes = tuple(
        Node(
            id=node,
            cpus=CpuSet.of(range(node * CPUS_PER_NODE, (node + 1) * CPUS_PER_NODE)),
            memory_bytes=0 if node == bare else GIB,
            distances={other: 10 if other == node else far[other] for other in range(count)},
            package=node // 2 if paired else node,
        )
        for node in range(count)
    )
    homes = st.sampled_from([None, *range(count)])
    pci = {}
    for bus, code in ((GPU, 0x030200), (RDMA, 0x020700), (NIC, 0x020000)):
        for function in range(3):
            address = PciAddress(0, bus, function, 0)
            pci[address] = PciDevice(address, code, 0x10DE, draw(homes))
    return Topology(CpuSet.of(range(count * CPUS_PER_NODE)), nodes, pci)


@st.composite
def assignments(draw: st.DrawFn, machine: Topology) -> Assignment:
    """Any CPUs, memory nodes and devices of the machine."""
    chosen = {bus: draw(st.sets(st.integers(0, 2))) for bus in (GPU, RDMA, NIC)}
    cpus = draw(st.sets(st.sampled_from(list(machine.cpus_online)), min_size=1))
    mems = draw(st.sets(st.sampled_from(list(machine.memory_nodes)), min_size=1))
    return Assignment(
        cpus=CpuSet.of(cpus),
        mems=NodeSet.of(mems),
        accelerators=tuple(Accelerator(PciAddress(0, GPU, number, 0), number, "nvidia") for number in chosen[GPU]),
        rdma=tuple(RdmaDevice(f"mlx5_{number}", PciAddress(0, RDMA, number, 0)) for number in chosen[RDMA]),
        nics=tuple(NetworkInterface(f"eth{number}", PciAddress(0, NIC, number, 0)) for number in chosen[NIC]),
        container=Container(in_pod=draw(st.booleans())),
    )


settings = st.builds(
    Settings,
    policy=st.sampled_from(["best-effort", "restricted", "single-numa-node"]),
    align=st.sampled_from(["numa", "socket"]),
    unknown=st.sampled_from(["fail", "warn"]),
    narrow=st.booleans(),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Topology, Assignment, Settings]:
    """A machine, a container on it, and what the operator asked for."""
    machine = draw(machines())
    return machine, draw(assignments(machine)), draw(settings)


@st.composite
def gatherings(draw: st.DrawFn) -> tuple[Topology, Assignment, Settings]:
    """All devices known and on one node of four packages, or on two, with the CPUs and the memory of any of them."""
    nodes = tuple(
        Node(node, CpuSet.of(range(node * CPUS_PER_NODE, (node + 1) * CPUS_PER_NODE)), GIB, {}, node)
        for node in range(4)
    )
    homes = st.sampled_from(draw(st.sampled_from([[0], [1], [0, 1]])))
    pci = {
        address: PciDevice(address, code, 0x10DE, draw(homes))
        for bus, code in ((GPU, 0x030200), (RDMA, 0x020700), (NIC, 0x020000))
        for address in (PciAddress(0, bus, function, 0) for function in range(3))
    }
    machine = Topology(CpuSet.of(range(4 * CPUS_PER_NODE)), nodes, pci)
    enough = assignments(machine).filter(lambda assignment: len(assignment.devices) > 2)
    return machine, draw(enough), draw(settings)
