"""What each command does, once its options are read; and the table of the commands."""

import os
from collections.abc import Callable

from numapin.cli import session
from numapin.cli.options import Asked
from numapin.cli.table import ASSIGNED, BENCH, MEASURING, OTHERS, OWN, PROVING, READING, Option
from numapin.command import find_command
from numapin.errors import NumapinError
from numapin.plan import Command
from numapin.sources.opening import open_root
from numapin.values import value

Action = Callable[[Asked, tuple[str, ...]], int]


def check(asked: Asked, _: tuple[str, ...]) -> int:
    """Judge and report."""
    root = open_root(asked.root)
    judged = session.read_and_judge(root, asked.settings, to_plan=asked.format == "json")
    if asked.format == "json":
        session.print_report("json", judged, judged.plan(None))
    else:
        session.print_report("text", judged, None)
    if judged.exit and root.is_live:
        session.leave_verdict(asked.termination_log, judged)
    return int(judged.exit)


def plan(asked: Asked, command: tuple[str, ...]) -> int:
    """Judge, and print the steps."""
    root = open_root(asked.root)
    found = _find(command, here=root.is_live)
    judged = session.read_and_judge(root, asked.settings)
    flags = _flags(judged)
    session.print_report(asked.format, judged, judged.plan(found), flags)
    engine = judged.settings.engine
    if engine != "auto" and not flags and asked.format == "text":
        session.print_lines([f"{engine} has no options of its own for this, or no accelerator here has a known node"])
    return int(judged.exit)


def _flags(judged: session.Judged) -> tuple[str, ...]:
    """The options of the engine that was named for the same placement; none where it has none, or where none was."""
    if judged.settings.engine == "auto":
        return ()
    from numapin.commission import flags  # noqa: PLC0415 -- what only plan --engine needs
    from numapin.shares import share_out  # noqa: PLC0415

    engine = judged.profiles.get(judged.settings.engine)
    shares = share_out(judged.topology, judged.assignment, judged.verdict)
    return flags(engine, shares) if engine else ()


def _find(command: tuple[str, ...], *, here: bool) -> Command | None:
    """The command, found in this machine's PATH; on a captured machine there is none to find."""
    if not command:
        return None
    return find_command(command, os.environ.get("PATH")) if here else Command(command[0], command)


def run(asked: Asked, command: tuple[str, ...]) -> int:
    """Judge, bind, exec."""
    from numapin.cli.running import run_command  # noqa: PLC0415 -- only run ever needs what changes things

    return run_command(asked, command)


def keep(asked: Asked, _: tuple[str, ...]) -> int:
    """Become the keeper of a server that runs."""
    from numapin.cli.keep import keep_process  # noqa: PLC0415 -- what only keep needs

    return keep_process(asked)


def verify(asked: Asked, _: tuple[str, ...]) -> int:
    """Prove that a running server is where it was put."""
    from numapin.cli.verifying import verify_server  # noqa: PLC0415 -- what only verify needs

    return verify_server(asked)


def measure(asked: Asked, _: tuple[str, ...]) -> int:
    """Measure a running server."""
    from numapin.cli.measuring import measure_server  # noqa: PLC0415 -- what only measure needs

    return measure_server(asked)


def bench(asked: Asked, _: tuple[str, ...]) -> int:
    """Measure this machine."""
    from numapin.cli.benching import bench_machine  # noqa: PLC0415 -- what only bench needs

    return bench_machine(asked)


def show(asked: Asked, _: tuple[str, ...]) -> int:
    """Show the machine, whatever its verdict."""
    from numapin.home import Locator  # noqa: PLC0415 -- what only show needs
    from numapin.render import picture, report  # noqa: PLC0415
    from numapin.sources.machine import read_machine  # noqa: PLC0415

    machine, assignment = read_machine(open_root(asked.root), asked.settings, whole=True)
    locator = Locator.of(machine, assignment, asked.settings.home)
    if asked.format == "json":
        session.print_json(report.topology(machine, assignment, locator))
    else:
        session.print_lines(picture.picture(machine, assignment, locator, drawn=session.can_draw()))
    return 0


@value
class Entry:
    """One command of the command line."""

    action: Action
    about: str
    options: tuple[Option, ...]
    takes_command: bool

    def perform(self, asked: Asked, command: tuple[str, ...]) -> int:
        """Do it; a failure is told in the form, and left in the place, that the options name.

        A probe leaves nothing: Kubernetes would take it for why the server ended.
        """
        try:
            return self.action(asked, command)
        except NumapinError as error:
            return session.fail(error, asked, leave="termination-log" in {option.name for option in self.options})


COMMANDS = {
    "run": Entry(run, "Judge this container, bind CPUs, memory and interrupts, then become COMMAND.", OWN, True),
    "check": Entry(check, "Judge this container and do nothing: for init containers, hosts and CI.", OWN, False),
    "plan": Entry(plan, "Print the steps that `numapin run` would take, and take none.", OWN, True),
    "keep": Entry(keep, "Place the threads of a server that runs, and keep them there, until it ends.", OTHERS, False),
    "verify": Entry(verify, "Prove that a running server is still where it was put, and its memory.", PROVING, False),
    "measure": Entry(measure, "Measure a running server, and compare with an earlier time.", MEASURING, False),
    "bench": Entry(bench, "Measure this machine's memory, from each node to each.", BENCH, False),
    "show": Entry(show, "Show the machine and this container in it.", (*ASSIGNED, *READING), False),
}
