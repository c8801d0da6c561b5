"""Threads, policies and interrupts that are elsewhere than they were put; a cpuset that was changed."""

import re
from collections.abc import Iterator

from numapin.ids import CpuSet, NodeSet
from numapin.proof.case import Running
from numapin.tree import Process
from numapin.verdict.alignment import Finding
from numapin.verdict.wording import count, nodes

_POLICY = re.compile(r"(?:bind|prefer(?: \(many\))?)(?:=[a-z|]+)?:([\d,-]+)", re.ASCII)
"""The policies that keep memory on nodes that they name (mpol_to_str, mm/mempolicy.c)."""


def astray(case: Running) -> Iterator[Finding]:
    """All that can be told without looking at memory."""
    yield from _cpuset(case)
    for process in case.server.tree:
        yield from _threads(case, process)
        yield from _policies(case, process)
    yield from _hidden(case)
    yield from _interrupts(case)


def _cpuset(case: Running) -> Iterator[Finding]:
    """CPUs or memory nodes that the plan uses were taken away; more than it needs is no drift."""
    allowed, mems = case.server.cpuset, case.server.mems
    if allowed is not None and case.marker.cpus - allowed:
        lost = case.marker.cpus - allowed
        message = f"the cpuset is {case.at(allowed)} now, {case.at(lost)} {_have(lost)} been taken out since the start"
        yield Finding("CPUSET_CHANGED", "cpuset.cpus", message)
    if mems is not None and case.marker.mems - mems:
        lost_nodes = nodes(case.marker.mems - mems)
        message = f"the cpuset allows memory of {nodes(mems)} now, {lost_nodes} was taken out since the start"
        yield Finding("CPUSET_CHANGED", "cpuset.mems", message)


def _have(cpus: CpuSet) -> str:
    return "has" if len(cpus) == 1 else "have"


def _threads(case: Running, process: Process) -> Iterator[Finding]:
    if not case.marker.cpus:
        return
    states = list(case.server.states(process))
    masks = {tid: state.cpus for tid, state in states if state.cpus is not None}
    away = {tid: cpus for tid, cpus in masks.items() if not cpus <= case.marker.cpus and not _is_forced(case, cpus)}
    if not away:
        return
    where = CpuSet()
    for cpus in away.values():
        where |= cpus
    belongs = f"{'it belongs' if len(away) == 1 else 'they belong'} on {case.at(case.marker.cpus)}"
    message = f"{_some(process, list(away), len(states))} may run on {case.at(where)}{case.binders(process)}; {belongs}"
    yield Finding("THREADS_ASTRAY", process.label, message)


def _is_forced(case: Running, cpus: CpuSet) -> bool:
    """The kernel gives a thread all of a cpuset that took its CPUs away: that cause has been told."""
    return cpus == case.server.cpuset and bool(case.marker.cpus - cpus)


def _policies(case: Running, process: Process) -> Iterator[Finding]:
    """Where the cpuset allows no other memory, a policy does not matter."""
    if not case.marker.mems or (case.server.mems and case.server.mems <= case.marker.mems):
        return
    states = list(case.server.states(process))
    policies = {tid: state.memory_policy for tid, state in states if state.memory_policy}
    away = {tid: policy for tid, policy in policies.items() if not _keeps(case, policy)}
    for policy in sorted(set(away.values())):
        some = _some(process, [tid for tid, other in away.items() if other == policy], len(states))
        wanted = f"it should be from {nodes(case.marker.mems)}"
        message = f"the memory policy of {some} is {policy!r}{case.binders(process)}; {wanted}"
        yield Finding("POLICY_ASTRAY", process.label, message)


def _keeps(case: Running, policy: str) -> bool:
    found = _POLICY.fullmatch(policy)
    return found is not None and NodeSet.parse(found[1]) <= case.marker.mems


def _some(process: Process, tids: list[int], of: int) -> str:
    """`NCCL Progress 0 (thread 99 of …)`, `12 of 45 threads of …`, `all 45 threads of …`."""
    if len(tids) == 1 and tids[0] != process.pid:
        return process.name(tids[0])
    if len(tids) == of:
        return process.label if of == 1 else f"all {of} threads of {process.label}"
    return f"{len(tids)} of {of} threads of {process.label}"


def _hidden(case: Running) -> Iterator[Finding]:
    """Another user's processes show their threads and not their memory. What the cgroup counts is proof enough."""
    states = case.server.threads.values()
    if case.topology and case.marker.mems and all(state.memory_policy is None for state in states):
        seen = case.server.pages is not None
        message = f"the memory {'policy ' if seen else ''}of {case.server.tree[0].label} may not be looked at"
        yield Finding("SERVER_HIDDEN", case.server.tree[0].label, message, warns=seen)


def _interrupts(case: Running) -> Iterator[Finding]:
    """One reason for each device, with the first of its interrupts."""
    told: dict[str, list[int]] = {}
    for pin in case.pins:
        cpus = case.server.interrupts.get(pin.irq)
        if case.topology and cpus and pin.node in case.marker.nodes and not cpus <= case.topology.cpus_of([pin.node]):
            told.setdefault(pin.device, []).append(pin.irq)
    for device, irqs in told.items():
        first = case.at(case.server.interrupts[irqs[0]])
        node = next(pin.node for pin in case.pins if pin.device == device)
        many = f"{count(len(irqs), 'interrupt')} of {device} may go to CPUs of other nodes ({irqs[0]}: {first})"
        message = f"{many}; it is on node {node}"
        yield Finding("IRQ_ASTRAY", device, message, warns=not case.interrupts_matter)
