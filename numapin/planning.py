"""Making the plan: from a verdict to the steps that bring this process there. Nothing is done here."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from numapin import hints
from numapin.assignment import Assignment, Interrupt
from numapin.ids import CpuSet
from numapin.marker import Marker
from numapin.plan import Command, Outcome, Plan, PlannedStep
from numapin.settings import Mode, Settings
from numapin.steps import Execute, PinInterrupt, SetAffinity, SetMemoryPolicy, SetScheduling, Step
from numapin.topology import Topology
from numapin.verdict import Verdict
from numapin.verdict.realtime import unsafe

if TYPE_CHECKING:
    from numapin.engine import Profile


def make_plan(
    topology: Topology,
    assignment: Assignment,
    settings: Settings,
    verdict: Verdict,
    command: Command | None,
    *,
    profiles: "Mapping[str, Profile]",
) -> Plan:
    """The steps that lead to where the verdict binds; only exec where it binds nowhere.

    `profiles` may be empty where none is needed. Raises UsageError for a profile that is asked for and not there.
    """
    steps = list(_binding(topology, assignment, settings, verdict)) if verdict.nodes else []
    if needs_keeper(assignment, settings, verdict):
        # Eight modules that few servers need.
        from numapin.commission import with_keeper  # noqa: PLC0415

        case = (topology, assignment, settings, verdict)
        steps = with_keeper(steps, *case, arguments=command.arguments if command else (), profiles=profiles)
    if command:
        bound = Marker(verdict.policy, verdict.nodes, verdict.cpus, verdict.mems)
        steps.append(PlannedStep(Execute(command.path, command.arguments, bound), "require"))
    return Plan(tuple(steps))


def needs_keeper(assignment: Assignment, settings: Settings, verdict: Verdict) -> bool:
    """Whether somebody must stay beside the server: for threads by name, for workers on several nodes, or as asked."""
    nodes = {verdict.homes[one].node for one in assignment.accelerators if one in verdict.homes} - {None}
    return settings.names_engine or settings.keep or (settings.workers != "off" and len(nodes) > 1)


def _binding(topology: Topology, assignment: Assignment, settings: Settings, verdict: Verdict) -> Iterator[PlannedStep]:
    yield _planned(SetAffinity(verdict.cpus), settings.cpu, "--cpu off")
    if verdict.mems:
        ours = assignment.container.applied is not None
        memory = SetMemoryPolicy(settings.memory_policy, verdict.mems, ours)
        yield _planned(memory, settings.memory, "--memory off")
    if settings.rt_main is not None:
        yield _main_thread(settings.rt_main, assignment, settings, verdict.cpus)
    if settings.irq != "off":
        yield from _interrupts(topology, assignment, settings, verdict)


def _planned(step: Step, mode: Mode, off: str) -> PlannedStep:
    return PlannedStep(step, mode, "skipped", hint=off) if mode == "off" else PlannedStep(step, mode)


def _main_thread(priority: int, assignment: Assignment, settings: Settings, cpus: CpuSet) -> PlannedStep:
    step = SetScheduling(priority)
    danger = None if settings.rt_unsafe else unsafe(cpus, assignment.realtime)
    if danger and settings.rt != "off":
        hint = f"{danger}. {hints.UNSAFE}"
        outcome: Outcome = "refused" if settings.rt == "require" else "skipped"
        return PlannedStep(step, settings.rt, outcome, why="it is not safe here", hint=hint)
    return _planned(step, settings.rt, "--rt off")


def _interrupts(
    topology: Topology, assignment: Assignment, settings: Settings, verdict: Verdict
) -> Iterator[PlannedStep]:
    """Interrupts of the container's own NICs; in the host's network namespace only where they were spoken of."""
    if assignment.container.host_network and not settings.names_interrupts:
        return
    homes = {device.pci: home.node for device, home in verdict.homes.items()}
    targets: dict[int, tuple[CpuSet, CpuSet]] = {}
    for interrupt in assignment.interrupts:
        node = homes.get(interrupt.pci)
        if node is None:
            continue
        if node not in targets:
            local = topology.cpus_of([node])
            targets[node] = local, target_cpus(local, verdict.cpus, assignment, settings)
        yield _pin(interrupt, *targets[node], verdict.cpus, settings)


def _pin(interrupt: Interrupt, local: CpuSet, cpus: CpuSet, bound: CpuSet, settings: Settings) -> PlannedStep:
    step = PinInterrupt(interrupt.irq, cpus or local, interrupt.device)
    if interrupt.managed:
        return PlannedStep(step, settings.irq, "skipped", hint=hints.MANAGED)
    if cpus:
        return PlannedStep(step, settings.irq)
    hint = "this container has no CPU on the device's node"
    if bound & local or settings.irq_cpus != "container":
        hint = "no CPU of the device's node is open to interrupts (default_smp_affinity, --irq-cpus)"
    return PlannedStep(step, settings.irq, "skipped", hint=hint)


def target_cpus(local: CpuSet, bound: CpuSet, assignment: Assignment, settings: Settings) -> CpuSet:
    """Where a NIC's interrupts go: CPUs of its node, and never those that the runtime keeps free of interrupts.

    CRI-O takes exclusive CPUs out of default_smp_affinity on request; if all of the container's are out, other
    CPUs of the node serve. `local` are the CPUs of the NIC's node, `bound` the container's.
    """
    open_cpus = assignment.container.default_irq_cpus
    allowed = local if open_cpus is None else local & open_cpus
    wanted = settings.irq_cpus
    if isinstance(wanted, CpuSet):
        return wanted & allowed
    if wanted == "local":
        return allowed
    housekeeping = assignment.container.housekeeping_cpus
    if housekeeping is not None and housekeeping & local:
        return housekeeping & local
    if bound & local and not bound & allowed:
        return allowed
    return bound & allowed
