"""The command line: argv in, exit status out."""

import gc
import os
import sys
from collections.abc import Sequence

from numapin.cli.session import leave_cause
from numapin.errors import Exit, NumapinError
from numapin.log import say

INTERRUPTED, PIPE_CLOSED = 128 + 2, 128 + 13
"""As a shell would report a death by SIGINT and by SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status; no failure but a bug under NUMAPIN_DEBUG shows a traceback."""
    # This process lives for a tenth of a second: collecting cycles would be a tenth of that, and free nothing.
    gc.disable()
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """The exit status of a command line."""
    try:
        return _dispatch(arguments)
    except NumapinError as error:
        return _fail(error.message, error.hint, error.exit)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout went away: there is nobody left to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return PIPE_CLOSED
    except Exception as error:
        if os.environ.get("NUMAPIN_DEBUG"):
            raise
        hint = "NUMAPIN_DEBUG=1 shows where; NUMAPIN_DISABLE=1 lets the entrypoint start the server without numapin"
        return _fail(f"this is a bug in numapin: {type(error).__name__}: {error}", hint, Exit.BUG)


def _dispatch(arguments: list[str]) -> int:
    """The entrypoint's own form at once; all others through click, whose import takes as long as all of the rest."""
    if arguments[:2] == ["run", "--"]:
        from numapin.cli.actions import run as run_action  # noqa: PLC0415
        from numapin.cli.options import resolve  # noqa: PLC0415

        return run_action(resolve({}, os.environ), tuple(arguments[2:]))
    return _by_click(arguments)


def _by_click(arguments: list[str]) -> int:
    import click  # noqa: PLC0415

    from numapin.cli.commands import numapin  # noqa: PLC0415

    try:
        return int(numapin.main(arguments, prog_name="numapin", standalone_mode=False) or Exit.ALIGNED)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        place = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "numapin"
        return _fail(error.format_message(), f"{place} --help lists what there is", Exit.USAGE)


def _fail(message: str, hint: str, status: Exit) -> int:
    """Say what went wrong, on stderr and where Kubernetes looks for it."""
    sentence = message.rstrip(".")
    say(f"numapin: {sentence}\n" + (f"  hint: {hint}\n" if hint else ""))
    leave_cause(os.environ.get("NUMAPIN_TERMINATION_LOG", "/dev/termination-log"), f"{sentence}. {hint}".strip())
    return int(status)
