"""What the operator should know although it makes nothing misaligned: warnings, never errors."""

from collections.abc import Iterator

from numapin.ids import CpuSet
from numapin.verdict import wording
from numapin.verdict.alignment import Finding
from numapin.verdict.case import Case
from numapin.verdict.choice import Choice

GIB = 1 << 30


def cautions(case: Case, choice: Choice) -> Iterator[Finding]:
    """All warnings about this container bound as chosen."""
    yield from _memory(case, choice)
    yield from _huge_pages(case, choice)
    yield from _cpus(case, choice)
    yield from _container(case)
    yield from _interrupts(case)


def _memory(case: Case, choice: Choice) -> Iterator[Finding]:
    for node in choice.nodes - case.topology.memory_nodes:
        serving = wording.nodes(case.serving(node))
        yield Finding(
            "NODE_WITHOUT_MEMORY", f"node {node}", f"node {node} has no memory of its own, {serving} serves it"
        )
    limit = case.assignment.container.memory_max
    available = [node.available_bytes for node in case.topology.nodes if node.id in choice.mems]
    total = sum(free for free in available if free is not None)
    if limit is not None and available and None not in available and total < limit:
        message = (
            f"{wording.nodes(choice.mems)} {wording.have(choice.mems)} {total / GIB:.1f} GiB available, "
            f"this container may use {limit / GIB:.1f} GiB (memory.max)"
        )
        yield Finding("MEMORY_TIGHT", wording.nodes(choice.mems), message)


def _huge_pages(case: Case, choice: Choice) -> Iterator[Finding]:
    for size, limit in sorted(case.assignment.container.huge_page_limits.items()):
        free = sum(node.free_huge_bytes.get(size, 0) for node in case.topology.nodes if node.id in choice.mems)
        if limit > free:
            message = (
                f"the cgroup grants {limit / GIB:.1f} GiB in huge pages of {size}, "
                f"{wording.nodes(choice.mems)} {wording.have(choice.mems)} {free / GIB:.1f} GiB of them free"
            )
            yield Finding("HUGEPAGES_REMOTE", wording.nodes(choice.mems), message)


def _cpus(case: Case, choice: Choice) -> Iterator[Finding]:
    assignment = case.assignment
    quota = assignment.container.cpu_quota
    if quota is not None and choice.cpus and quota > len(choice.cpus):
        message = f"cpu.max allows {quota:g} CPUs' worth of time, the plan binds to {len(choice.cpus)} CPUs"
        yield Finding("QUOTA_EXCEEDS_CPUS", choice.cpus.label, message)
    foreign = _foreign_siblings(case, choice.cpus)
    if foreign and assignment.cpus != case.topology.cpus_online:
        message = f"{foreign.label} share cores with {choice.cpus.label} and belong to others"
        yield Finding("CORES_SHARED", choice.cpus.label, message)
    mask = assignment.affinity
    if mask is not None and not assignment.cpus <= mask and assignment.container.applied is None:
        message = f"the inherited affinity mask is {mask.label}, the cpuset allows {assignment.cpus}"
        yield Finding("AFFINITY_NARROWER", mask.label, message)


def _foreign_siblings(case: Case, bound: CpuSet) -> CpuSet:
    """Hardware threads on the bound CPUs' cores that this container was not given."""
    mask = 0
    for cpu in bound:
        mask |= case.topology.siblings.get(cpu, CpuSet()).mask
    return CpuSet(mask) & case.topology.cpus_online - case.assignment.cpus


def _container(case: Case) -> Iterator[Finding]:
    container = case.assignment.container
    if container.qos in ("Burstable", "BestEffort"):
        message = f"this pod is {container.qos} (oom_score_adj): its CPUs {case.assignment.cpus} are shared with others"
        yield Finding("NOT_GUARANTEED", "pod", message)
    for binder in container.binders:
        name = binder.partition("=")[0]
        yield Finding("OTHER_BINDER", name, f"{binder} lets the engine choose CPUs or memory by itself")


def _interrupts(case: Case) -> Iterator[Finding]:
    interrupts = case.assignment.interrupts
    if not interrupts or case.settings.irq == "off":
        return
    devices = sorted({interrupt.device for interrupt in interrupts})
    number = wording.count(len(interrupts), "interrupt")
    if case.assignment.permissions.proc_irq_read_only:
        message = f"/proc/irq is read-only here: {number} of {wording.enumerate_names(devices)} cannot be moved"
        yield Finding("IRQ_READ_ONLY", "/proc/irq", message)
    managed = [interrupt for interrupt in interrupts if interrupt.managed]
    for device in sorted({interrupt.device for interrupt in managed}):
        own = sum(interrupt.device == device for interrupt in managed)
        yield Finding("IRQ_MANAGED", device, f"the kernel manages {wording.count(own, 'interrupt')} of {device} itself")
    balancer = case.assignment.container.irq_balancer
    if balancer:
        yield Finding("IRQ_BALANCER", "irqbalance", f"irqbalance runs here ({balancer})")
