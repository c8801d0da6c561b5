"""What numapin says while it works: plain lines, or JSON events through structlog, both on stderr."""

import contextlib
import sys
from typing import Any, Literal, Protocol

from numapin.ids import printable

Level = Literal["info", "warning", "error"]


class Log(Protocol):
    """Says one thing: a line for a person, or its fields for a program."""

    def __call__(self, level: Level, line: str, /, **fields: Any) -> None: ...


def open_log(form: str) -> Log:
    """The log in the form that `--log-format` names."""
    if form != "json":
        return _say
    try:
        return _json_log()
    except ImportError as error:
        _say("warning", f"--log-format json needs structlog, which cannot be imported ({error}): plain lines follow")
        return _say


def say(text: str) -> None:
    """Write on stderr at once. A log that nobody reads, that is full or closed keeps no server from starting."""
    with contextlib.suppress(OSError):
        if sys.stderr:
            sys.stderr.write(text)
            sys.stderr.flush()


def _say(_: Level, line: str, /, **fields: Any) -> None:
    """A line says it all to a person, but for the hint."""
    hint = fields.get("hint")
    say(f"numapin: {printable(line)}\n" + (f"numapin:   hint: {printable(hint)}\n" if hint else ""))


def _json_log() -> Log:
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
        say(f"{getattr(logger, level)(line, **fields)}\n")

    return log
