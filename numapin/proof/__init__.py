"""The proof: whether a running server is where the plan put it, and if not, what has drifted.

Deciding only: the server was read by `sources.server`. The answer is a verdict like that of `check`.
"""

from collections.abc import Iterator

from numapin import hints
from numapin.proof.astray import astray
from numapin.proof.case import Running
from numapin.proof.memory import local_share, remote_pages
from numapin.reasons import ORDER, Reason, Severity
from numapin.verdict import Status, Verdict
from numapin.verdict.alignment import Finding
from numapin.verdict.wording import nodes


def prove(case: Running) -> Verdict:
    """Compare a server with where it should be. Of several drifts the first of the reason table is the sentence."""
    marker = case.marker
    if not marker.nodes:
        sentence = f"{case.everybody} was bound nowhere, under --policy {marker.policy}"
        return Verdict("aligned", marker.policy, sentence)
    found = sorted(map(_reason, _findings(case)), key=lambda one: (one.severity != "error", ORDER[one.code]))
    errors = [one for one in found if one.severity == "error"]
    status: Status = "aligned"
    if errors:
        status = "misaligned" if any(one.weight == "misaligned" for one in errors) else "unknown"
    sentence = next((one.message for one in errors if one.weight == status), _whereabouts(case))
    return Verdict(status, marker.policy, sentence, marker.nodes, marker.cpus, marker.mems, tuple(found))


def _findings(case: Running) -> Iterator[Finding]:
    yield from astray(case)
    yield from remote_pages(case)


def _reason(finding: Finding) -> Reason:
    severity: Severity = "warning" if finding.warns else "error"
    return Reason(finding.code, severity, finding.subject, finding.message, hints.for_drift(finding.code))


def _whereabouts(case: Running) -> str:
    """`vllm (process 1), 3 processes, 69 threads, is on CPUs 0-15 of node 0, with 18.0 GiB of its memory there`."""
    where = f"{case.marker.cpus.label} of {nodes(case.marker.nodes)}" if case.marker.cpus else nodes(case.marker.nodes)
    return "; ".join([f"{case.everybody} is on {where}", *local_share(case)])
