"""The command line: argv in, exit status out."""

import os
import sys
from collections.abc import Sequence

import click

from numapin.cli.commands import numapin
from numapin.cli.session import leave_cause
from numapin.errors import Exit, NumapinError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status; no failure but a bug under NUMAPIN_DEBUG shows a traceback."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """The exit status of a command line."""
    try:
        return int(numapin.main(arguments, prog_name="numapin", standalone_mode=False) or Exit.ALIGNED)
    except click.ClickException as error:
        context = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "numapin"
        return _fail(error.format_message(), f"{context} --help lists what there is", Exit.USAGE)
    except NumapinError as error:
        return _fail(error.message, error.hint, error.exit)
    except (click.Abort, KeyboardInterrupt):
        return 128 + 2
    except BrokenPipeError:
        # The reader of stdout went away: there is nobody left to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + 13
    except Exception as error:
        if os.environ.get("NUMAPIN_DEBUG"):
            raise
        hint = "NUMAPIN_DEBUG=1 shows where; NUMAPIN_DISABLE=1 lets the entrypoint start the server without numapin"
        return _fail(f"this is a bug in numapin: {type(error).__name__}: {error}", hint, Exit.BUG)


def _fail(message: str, hint: str, status: Exit) -> int:
    """Say what went wrong, on stderr and where Kubernetes looks for it."""
    sentence = message.rstrip(".")
    print(f"numapin: {sentence}", file=sys.stderr)
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)
    leave_cause(os.environ.get("NUMAPIN_TERMINATION_LOG", "/dev/termination-log"), f"{sentence}. {hint}".strip())
    return int(status)
