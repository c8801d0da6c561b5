"""The verdict: whether a container's pieces share a node, why not, and where it should be bound.

Deciding only: no files, no system calls, no clock. DESIGN section 5 states the rules.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from numapin import hints
from numapin.assignment import Assignment, Device
from numapin.home import Home
from numapin.ids import CpuSet, NodeSet
from numapin.reasons import ORDER, WEIGHTS, Reason, Severity
from numapin.settings import Policy, Settings
from numapin.topology import Topology
from numapin.values import field, value
from numapin.verdict import visibility, wording
from numapin.verdict.alignment import Finding, misalignments
from numapin.verdict.case import Case
from numapin.verdict.cautions import cautions
from numapin.verdict.choice import Choice, choose
from numapin.verdict.realtime import realtime

Status = Literal["aligned", "misaligned", "unknown"]


@value
class Verdict:
    """The answer, its reasons, and where the plan binds (also where the policy only warns)."""

    status: Status
    policy: Policy
    sentence: str
    """The cause in one line, without the status before it."""
    nodes: NodeSet = NodeSet()
    cpus: CpuSet = CpuSet()
    mems: NodeSet = NodeSet()
    reasons: tuple[Reason, ...] = ()
    homes: Mapping[Device, Home] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Reason, ...]:
        """The reasons that stop a start."""
        return tuple(reason for reason in self.reasons if reason.severity == "error")


def judge(topology: Topology, assignment: Assignment, settings: Settings) -> Verdict:
    """Judge a container on a machine under the operator's policy."""
    case = Case.of(topology, assignment, settings)
    if settings.policy == "none":
        return Verdict("aligned", "none", "nothing is judged and nothing bound under --policy none", homes=case.homes)
    blindness = visibility.blind(case)
    choice = choose(case) if blindness is None else Choice()
    findings = list(_findings(case, choice)) if blindness is None else [blindness, *visibility.notes(case)]
    reasons = tuple(_weigh(case, choice, findings))
    status = _status(reasons, blind=blindness is not None)
    sentence = _sentence(case, choice, status, reasons)
    return Verdict(status, settings.policy, sentence, choice.nodes, choice.cpus, choice.mems, reasons, case.homes)


def _findings(case: Case, choice: Choice) -> Iterator[Finding]:
    yield from misalignments(case)
    yield from visibility.hidden(case)
    yield from visibility.notes(case)
    yield from cautions(case, choice)
    yield from realtime(case, choice.cpus)


def _weigh(case: Case, choice: Choice, findings: Iterable[Finding]) -> list[Reason]:
    """Findings with their severity and hint, errors first, then in the order of the reason table."""
    setting = hints.Setting(
        in_pod=case.assignment.container.in_pod,
        place=_place(case, choice),
        cost=_cost(case, choice.nodes),
        beside="the accelerators'" if case.homes_of(case.assignment.accelerators) else "the other devices'",
        narrow=case.settings.narrow,
        lenient=case.settings.unknown == "warn",
    )
    reasons = [
        Reason(one.code, _severity(case, one), one.subject, one.message, _hint(case, one, setting)) for one in findings
    ]
    return sorted(reasons, key=lambda reason: (reason.severity != "error", ORDER[reason.code], reason.subject))


def _severity(case: Case, finding: Finding) -> Severity:
    weight = WEIGHTS[finding.code]
    lenient = {
        "notice": True,
        "misaligned": case.settings.policy == "best-effort",
        "unknown": case.settings.unknown == "warn",
    }
    return "warning" if finding.warns or lenient[weight] else "error"


def _hint(case: Case, finding: Finding, setting: hints.Setting) -> str:
    if finding.code == "RT_NOT_PERMITTED":
        return hints.for_rt(case.assignment.permissions, case.assignment.realtime)
    return hints.for_reason(finding.code, finding.subject, setting)


def _place(case: Case, choice: Choice) -> str:
    """The container options that put CPUs and memory beside the devices."""
    wanted = case.anchors if len(case.units(case.anchors)) == 1 else choice.nodes
    memory = NodeSet.of(member for node in wanted for member in case.serving(node))
    return f"--cpuset-cpus {case.topology.cpus_of(wanted)} --cpuset-mems {memory}"


def _cost(case: Case, nodes: NodeSet) -> str:
    """What remote access costs from here: as it was measured, else as the firmware says."""
    node = case.topology.node(next(iter(nodes), -1))
    if node is None or node.id not in node.distances:
        return ""
    others = case.topology.cpu_nodes - case.unit(node.id)
    far = max((node.distances[other] for other in others if other in node.distances), default=None)
    if far is None or far <= node.distances[node.id]:
        return ""
    link = "Every copy between the nodes crosses the socket link"
    return _measured(case, node.id, others) or f"{link} (distance {far} instead of {node.distances[node.id]})."


def _measured(case: Case, node: int, others: NodeSet) -> str:
    """What `bench` saw: the farthest of the other nodes; empty where it was not asked, or saw no difference."""
    latencies = case.topology.latencies
    local = latencies.get((node, node))
    far = max((latencies[node, other] for other in others if (node, other) in latencies), default=None)
    if not local or not far or far / local < 1.05:
        return ""
    return (
        f"Remote memory is {far / local:.1f} times slower on this machine "
        f"({far:.0f} ns instead of {local:.0f} ns, as numapin bench measured)."
    )


def _status(reasons: tuple[Reason, ...], *, blind: bool) -> Status:
    """What stops a start says what the verdict is, misaligned before unknown; else what is only warned of."""
    for weighed in ([reason for reason in reasons if reason.severity == "error"], reasons):
        weights = {reason.weight for reason in weighed}
        if "misaligned" in weights:
            return "misaligned"
        if "unknown" in weights and (blind or weighed is not reasons):
            return "unknown"
    return "aligned"


def _sentence(case: Case, choice: Choice, status: Status, reasons: tuple[Reason, ...]) -> str:
    if status != "aligned":
        return next(reason.message for reason in reasons if reason.weight == status)
    known = [device for device in case.assignment.devices if case.homes[device].node is not None]
    bound = [choice.cpus.label, *(["memory"] if choice.mems == choice.nodes else [])]
    if all(case.homes[device].node in choice.nodes for device in known):
        return wording.place([*wording.summary(known), *bound], choice.nodes)
    # Nodes that count as one: each device where it is, then what is bound.
    return "; ".join([*wording.devices_by_node(case, known), wording.place(bound, choice.nodes)])


__all__ = ["Status", "Verdict", "judge"]
