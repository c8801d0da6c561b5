"""Results in files: written whole or not at all, and read back with care."""

import contextlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from numapin.errors import UsageError
from numapin.settings import BENCH_FILE

MOST_BYTES = 16 << 20
"""No result of ours is longer."""


def now() -> str:
    """The time of day, in UTC, as results carry it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def require_place(path: str) -> None:
    """Raise UsageError where `save` could not write: before anything long is done. The default's folder is made."""
    try:
        if path == BENCH_FILE:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        # Trying is the only way to know: root may write everywhere, but not in /proc or on a read-only file system.
        os.close(os.open(_beside(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.unlink(_beside(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "Name another file by --save FILE.") from None


def _beside(path: str) -> str:
    return f"{path}.new-{os.getpid()}"


def save(path: str, record: Mapping[str, Any]) -> None:
    """Write an object as JSON, beside the file first: what was there is not lost where the disk is full.

    Raises UsageError where it cannot be written.
    """
    new = _beside(path)
    try:
        with open(new, "w", encoding="utf-8") as file:
            json.dump(record, file, ensure_ascii=False, indent=2)
            file.write("\n")
        os.replace(new, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def load(path: str, schema: str) -> dict[str, Any]:
    """An object that `save` wrote. Raises UsageError where it is not there, or is something else."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_BYTES)
        record = json.loads(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.get("schema") != schema:
        raise UsageError(f"{path} is no file of {schema}", "It is what --save wrote.")
    return record
