"""What numapin says while it works: plain lines, or JSON events through structlog, both on stderr."""

import sys
from typing import Any, Literal, Protocol

Level = Literal["info", "warning", "error"]


class Log(Protocol):
    """Says one thing: a line for a person, or its fields for a program."""

    def __call__(self, level: Level, line: str, /, **fields: Any) -> None: ...


def open_log(form: str) -> Log:
    """The log in the form that `--log-format` names."""
    return _json_log() if form == "json" else _say


def _say(_: Level, line: str, /, **fields: Any) -> None:
    """A line says it all to a person, but for the hint."""
    hint = fields.get("hint")
    sys.stderr.write(f"numapin: {line}\n" + (f"numapin:   hint: {hint}\n" if hint else ""))
    sys.stderr.flush()


def _json_log() -> Log:
    import structlog  # noqa: PLC0415 -- 35 ms, and plain lines need none of it

    logger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
    ).bind(logger="numapin")

    def log(level: Level, line: str, /, **fields: Any) -> None:
        getattr(logger, level)(line, **fields)
        sys.stderr.flush()

    return log
