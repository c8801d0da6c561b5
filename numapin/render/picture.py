"""The machine and this container in it, as a picture in text."""

from collections.abc import Iterator

from numapin.assignment import Assignment, Device
from numapin.home import Locator
from numapin.ids import NodeSet, printable
from numapin.topology import Node, Topology
from numapin.values import value
from numapin.verdict import wording

GIB = 1 << 30


@value
class Branch:
    """How the picture draws its branches."""

    inner: str
    last: str


PLAIN = Branch("|- ", "`- ")
DRAWN = Branch("├─ ", "└─ ")


def picture(machine: Topology, assignment: Assignment, locator: Locator, drawn: bool) -> Iterator[str]:
    """Node by node: its CPUs, memory and distances; then what of it is this container's.

    `drawn`: with box-drawing characters, for a terminal that shows them.
    """
    branch = DRAWN if drawn else PLAIN
    cpus = machine.cpus_online
    yield f"{wording.count(len(machine.nodes), 'node')}, {wording.count(len(cpus), 'CPU')} online ({cpus})"
    homes = {device: locator.device(device) for device in assignment.devices}
    for node in machine.nodes:
        yield _node(node, machine)
        devices = [_device(device, home.source) for device, home in homes.items() if home.node == node.id]
        yield from _branches([*_share(node, assignment), *devices], branch)
    lost = [device.label for device, home in homes.items() if home.node is None]
    if lost:
        yield "node unknown"
        yield from _branches(lost, branch)


def _node(node: Node, machine: Topology) -> str:
    if node.gpu_memory:
        kind = "GPU memory"
    elif node.memory_bytes is None:
        kind = "memory unknown"
    else:
        kind = f"{node.memory_bytes / GIB:.1f} GiB" if node.memory_bytes else "no memory"
    package = f", package {node.package}" if node.package is not None else ""
    return f"node {node.id}: {node.cpus.label}, {kind}{package}{_distances(node, machine)}"


def _distances(node: Node, machine: Topology) -> str:
    """How far the other nodes are, nearest first, nodes at the same distance together."""
    far: dict[int, list[int]] = {}
    for other, distance in node.distances.items():
        if other != node.id and machine.node(other):
            far.setdefault(distance, []).append(other)
    if not far:
        return ""
    return ", distance " + ", ".join(f"{distance} to {NodeSet.of(others)}" for distance, others in sorted(far.items()))


def _share(node: Node, assignment: Assignment) -> list[str]:
    """What of the node's CPUs and memory this container may use."""
    shares = []
    cpus = assignment.cpus & node.cpus
    if cpus:
        every = f"all of its {wording.count(len(cpus), 'CPU')}"
        shares.append(f"allowed: {every if cpus == node.cpus else cpus.label}")
    if node.id in assignment.mems:
        shares.append("allowed: memory")
    return shares


def _device(device: Device, source: str | None) -> str:
    return device.label if source == "sysfs" else f"{device.label}, says {source}"


def _branches(entries: list[str], branch: Branch) -> Iterator[str]:
    for position, entry in enumerate(entries, start=1):
        yield f"  {branch.last if position == len(entries) else branch.inner}{printable(entry)}"
