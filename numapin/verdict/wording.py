"""How sentences name things: one place for "GPU 0 (0000:3b:00.0) and CPUs 0-15 are on node 0"."""

from collections.abc import Iterable

from numapin.assignment import Accelerator, Device, NetworkInterface, RdmaDevice
from numapin.ids import NodeSet
from numapin.verdict.case import Case, label_all

MOST = 4
"""As many things are named in a sentence; the rest are counted."""


def enumerate_names(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c, d and 3 more`."""
    shown = names if len(names) <= MOST + 2 else [*names[:MOST], f"{len(names) - MOST} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def count(number: int, name: str) -> str:
    """`1 interrupt`, `2 interrupts`."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def summary(devices: list[Device]) -> list[str]:
    """The labels of devices; where they are many, how many there are of each kind."""
    if len(devices) <= MOST:
        return label_all(devices)
    kinds = (("accelerator", Accelerator), ("RDMA device", RdmaDevice), ("interface", NetworkInterface))
    counted = [(sum(isinstance(device, kind) for device in devices), name) for name, kind in kinds]
    return [count(number, name) for number, name in counted if number]


def nodes(members: NodeSet) -> str:
    """`node 0`, `nodes 0-1`, `no node`."""
    return f"{'node' if len(members) == 1 else 'nodes'} {members}" if members else "no node"


def have(members: NodeSet) -> str:
    """The verb for nodes that have something."""
    return "has" if len(members) == 1 else "have"


def place(names: list[str], where: NodeSet) -> str:
    """`mlx5_0 (0000:9b:00.0) is on node 1`."""
    # "CPUs 0-15" is one name and many things.
    plural = len(names) > 1 or names[0].startswith("CPUs") or names[0].split(" ")[0].isdecimal()
    return f"{enumerate_names(names)} {'are' if plural else 'is'} on {nodes(where)}"


def devices_by_node(case: Case, devices: Iterable[Device]) -> list[str]:
    """One clause for each node that has some of these devices, lowest node first."""
    grouped: dict[int, list[Device]] = {}
    for device in devices:
        node = case.homes[device].node
        if node is not None:
            grouped.setdefault(node, []).append(device)
    return [place(label_all(members), NodeSet.of([node])) for node, members in sorted(grouped.items())]


def cpus_by_node(case: Case) -> list[str]:
    """One clause for each node that has some of the allowed CPUs, lowest first; one for all where they are many."""
    if len(case.cpu_nodes) > MOST:
        return [place([case.assignment.cpus.label], case.cpu_nodes)]
    return [
        place([(case.assignment.cpus & node.cpus).label], NodeSet.of([node.id]))
        for node in case.topology.nodes
        if case.assignment.cpus & node.cpus
    ]


def company(case: Case, on: NodeSet) -> str:
    """What the others should be beside: the accelerators of these nodes, or else the devices, and the allowed CPUs."""
    devices = case.assignment.accelerators if case.homes_of(case.assignment.accelerators) else case.assignment.devices
    names = summary([device for device in devices if case.homes[device].node in on])
    allowed = case.assignment.cpus & case.topology.cpus_of(on)
    return place([*names, *([allowed.label] if allowed else [])] or ["nothing of this container"], on)
