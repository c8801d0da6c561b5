"""Results in files: written whole or not at all, and read back with care."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from numapin.errors import UsageError

MOST_BYTES = 16 << 20
"""No result of ours is longer."""


def save(path: str, record: Mapping[str, Any]) -> None:
    """Write an object as JSON, beside the file first: what was there is not lost where the disk is full.

    Raises UsageError where it cannot be written.
    """
    new = f"{path}.new-{os.getpid()}"
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
