"""The commands as click has them: help texts, and the option table turned into click's options."""

import os
from functools import reduce
from typing import Any

import click

from numapin import __version__
from numapin.cli.actions import COMMANDS, Entry
from numapin.cli.options import Asked, resolve
from numapin.cli.table import EVERY, Option
from numapin.cli.texts import add
from numapin.errors import Exit

COMMAND = click.Argument(["command"], nargs=-1, type=click.UNPROCESSED)
EXIT_STATUS = """Exit status: 0 aligned, planned or done; 2 usage; 69 cannot tell; 70 a bug; 77 a required step was
refused; 78 misaligned; 126 or 127 COMMAND cannot be run or found. Every option is also a variable: --policy is
NUMAPIN_POLICY."""


class Text(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases of click
    """The text of an option, as the option's own parser reads it."""

    def __init__(self, option: Option) -> None:
        self.name = option.form
        self._parse = option.parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse it, or say what is wrong."""
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def click_option(option: Option) -> click.Option:
    """An option of the table as click has it. Its default is not click's: that a value was given must be known."""
    shown = ",".join(option.default) or None if isinstance(option.default, tuple) else option.default
    told = f"{option.help}  [default: {shown}]" if option.form and shown is not None else option.help
    if option.form:
        bare: dict[str, Any] = {} if option.bare is None else {"is_flag": False, "flag_value": option.bare}
        return click.Option(
            [f"--{option.name}"],
            type=Text(option),
            metavar=option.form,
            help=told,
            multiple=option.many,
            **bare,
        )
    names = f"--{option.name}/--no-{option.name}" if option.default else f"--{option.name}"
    return click.Option([names], is_flag=True, default=None, help=told)


def asked(parameters: dict[str, Any]) -> Asked:
    """What a command line asks for, the environment filling in what it leaves out."""
    given = {name: chosen for name, chosen in parameters.items() if chosen not in (None, ())}
    many = {option.field for option in EVERY if option.many}
    given |= {name: reduce(add, given[name]) for name in many & given.keys()}
    return resolve(given, os.environ)


def command(name: str, entry: Entry) -> click.Command:
    """A command of the table as click has it."""

    def callback(command: tuple[str, ...] = (), **parameters: Any) -> int:
        return entry.perform(asked(parameters), command)

    options: list[click.Parameter] = [click_option(option) for option in entry.options]
    return click.Command(
        name,
        callback=callback,
        params=[*options, *([COMMAND] if entry.takes_command else [])],
        help=entry.about,
        short_help=entry.about,
        epilog=EXIT_STATUS,
        # The first word that is no option begins COMMAND: its own options are not ours.
        context_settings={"allow_interspersed_args": not entry.takes_command},
    )


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_STATUS,
    invoke_without_command=True,
)
@click.version_option(__version__, "--version", "-V", message="numapin %(version)s")
@click.pass_context
def numapin(ctx: click.Context, /) -> None:
    """Prove that this container's CPUs, memory, GPUs and NICs share a NUMA node; bind to it; exec the server."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(Exit.USAGE)


for _name, _entry in COMMANDS.items():
    numapin.add_command(command(_name, _entry))


def _capture(output: str | None, check: str | None, root: str) -> int:
    from numapin.cli import capturing  # noqa: PLC0415 -- only this command needs it

    return capturing.check(check) if check else capturing.capture(output, root)


numapin.add_command(
    click.Command(
        "capture",
        callback=_capture,
        params=[
            click.Option(["-o", "--output"], metavar="FILE", help="Write the capture there.  [default: stdout]"),
            click.Option(["--check"], metavar="FILE", help="Say what a capture holds, and what it should not."),
            click.Option(
                ["--root"], metavar="DIR", default="/", help="Capture this captured machine anew.  [default: /]"
            ),
        ],
        help="Keep the files that numapin reads here, as one text file for a bug report; --root reads it anywhere.\n\n"
        "It holds no environment variable, command line or name that is not on a short list; identifiers of hardware, "
        "containers and networks are replaced.",
        short_help="Keep what numapin reads here in one text file, for a bug report.",
    )
)
