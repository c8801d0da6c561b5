"""The command line: argv in, exit status out."""

import gc
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from numapin.cli.options import resolve
from numapin.cli.plain import parse
from numapin.cli.session import leave_cause, say_failure
from numapin.errors import Exit, NumapinError

INTERRUPTED, PIPE_CLOSED = 128 + 2, 128 + 13
"""As a shell would report a death by SIGINT and by SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status; no failure but a bug under NUMAPIN_DEBUG shows a traceback."""
    # This process lives for a tenth of a second: collecting cycles would be a tenth of that, and free nothing.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A name that is no text must not keep a server from starting, whatever the locale is strict about.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """The exit status of a command line."""
    try:
        line = parse(arguments)
        return line.entry.perform(resolve(line.given, os.environ), line.command) if line else _by_click(arguments)
    except NumapinError as error:
        return _fail(error.message, error.hint, error.exit)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        # Of all that is written, only the streams have no file name.
        if isinstance(error, OSError) and error.filename is None:
            return _lost(error)
        if os.environ.get("NUMAPIN_DEBUG"):
            raise
        hint = "NUMAPIN_DEBUG=1 shows where; NUMAPIN_DISABLE=1 lets the entrypoint start the server without numapin"
        return _fail(f"this is a bug in numapin: {type(error).__name__}: {error}", hint, Exit.BUG)


def _by_click(arguments: list[str]) -> int:
    import click  # noqa: PLC0415 -- for help, and for command lines that are wrong

    from numapin.cli.commands import numapin  # noqa: PLC0415

    try:
        return int(numapin.main(arguments, prog_name="numapin", standalone_mode=False) or Exit.ALIGNED)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        place = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "numapin"
        return _fail(error.format_message(), f"{place} --help lists what there is", Exit.USAGE)


def _lost(error: OSError) -> int:
    """What was to be read on stdout cannot be written: its reader went away, or the disk is full."""
    # What is still in the buffer must not be tried again when Python exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    return _fail(f"the report cannot be written: {error.strerror}", "", Exit.CANNOT_TELL)


def _fail(message: str, hint: str, status: Exit) -> int:
    """Say what went wrong before the options were known: on stderr, and where Kubernetes looks for it by default."""
    sentence = message.rstrip(".")
    say_failure(sentence, hint)
    leave_cause(os.environ.get("NUMAPIN_TERMINATION_LOG", "/dev/termination-log"), sentence, hint)
    return int(status)
