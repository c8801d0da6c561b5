"""`numapin run`: judge, bind, exec."""

import contextlib
import os

from numapin.apply import apply, describe_refusal, refusals
from numapin.cli import session
from numapin.cli.options import Asked
from numapin.command import find_command, refused_exec
from numapin.errors import Exit, UsageError
from numapin.kernel import LinuxKernel
from numapin.log import Level, Log, open_log
from numapin.plan import Plan, PlannedStep
from numapin.reasons import Reason
from numapin.render import text
from numapin.sources.opening import open_root


def run_command(asked: Asked, command: tuple[str, ...]) -> int:
    """Become the command, bound as the verdict says; the exit status where that must not or cannot be."""
    if not command:
        raise UsageError("run needs a COMMAND to become", "numapin check judges without one")
    root = open_root(asked.root)
    if not root.is_live:
        raise UsageError(f"run cannot bind to the captured machine {asked.root}", "numapin plan shows its steps there")
    found = find_command(command, os.environ.get("PATH"))
    log = open_log(asked.settings.log_format)
    judged = session.read_and_judge(root, asked.settings)
    steps = judged.plan(found)
    say_verdict(log, judged)

    def show(result: Plan) -> None:
        # A report that cannot be written keeps no server from starting.
        with contextlib.suppress(OSError):
            if asked.format == "json":
                session.print_report("json", judged, result)

    refused = refusals(steps)
    if not judged.exit and not refused:
        told: set[str] = set()
        steps = apply(steps, LinuxKernel(), judged.assignment, lambda step: _say_step(log, step, told), show)
        refused = refusals(steps)
        if refused and refused[-1].step.kind == "exec":
            raise refused_exec(found.path, refused[-1].errno)
    show(steps)
    return stop(log, judged, refused, asked.termination_log)


def say_verdict(log: Log, judged: session.Judged) -> None:
    """The verdict with the reason that its sentence tells, then the other reasons."""
    verdict = judged.verdict
    cause = next((reason for reason in verdict.reasons if reason.message == verdict.sentence), None)
    level: Level = "error" if judged.exit else "info"
    log(level, text.headline(verdict), verdict=verdict.status, policy=verdict.policy, **_fields(cause))
    if judged.assignment.container.applied:
        log("info", f"an earlier numapin was here: {judged.assignment.container.applied}")
    for reason in verdict.reasons:
        if reason is not cause:
            log(reason.severity, text.describe(reason), **_fields(reason))


def _fields(reason: Reason | None) -> dict[str, str]:
    return {"code": reason.code, "subject": reason.subject, "hint": reason.hint} if reason else {}


def _say_step(log: Log, planned: PlannedStep, told: set[str]) -> None:
    """A step as it was done. A hint is said once: a loaded host has thousands of interrupts, all refused alike."""
    refused = planned.outcome == "refused"
    fields: dict[str, object] = {"kind": planned.step.kind, "mode": planned.mode, "outcome": planned.outcome}
    # The last of a required step is told by the sentence that ends the run.
    if refused and planned.mode != "require":
        fields |= {"errno": planned.errno, "hint": "" if planned.hint in told else planned.hint}
        told.add(planned.hint)
    log("warning" if refused else "info", text.outcome(planned), **fields)


def stop(log: Log, judged: session.Judged, refused: tuple[PlannedStep, ...], termination_log: str) -> int:
    """Leave without having become the server, and leave the cause behind."""
    if not refused:
        session.leave_verdict(termination_log, judged)
        return int(judged.exit)
    step = refused[-1]
    sentence = describe_refusal(step)
    log("error", sentence, kind=step.step.kind, errno=step.errno, hint=step.hint)
    session.leave_cause(termination_log, sentence, step.hint)
    return int(Exit.REFUSED)
