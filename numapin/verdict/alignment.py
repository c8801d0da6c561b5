"""The rules of alignment: each yields the reasons by which a case breaks it."""

from collections.abc import Iterator

from numapin.assignment import NetworkInterface, RdmaDevice
from numapin.ids import NodeSet
from numapin.values import value
from numapin.verdict import wording
from numapin.verdict.case import Case, order


@value
class Finding:
    """A broken rule or an observation, before severity and hint are known."""

    code: str
    subject: str
    message: str
    warns: bool = False
    """Only ever a warning, whatever the options say."""


def misalignments(case: Case) -> Iterator[Finding]:
    """All that makes this case misaligned under its policy, for `single-numa-node` where it is `best-effort`."""
    if case.is_all_unknown:
        return
    one_node = case.settings.policy != "restricted"
    yield from _accelerators(case, one_node)
    yield from _other_devices(case, one_node)
    yield from _cpus(case, one_node)
    yield from _memory(case)
    if not case.settings.narrow and not case.has_strangers(case.assignment.devices):
        yield from _too_wide(case)
    yield from _pod(case)


def _accelerators(case: Case, one_node: bool) -> Iterator[Finding]:
    homes = case.homes_of(case.assignment.accelerators)
    units = len(case.units(homes))
    where = ", ".join(wording.devices_by_node(case, case.assignment.accelerators))
    if one_node and units > 1:
        yield Finding("GPUS_SPAN_NODES", "accelerators", where)
    elif not one_node and units > (needed := case.needed_units):
        count = len(case.assignment.accelerators)
        hold = "node of this machine holds" if needed == 1 else "nodes of this machine hold"
        yield Finding("GPUS_SPREAD", "accelerators", f"{where}; {needed} {hold} {count}")


def _other_devices(case: Case, one_node: bool) -> Iterator[Finding]:
    """RDMA devices and interfaces lie where the accelerators are; without accelerators, together on one node."""
    others: tuple[RdmaDevice | NetworkInterface, ...] = (*case.assignment.rdma, *case.assignment.nics)
    beside = case.homes_of(case.assignment.accelerators)
    if not beside and one_node:
        beside = _majority(case, case.homes_of(others))
    # Where several nodes are fine, an accelerator whose node nobody knows may be what a device is beside.
    if not beside or (not one_node and case.has_strangers(case.assignment.accelerators)):
        return
    for device in sorted(others, key=order):
        home = case.homes[device].node
        if home is not None and home not in case.spread(beside):
            here = wording.place([device.label], NodeSet.of([home]))
            yield Finding(_remote_code(device), device.name, f"{here}, {wording.company(case, beside)}")


def _majority(case: Case, homes: NodeSet) -> NodeSet:
    """The unit that most of the devices share, then the one with most allowed CPUs, then the lowest."""

    def merit(unit: NodeSet) -> tuple[int, int]:
        held = sum(home.node in unit for home in case.homes.values() if home.node is not None)
        return held, len(case.cpus_on(unit))

    units = case.units(homes)
    return max(units, key=merit) & homes if units else NodeSet()


def _remote_code(device: RdmaDevice | NetworkInterface) -> str:
    return "RDMA_REMOTE" if isinstance(device, RdmaDevice) else "NIC_REMOTE"


def _cpus(case: Case, one_node: bool) -> Iterator[Finding]:
    allowed = case.assignment.cpus
    if one_node and not case.homes_of(case.assignment.devices) and len(case.units(case.cpu_nodes)) > 1:
        yield Finding("CPUS_SPAN_NODES", allowed.label, ", ".join(wording.cpus_by_node(case)))
    for unit in case.units(case.anchors):
        if not case.cpus_on(unit):
            yield Finding("CPUS_REMOTE", allowed.label, f"{_held(case, unit)}, {_cpus_elsewhere(case)}")


def _cpus_elsewhere(case: Case) -> str:
    if not case.cpu_nodes:
        return f"{case.assignment.cpus.label} is on any node"
    return wording.place([case.assignment.cpus.label], case.cpu_nodes)


def _held(case: Case, unit: NodeSet) -> str:
    """What needs this unit: its accelerators, else its other devices, else the CPUs."""
    for devices in (case.assignment.accelerators, case.assignment.devices):
        here = wording.devices_by_node(case, (one for one in devices if case.homes[one].node in unit))
        if here:
            return ", ".join(here)
    return wording.company(case, unit & case.cpu_nodes)


def _memory(case: Case) -> Iterator[Finding]:
    for unit in case.units(case.anchors):
        needed = unit & case.anchors
        if not case.mems_on(needed):
            memory = wording.nodes(case.assignment.mems)
            pieces = _held(case, unit)
            yield Finding("MEMS_REMOTE", f"memory {memory}", f"{pieces}, allowed memory is on {memory}")


def _too_wide(case: Case) -> Iterator[Finding]:
    """Under --no-narrow, CPUs or memory beyond what N needs."""
    needed = case.required
    if not case.cpus_on(needed):
        return
    spare = case.assignment.cpus - case.cpus_on(needed)
    if spare and case.homes_of(case.assignment.devices):
        where = wording.place([spare.label], case.topology.nodes_of(spare))
        yield Finding("CPUS_SPAN_NODES", spare.label, f"{where}, only {wording.nodes(needed)} should be allowed")
    extra = case.assignment.mems - case.mems_on(needed)
    if extra:
        message = f"memory of {wording.nodes(extra)} is allowed, only {wording.nodes(case.mems_on(needed))} is needed"
        yield Finding("MEMS_SPAN_NODES", f"memory {wording.nodes(extra)}", message)


def _pod(case: Case) -> Iterator[Finding]:
    nodes = case.spread(case.required)
    for process in case.assignment.pod:
        allowed = case.topology.nodes_of(process.cpus)
        if not allowed <= nodes:
            subject = f"process {process.pid}"
            who = f"process {process.pid} ({process.name}) may run on {process.cpus.label}"
            message = f"{who} of {wording.nodes(allowed)}, this container belongs on {wording.nodes(nodes)}"
            yield Finding("POD_SPANS_NODES", subject, message)
