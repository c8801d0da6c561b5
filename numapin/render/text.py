"""Text for a person: the verdict first, in one line; then reasons with their hints; then the plan."""

from collections.abc import Iterator

from numapin.ids import printable
from numapin.plan import Plan, PlannedStep
from numapin.reasons import Reason
from numapin.verdict import Verdict

COLOURS = {"aligned": "32", "misaligned": "31", "unknown": "33"}
"""SGR codes of the verdict's word on a terminal."""


def headline(verdict: Verdict, colour: bool = False) -> str:
    """`misaligned: mlx5_0 (0000:9b:00.0) is on node 1, …`."""
    word = f"\x1b[{COLOURS[verdict.status]}m{verdict.status}\x1b[0m" if colour else verdict.status
    return f"{word}: {printable(verdict.sentence)}"


def describe(reason: Reason) -> str:
    """`error RDMA_REMOTE: mlx5_0 … is on node 1, …`."""
    return f"{reason.severity} {reason.code}: {printable(reason.message)}"


def verdict_lines(verdict: Verdict, colour: bool = False) -> Iterator[str]:
    """The verdict, then each reason and its hint. What was told is not told again."""
    yield headline(verdict, colour)
    told = {verdict.sentence, ""}
    for reason in verdict.reasons:
        if reason.message not in told:
            yield describe(reason)
        if reason.hint not in told:
            yield f"  hint: {printable(reason.hint)}"
        told |= {reason.message, reason.hint}


def outcome(planned: PlannedStep) -> str:
    """The step's line, with what came of it where that is not simply that it was done."""
    said = {"planned": "", "done": "", "already": " (already)", "refused": " (refused)"}
    return printable(planned.line) + said.get(planned.outcome, f" (skipped: {planned.hint})")


def plan_lines(plan: Plan) -> Iterator[str]:
    """The steps that a run would take."""
    yield "plan:" if plan.steps else "plan: nothing to do"
    for planned in plan.steps:
        yield f"  {outcome(planned)}"
