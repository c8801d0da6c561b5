"""Everything read once, in order: the container's assignment, then as much of the machine as judging it needs."""

from collections.abc import Mapping

from numapin.assignment import Assignment, Device
from numapin.errors import UsageError
from numapin.ids import CpuSet, NodeSet, PciAddress
from numapin.settings import Settings
from numapin.sources.cgroup import Cgroups, Cpuset
from numapin.sources.container import read_container, read_realtime
from numapin.sources.devices import read_devices
from numapin.sources.environment import read_environment
from numapin.sources.interrupts import read_interrupts
from numapin.sources.nccl import read_nccl_nodes
from numapin.sources.nodes import read_nodes, read_online_cpus, read_siblings
from numapin.sources.pci import read_all_pci, read_pci
from numapin.sources.pod import read_pod
from numapin.sources.process import Status, read_permissions, read_status
from numapin.sources.root import Root
from numapin.sources.selection import known_names
from numapin.topology import Topology
from numapin.values import replace


def read_machine(root: Root, settings: Settings, whole: bool = False) -> tuple[Topology, Assignment]:
    """The machine and this container on it, as the settings narrow or override it.

    Of the PCI bus only what the verdict needs is read, unless `whole`: the assigned functions and their bridges; all
    functions where several accelerators make the machine's capacity count.
    Raises CannotRead for files that cannot be understood and UsageError for names that stand for nothing here.
    """
    online = read_online_cpus(root)
    nodes = read_nodes(root, online)
    bare = Topology(online, nodes)
    assignment = read_assignment(root, bare, settings)
    addresses = {device.pci for device in assignment.devices if device.pci}
    everything = whole or len({one.pci for one in assignment.accelerators}) > 1
    pci = read_all_pci(root) if everything else read_pci(root, sorted(addresses))
    # Whose other hardware thread is somebody else's matters only where there are others.
    siblings = read_siblings(root, assignment.cpus) if assignment.cpus != online else {}
    return replace(bare, pci=pci, siblings=siblings), assignment


def read_assignment(root: Root, topology: Topology, settings: Settings) -> Assignment:
    """What this container was given."""
    environment = read_environment(root)
    status = read_status(root)
    cgroups = Cgroups(root)
    limits = cgroups.limits()
    container = read_container(root, limits, environment)
    cpuset = _effective(cgroups.cpuset(), status, topology.cpus_online)
    devices = read_devices(root, settings, environment, host_network=container.host_network)
    pod, pod_notes = read_pod(root) if settings.scope == "pod" else ((), ())
    check_homes(topology, devices.all, settings.home)
    return Assignment(
        cpus=_allowed_cpus(topology, settings.cpus, cpuset.cpus),
        mems=_allowed_mems(topology, settings.mems, cpuset.mems),
        affinity=None if settings.cpus else status.affinity,
        accelerators=devices.accelerators,
        rdma=devices.rdma,
        nics=devices.nics,
        interrupts=read_interrupts(root, (*devices.rdma, *devices.nics)) if settings.irq != "off" else (),
        permissions=read_permissions(root, status),
        realtime=read_realtime(root, limits),
        container=container,
        pod=pod,
        notes=(*devices.notes, *pod_notes),
        nccl_nodes=read_nccl_nodes(root, environment),
    )


def _effective(cpuset: Cpuset, status: Status, online: CpuSet) -> Cpuset:
    """The cpuset that counts. An affinity mask always lies within it: files that say otherwise are not about us."""
    mask = None if status.affinity is None else status.affinity & online
    if cpuset.cpus is not None and mask is not None and not mask <= cpuset.cpus:
        return Cpuset(status.affinity, status.mems)
    return Cpuset(cpuset.cpus or status.affinity, cpuset.mems or status.mems)


def _allowed_cpus(topology: Topology, asked: CpuSet | None, granted: CpuSet | None) -> CpuSet:
    if asked is not None and not asked <= topology.cpus_online:
        missing = asked - topology.cpus_online
        raise UsageError(f"--cpus {asked}: {missing} is not online here, online are {topology.cpus_online}")
    allowed = granted if asked is None else asked
    return topology.cpus_online if allowed is None else allowed & topology.cpus_online


def _allowed_mems(topology: Topology, asked: NodeSet | None, granted: NodeSet | None) -> NodeSet:
    existing = NodeSet.of(node.id for node in topology.nodes)
    if asked is not None and not asked <= existing:
        raise UsageError(f"--mems {asked}: there is no node {asked - existing} here, there are {existing}")
    allowed = granted if asked is None else asked
    return topology.memory_nodes if allowed is None else allowed & topology.memory_nodes


def check_homes(topology: Topology, devices: tuple[Device, ...], homes: Mapping[str, int]) -> None:
    """Refuse `--home` for a device that is not assigned, or a node that cannot be a home."""
    known = known_names(devices)
    for name, node in homes.items():
        if name not in known and not _is_function(topology, name):
            there = ", ".join(device.label for device in devices) or "none"
            raise UsageError(f"--home {name}={node}: there is no such device here. Assigned are: {there}")
        if node not in topology.cpu_nodes:
            raise UsageError(
                f"--home {name}={node}: node {node} has no CPUs here, nodes with CPUs are {topology.cpu_nodes}"
            )


def _is_function(topology: Topology, name: str) -> bool:
    try:
        return PciAddress.parse(name) in topology.pci
    except ValueError:
        return False
