"""What cannot be judged, and why: hidden topology, unknown homes, devices that are not what was promised."""

from collections.abc import Iterator

from numapin.assignment import Accelerator
from numapin.verdict import wording
from numapin.verdict.alignment import Finding
from numapin.verdict.case import Case, order


def blind(case: Case) -> Finding | None:
    """Why nothing at all can be judged here; None where something can."""
    container, topology = case.assignment.container, case.topology
    if container.sandbox == "gVisor" or (container.sandbox and len(topology.cpu_nodes) < 2):
        message = f"this container runs in a {container.sandbox} sandbox, which does not show the host's nodes"
        return Finding("SANDBOXED", container.sandbox, message)
    if not topology.cpu_nodes:
        where = "/sys/devices/system/node"
        return Finding("TOPOLOGY_HIDDEN", "topology", f"{where} shows no NUMA node with CPUs here")
    if not case.cpu_nodes:
        allowed = case.assignment.cpus
        message = f"no allowed CPU is on any node: allowed are {str(allowed) or 'none'}"
        return Finding("TOPOLOGY_HIDDEN", "CPUs", f"{message}, online are {topology.cpus_online}")
    return None


def hidden(case: Case) -> Iterator[Finding]:
    """What cannot be judged although the rest can."""
    container = case.assignment.container
    if container.sandbox:
        message = f"this container runs in a {container.sandbox} guest: its nodes are the guest's, not the host's"
        yield Finding("SANDBOXED", container.sandbox, message, warns=True)
    for device in sorted(case.assignment.devices, key=order):
        if case.homes[device].node is None:
            yield _unknown(case, device.keys[0] if device.keys else device.label, device.label)
    yield from _expected("GPU", case.settings.expect_gpus, len(_whole(case.assignment.accelerators)))
    yield from _expected("RDMA device", case.settings.expect_rdma, len(case.assignment.rdma))


def _unknown(case: Case, subject: str, label: str) -> Finding:
    nodes = case.topology.cpu_nodes
    message = f"{label} is on an unknown node: neither firmware nor driver says on which of nodes {nodes}"
    return Finding("NODE_UNKNOWN", subject, message)


def _whole(accelerators: tuple[Accelerator, ...]) -> set[object]:
    """Accelerators as a pod spec counts them: a MIG device is one."""
    return {one.mig or one.pci or one for one in accelerators}


def _expected(name: str, expected: int | None, visible: int) -> Iterator[Finding]:
    if expected is not None and visible != expected:
        option = "--expect-gpus" if name == "GPU" else "--expect-rdma"
        are = "is" if visible == 1 else "are"
        message = f"{wording.count(visible, name)} {are} visible, {option} says {expected}"
        yield Finding("DEVICE_MISSING", f"{name}s", message)


def notes(case: Case) -> Iterator[Finding]:
    """What the readers saw on the way."""
    for note in case.assignment.notes:
        yield Finding(note.code, note.subject, note.message, note.warns)
