"""What numapin says while it works: plain lines, or JSON events through structlog, both on stderr."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Literal, Protocol

from numapin.ids import printable

Level = Literal["info", "warning", "error"]


class Log(Protocol):
    """Says one thing: a line for a person, or its fields for a program."""

    def __call__(self, level: Level, line: str, /, **fields: Any) -> None: ...


Write = Callable[[str], None]
"""Takes a text with its line feed."""


def open_log(form: str, write: Write | None = None) -> Log:
    """The log in the form that `--log-format` names; on stderr, unless told otherwise."""
    plain = _plain_log(write or say)
    if form != "json":
        return plain
    try:
        return _json_log(write or say)
    except ImportError as error:
        plain("warning", f"--log-format json needs structlog, which cannot be imported ({error}): plain lines follow")
        return plain


def say(text: str) -> None:
    """Write on stderr at once. A log that nobody reads, that is full or closed keeps no server from starting."""
    with contextlib.suppress(OSError):
        if sys.stderr:
            sys.stderr.write(text)
            sys.stderr.flush()


def _plain_log(write: Write) -> Log:
    """A line says it all to a person, but for the hint."""

    def log(_: Level, line: str, /, **fields: Any) -> None:
        hint = fields.get("hint")
        write(f"numapin: {printable(line)}\n" + (f"numapin:   hint: {printable(hint)}\n" if hint else ""))

    return log


def _json_log(write: Write) -> Log:
    import structlog  # noqa: PLC0415 -- 35 ms, and plain lines need none of it

    logger = structlog.wrap_logger(
        structlog.ReturnLogger(),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
    ).bind(logger="numapin")

    def log(level: Level, line: str, /, **fields: Any) -> None:
        write(f"{getattr(logger, level)(line, **fields)}\n")

    return log
