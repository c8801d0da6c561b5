"""The JSON reports, `numapin.report/v1` and `numapin.topology/v1`; their schemas lie beside this module."""

from collections.abc import Mapping
from typing import Any

from numapin.assignment import Accelerator, Assignment, Device, RdmaDevice
from numapin.home import UNKNOWN, Home, Locator
from numapin.plan import Plan, PlannedStep
from numapin.reasons import Reason
from numapin.topology import Node, PciDevice, Topology
from numapin.verdict import Verdict

Json = dict[str, Any]


def report(assignment: Assignment, verdict: Verdict, plan: Plan) -> Json:
    """What `check`, `plan` and `run` found, as one object."""
    return {
        "schema": "numapin.report/v1",
        "verdict": verdict.status,
        "policy": verdict.policy,
        "nodes": list(verdict.nodes),
        "cpus": str(verdict.cpus),
        "mems": str(verdict.mems),
        "assignment": assigned(assignment, verdict.homes),
        "reasons": [reason(one) for one in verdict.reasons],
        "steps": [step(planned) for planned in plan.steps],
    }


def topology(machine: Topology, assignment: Assignment, locator: Locator) -> Json:
    """What `show` found, as one object."""
    return {
        "schema": "numapin.topology/v1",
        "cpus_online": str(machine.cpus_online),
        "nodes": [_node(node) for node in machine.nodes],
        "pci": [_function(device, locator.function(device.address)) for device in machine.pci.values()],
        "assignment": assigned(assignment, {device: locator.device(device) for device in assignment.devices}),
    }


def assigned(assignment: Assignment, homes: Mapping[Device, Home]) -> Json:
    """What the container was given, with the home of each device and who said it."""
    return {
        "cpus": str(assignment.cpus),
        "mems": str(assignment.mems),
        "accelerators": [_device(one, homes.get(one, UNKNOWN)) for one in assignment.accelerators],
        "rdma": [_device(one, homes.get(one, UNKNOWN)) for one in assignment.rdma],
        "nics": [_device(one, homes.get(one, UNKNOWN)) for one in assignment.nics],
    }


def _device(device: Device, home: Home) -> Json:
    place = {"pci": str(device.pci) if device.pci else None, "node": home.node, "source": home.source}
    if isinstance(device, Accelerator):
        return {"index": device.index, "vendor": device.vendor, "uuid": device.uuid, "mig": device.mig, **place}
    if isinstance(device, RdmaDevice):
        return {"name": device.name, **place, "netdevs": list(device.netdevs)}
    return {"name": device.name, **place}


def reason(one: Reason) -> Json:
    """One reason."""
    return {
        "code": one.code,
        "severity": one.severity,
        "subject": one.subject,
        "message": one.message,
        "hint": one.hint,
    }


def step(planned: PlannedStep) -> Json:
    """One step; `errno` only where the kernel gave one, `hint` only where there is one."""
    shown: Json = {
        "kind": planned.step.kind,
        "line": planned.line,
        "mode": planned.mode,
        "outcome": planned.outcome,
    }
    if planned.errno is not None:
        shown["errno"] = planned.errno
    if planned.hint:
        shown["hint"] = planned.hint
    return shown


def _node(node: Node) -> Json:
    return {
        "id": node.id,
        "cpus": str(node.cpus),
        "memory_bytes": node.memory_bytes,
        "package": node.package,
        "distances": {str(other): distance for other, distance in node.distances.items()},
        "gpu_memory": node.gpu_memory,
    }


def _function(device: PciDevice, home: Home) -> Json:
    return {
        "address": str(device.address),
        "class": None if device.class_code is None else f"0x{device.class_code:06x}",
        "vendor": None if device.vendor is None else f"0x{device.vendor:04x}",
        "node": home.node,
        "source": home.source,
    }
