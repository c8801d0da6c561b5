"""The commands. Each reads through a root, judges, and shows or does what comes of it."""

import os
from typing import Any

import click

from numapin import __version__
from numapin.cli import session
from numapin.cli.options import BINDING, DEVICES, JUDGING, READING, SPEAKING, settings_of, with_options
from numapin.command import find_command
from numapin.home import Locator
from numapin.log import open_log
from numapin.plan import Command, make_plan
from numapin.render import picture, report, text
from numapin.sources.machine import read_machine
from numapin.sources.root import open_root

COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED)
STOP_AT_COMMAND = {"allow_interspersed_args": False}
"""The first word that is no option begins COMMAND: its own options are not ours."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", "-V", message="numapin %(version)s")
def numapin() -> None:
    """Prove that this container's CPUs, memory, GPUs and NICs share a NUMA node; bind to it; exec the server.

    Exit status: 0 aligned, 2 usage, 69 cannot tell, 70 a bug, 77 a required step was refused, 78 misaligned,
    126 or 127 the command cannot be run or found. Every option is also a variable: --policy is NUMAPIN_POLICY.
    """


@numapin.command("check")
@with_options(JUDGING, DEVICES, BINDING, READING, SPEAKING)
@click.pass_context
def check(ctx: click.Context, root: str, form: str, termination_log: str, **_: Any) -> int:
    """Judge this container and do nothing: for init containers, hosts and CI."""
    place = open_root(root)
    judged = session.read_and_judge(place, settings_of(ctx))
    if form == "json":
        plan = make_plan(judged.topology, judged.assignment, judged.settings, judged.verdict, None)
        session.print_json(report.report(judged.assignment, judged.verdict, plan))
    else:
        session.print_lines(text.verdict_lines(judged.verdict, session.is_colourful()))
    if judged.exit and place.is_live:
        session.leave_cause(termination_log, session.cause(judged))
    return judged.exit


@numapin.command("plan", context_settings=STOP_AT_COMMAND)
@with_options(JUDGING, DEVICES, BINDING, READING, SPEAKING)
@COMMAND
@click.pass_context
def plan(ctx: click.Context, root: str, form: str, command: tuple[str, ...], **_: Any) -> int:
    """Print the steps that `numapin run` would take, and take none."""
    place = open_root(root)
    found = _command(command, here=place.is_live)
    judged = session.read_and_judge(place, settings_of(ctx))
    steps = make_plan(judged.topology, judged.assignment, judged.settings, judged.verdict, found)
    if form == "json":
        session.print_json(report.report(judged.assignment, judged.verdict, steps))
    else:
        session.print_lines(text.verdict_lines(judged.verdict, session.is_colourful()))
        session.print_lines(text.plan_lines(steps))
    return judged.exit


def _command(arguments: tuple[str, ...], here: bool) -> Command | None:
    """The command, found in this machine's PATH; on a captured machine there is none to find."""
    if not arguments:
        return None
    return find_command(arguments, os.environ.get("PATH")) if here else Command(arguments[0], arguments)


@numapin.command("run", context_settings=STOP_AT_COMMAND)
@with_options(JUDGING, DEVICES, BINDING, READING, SPEAKING)
@COMMAND
@click.pass_context
def run(ctx: click.Context, root: str, form: str, log_format: Any, command: tuple[str, ...], **_: Any) -> int:
    """Judge this container, bind CPUs, memory and interrupts, then become COMMAND.

    Put -- before COMMAND where an option of numapin could be meant.
    """
    from numapin.cli.running import run_command  # noqa: PLC0415 -- only run ever needs what changes things

    return run_command(root, form, open_log(log_format), command, settings_of(ctx), ctx.params["termination_log"])


@numapin.command("show")
@with_options(DEVICES, READING)
@click.pass_context
def show(ctx: click.Context, root: str, form: str, **_: Any) -> int:
    """Show the machine's topology and this container in it."""
    settings = settings_of(ctx)
    machine, assignment = read_machine(open_root(root), settings, whole=True)
    locator = Locator.of(machine, assignment, settings.home)
    if form == "json":
        session.print_json(report.topology(machine, assignment, locator))
    else:
        session.print_lines(picture.picture(machine, assignment, locator, session.can_draw()))
    return 0
