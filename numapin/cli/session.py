"""What the commands share: reading and judging once, reporting, and the exit status of a verdict."""

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from numapin.assignment import Assignment
from numapin.cli.options import Asked
from numapin.errors import Exit, NumapinError
from numapin.ids import printable
from numapin.log import open_log, say
from numapin.plan import Command, Plan
from numapin.planning import make_plan, needs_keeper
from numapin.render import text
from numapin.settings import Settings
from numapin.sources.machine import read_machine
from numapin.sources.nodes import read_siblings
from numapin.sources.root import Root
from numapin.topology import Topology
from numapin.values import field, replace, value
from numapin.verdict import Verdict, judge

if TYPE_CHECKING:
    from numapin.engine import Profile

MOST_TERMINATION_BYTES = 4096
"""The kubelet reads no more of a container's termination message."""


@value
class Judged:
    """A machine, a container on it, and the verdict."""

    topology: Topology
    assignment: Assignment
    settings: Settings
    verdict: Verdict
    profiles: Mapping[str, "Profile"] = field(default_factory=dict)
    """Those of engines and libraries, where the keeper needs them."""

    def plan(self, command: Command | None) -> Plan:
        """The steps that bring a process there."""
        return make_plan(self.topology, self.assignment, self.settings, self.verdict, command, profiles=self.profiles)

    @property
    def exit(self) -> Exit:
        """The exit status that the verdict alone comes to: a policy that only warns lets pass what it warned of."""
        weights = {reason.weight for reason in self.verdict.errors}
        if "misaligned" in weights:
            return Exit.MISALIGNED
        return Exit.CANNOT_TELL if weights else Exit.ALIGNED


def read_and_judge(root: Root, settings: Settings, *, to_plan: bool = True) -> Judged:
    """Read the machine through a root and judge this container; `to_plan`: also what only a plan needs."""
    topology, assignment = read_machine(root, settings)
    verdict = judge(topology, assignment, settings)
    if verdict.errors:
        # Only hints change by it: who starts aligned reads no more.
        from numapin.sources.memory_speed import read_latencies  # noqa: PLC0415

        topology = replace(topology, latencies=read_latencies(root, settings.bench))
        verdict = judge(topology, assignment, settings) if topology.latencies else verdict
    profiles: Mapping[str, Profile] = {}
    if to_plan and needs_keeper(assignment, settings, verdict):
        from numapin.sources.profiles import read_profiles  # noqa: PLC0415 -- few servers have a keeper

        profiles = read_profiles(settings.profiles)
        # It shares whole cores out; nobody else asks for them where all of the machine is this container's.
        topology = replace(topology, siblings=topology.siblings or read_siblings(root, assignment.cpus))
    return Judged(topology, assignment, settings, verdict, profiles)


def print_report(form: str, judged: Judged, plan: Plan | None, flags: tuple[str, ...] = ()) -> None:
    """The report on stdout, with the steps where there is a plan; as JSON there always is one.

    `flags` are an engine's own options for the same placement.
    """
    if form == "json" and plan:
        from numapin.render import report  # noqa: PLC0415 -- text needs none of it

        shown = report.report(judged.assignment, judged.verdict, plan)
        print_json(shown | {"engine": {"name": judged.settings.engine, "flags": list(flags)}} if flags else shown)
        return
    print_lines(text.verdict_lines(judged.verdict, colour=is_colourful()))
    if plan:
        print_lines(text.plan_lines(plan))
    if flags:
        print_lines([f"or by {judged.settings.engine} itself: {' '.join(flags)}"])


def print_json(record: dict[str, Any]) -> None:
    """One object on stdout."""
    import json  # noqa: PLC0415 -- text needs none of it

    print_lines([json.dumps(record, ensure_ascii=False, indent=2)])


def print_lines(lines: Iterable[str]) -> None:
    """Lines on stdout, flushed, so that nothing is lost at exec. A process may be started without a stdout."""
    if sys.stdout:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()


def is_colourful() -> bool:
    """Whether stdout is a terminal that wants colour (https://no-color.org)."""
    return _is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _is_terminal() -> bool:
    return bool(sys.stdout) and sys.stdout.isatty()


def can_draw() -> bool:
    """Whether stdout is a terminal that shows box-drawing characters."""
    return _is_terminal() and (sys.stdout.encoding or "").lower().startswith("utf")


def leave_cause(path: str, sentence: str, hint: str) -> None:
    """Write the cause of a failure, and what to do, where Kubernetes looks for it, if the kubelet made that file.

    In place: it is a bind mount, which no rename can replace. A cause that cannot be left is said on stderr anyway.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            content = f"{sentence}. {hint}".strip().encode("utf-8", "backslashreplace")[:MOST_TERMINATION_BYTES]
            os.write(descriptor, content.decode("utf-8", "ignore").encode())
        finally:
            os.close(descriptor)


def leave_verdict(path: str, judged: Judged) -> None:
    """Leave the one sentence that tells a failed verdict, and what to do about it."""
    leave_cause(path, text.headline(judged.verdict), judged.verdict.errors[0].hint)


def fail(error: NumapinError, asked: Asked, *, leave: bool) -> int:
    """Tell a failure as the options want it told, and leave its cause for Kubernetes unless the root is a capture."""
    sentence = error.message.rstrip(".")
    if asked.settings.log_format == "json":
        open_log("json")("error", sentence, hint=error.hint)
    else:
        say_failure(sentence, error.hint)
    if leave and asked.root == "/":
        leave_cause(asked.termination_log, sentence, error.hint)
    return int(error.exit)


def say_failure(sentence: str, hint: str) -> None:
    """A failure and what to do about it, on stderr."""
    say(f"numapin: {printable(sentence)}\n" + (f"  hint: {printable(hint)}\n" if hint else ""))
