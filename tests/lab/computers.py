"""The computers of the lab. Each folds several traits, since what costs is the boot."""

from tests.lab.computer import Computer, Device, Node, RootComplex, Switch

TWO_SOCKETS = Computer(
    name="two-sockets",
    nodes=(Node(socket=0), Node(socket=1)),
    complexes=(
        RootComplex(0, Device("gpu0", "gpu"), Device("nic0", "nic")),
        # Behind a PCIe switch, as an accelerator and the NIC that serves it are.
        RootComplex(1, Switch(Device("gpu1", "gpu"), Device("nic1", "nic")), Device("virtio1", "virtio-nic")),
        # Firmware that says nothing of where this one is: numa_node is -1.
        RootComplex(None, Device("gpu2", "gpu"), Device("nic2", "nic")),
    ),
    claims=(80, 51200),
)
"""One node a socket; an accelerator and a NIC on each, and one of each that nobody can place. Firmware with an HMAT."""

MEMORY_NODE = Computer(
    name="memory-node",
    nodes=(Node(cpus=2, socket=0), Node(cpus=2, socket=1), Node(cpus=0)),
    distances={(0, 2): 17, (1, 2): 28},
    complexes=(
        RootComplex(0, Device("nvme0", "nvme"), Device("nic0", "nic")),
        RootComplex(1, Device("gpu1", "gpu"), Device("nvme1", "nvme"), Device("nic1", "nic")),
        # An expander (CXL) is memory on a node of its own; a device below it has that node, and no CPU beside it.
        RootComplex(2, Device("nic2", "nic")),
    ),
    remapping=True,
)
"""A third node that is memory only, nearer to the first socket; storage; interrupt remapping."""

SUB_NODES = Computer(
    name="sub-nodes",
    nodes=tuple(Node(cpus=2, memory=640, socket=socket) for socket in (0, 0, 1, 1)),
    distances={(0, 1): 12, (2, 3): 12},
    complexes=(
        RootComplex(0, Device("gpu0", "gpu")),
        RootComplex(1, Device("nic1", "nic")),
        RootComplex(2, Device("gpu2", "gpu"), Device("nic2", "nic")),
    ),
)
"""Two nodes a socket (Intel's SNC2, AMD's NPS2): the socket's accelerator and NIC are on neighbouring nodes."""

EIGHT_NODES = Computer(
    name="eight-nodes",
    # Node 5 has lost its memory modules: CPUs, and no memory.
    nodes=tuple(Node(cpus=1, memory=0 if number == 5 else 384, socket=number // 4) for number in range(8)),
    distances={(one, other): 12 for one in range(8) for other in range(one + 1, 8) if one // 4 == other // 4},
    complexes=(
        RootComplex(0, Device("gpu0", "gpu")),
        RootComplex(5, Device("gpu5", "gpu"), Device("nic5", "nic")),
        RootComplex(7, Device("gpu7", "gpu"), Device("nic7", "nic")),
    ),
)
"""Four nodes a socket, one of them without memory."""

EVERY = (TWO_SOCKETS, MEMORY_NODE, SUB_NODES, EIGHT_NODES)
