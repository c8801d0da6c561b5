"""`numapin run`: judge, bind, exec."""

import os
import sys

from numapin.apply import apply, describe_refusal, refusals
from numapin.cli import session
from numapin.command import find_command, refused_exec
from numapin.errors import Exit, UsageError
from numapin.kernel import LinuxKernel
from numapin.log import Log
from numapin.plan import Plan, PlannedStep, make_plan
from numapin.render import report, text
from numapin.settings import Settings
from numapin.sources.root import open_root


def run_command(
    root: str, form: str, log: Log, command: tuple[str, ...], settings: Settings, termination_log: str
) -> int:
    """Become the command, bound as the verdict says; the exit status where that must not or cannot be."""
    if not command:
        raise UsageError("run needs a COMMAND to become", "numapin check judges without one")
    place = open_root(root)
    if not place.is_live:
        raise UsageError(f"run cannot bind to the captured machine {root}", "numapin plan shows what it would do there")
    found = find_command(command, os.environ.get("PATH"))
    judged = session.read_and_judge(place, settings)
    steps = make_plan(judged.topology, judged.assignment, settings, judged.verdict, found)
    _say_verdict(log, judged)

    def show(result: Plan) -> None:
        if form == "json":
            session.print_json(report.report(judged.assignment, judged.verdict, result))
        sys.stdout.flush()
        sys.stderr.flush()

    refused = refusals(steps)
    if judged.exit or refused:
        show(steps)
        return _stop(log, judged, refused, termination_log)
    outcome = apply(steps, LinuxKernel(), judged.assignment, lambda step: _say_step(log, step), show)
    refused = refusals(outcome)
    if refused and refused[-1].step.kind == "exec":
        raise refused_exec(found.path, refused[-1].errno)
    show(outcome)
    return _stop(log, judged, refused, termination_log)


def _say_verdict(log: Log, judged: session.Judged) -> None:
    verdict = judged.verdict
    log("error" if judged.exit else "info", text.headline(verdict), verdict=verdict.status, policy=verdict.policy)
    if judged.assignment.container.applied:
        log("info", f"an earlier numapin was here: {judged.assignment.container.applied}")
    for reason in verdict.reasons:
        fields = {"code": reason.code, "subject": reason.subject, "hint": reason.hint}
        if reason.message != verdict.sentence:
            log(reason.severity, text.describe(reason), **fields)
        if reason.hint:
            log(reason.severity, f"  hint: {reason.hint}", code=reason.code)


def _say_step(log: Log, planned: PlannedStep) -> None:
    log("warning" if planned.outcome == "refused" else "info", text.outcome(planned), **report.step(planned))
    if planned.outcome == "refused" and planned.hint:
        log("warning", f"  hint: {planned.hint}")


def _stop(log: Log, judged: session.Judged, refused: tuple[PlannedStep, ...], termination_log: str) -> int:
    """Leave without having become the server, and leave the cause behind."""
    if not refused:
        session.leave_cause(termination_log, session.cause(judged))
        return int(judged.exit)
    sentence = describe_refusal(refused[-1])
    log("error", sentence, hint=refused[-1].hint)
    session.leave_cause(termination_log, f"{sentence}. {refused[-1].hint}")
    return int(Exit.REFUSED)
