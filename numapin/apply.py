"""Doing a plan: step by step, each read back, until one that is required is refused."""

import os
from collections.abc import Callable

from numapin import hints
from numapin.assignment import Assignment
from numapin.ids import CpuSet, NodeSet
from numapin.plan import Plan, PlannedStep
from numapin.steps import Execute, Kernel, Refused
from numapin.values import replace

Report = Callable[[PlannedStep], None]
"""Told of every step: of exec before it is done, of the others after."""


def apply(
    plan: Plan, kernel: Kernel, assignment: Assignment, report: Report, before_exec: Callable[[Plan], None]
) -> Plan:
    """Do the steps in order; the plan comes back only where one that is required was refused, or nothing is to exec.

    `before_exec` is told how the steps ended, and must flush what is to be seen before this process is another.
    """
    done: list[PlannedStep] = []
    for position, planned in enumerate(plan.steps):
        result = planned
        if isinstance(planned.step, Execute):
            report(planned)
            before_exec(Plan((*done, *plan.steps[position:])))
            result = replace(planned, step=_marked(planned.step, done))
        if planned.outcome == "planned":
            result = perform(result, kernel, assignment)
        done.append(result)
        if planned.step.kind != "exec":
            report(result)
        if result.outcome == "refused" and result.mode == "require":
            break
    return Plan((*done, *plan.steps[len(done) :]))


def _marked(step: Execute, done: list[PlannedStep]) -> Execute:
    """The marker names only what was bound: what a `try` did not get is no drift later."""
    undone = {one.step.kind for one in done if one.outcome in ("refused", "skipped")}
    cpus = CpuSet() if "affinity" in undone else step.applied.cpus
    mems = NodeSet() if "mempolicy" in undone else step.applied.mems
    return replace(step, applied=replace(step.applied, cpus=cpus, mems=mems))


def perform(planned: PlannedStep, kernel: Kernel, assignment: Assignment) -> PlannedStep:
    """One step, with what came of it; a refusal carries the kernel's errno and a hint."""
    try:
        return replace(planned, outcome=planned.step.perform(kernel))
    except Refused as refused:
        return _refused(planned, hints.Refusal(planned.step.kind, None, refused.why, refused.got), assignment)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else "unknown error"
        got = error.strerror if error.strerror and error.strerror != why else ""
        return _refused(planned, hints.Refusal(planned.step.kind, error.errno, why, got), assignment)


def _refused(planned: PlannedStep, refusal: hints.Refusal, assignment: Assignment) -> PlannedStep:
    if hints.is_managed(refusal, assignment.permissions):
        # Before 6.12 only the write itself tells; nobody can do what was asked, and nothing is lost by it.
        return replace(planned, outcome="skipped", errno=refusal.code, hint=hints.MANAGED)
    hint = hints.for_refusal(refusal, assignment.permissions, assignment.container, assignment.realtime)
    return replace(planned, outcome="refused", errno=refusal.code, why=refusal.why, hint=hint)


def describe_refusal(planned: PlannedStep) -> str:
    """`set_mempolicy MPOL_BIND… nodes=0 was refused: Operation not permitted`."""
    return f"{planned.line} was refused: {planned.why}"


def refusals(plan: Plan) -> tuple[PlannedStep, ...]:
    """The required steps that did not come to pass."""
    return tuple(one for one in plan.steps if one.outcome == "refused" and one.mode == "require")
