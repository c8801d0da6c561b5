"""Reading a file and understanding it, with the file named where it cannot be understood."""

from collections.abc import Callable
from typing import TypeVar

from numapin.errors import CannotRead
from numapin.ids import MAX_ID, shorten
from numapin.sources.root import Root

Value = TypeVar("Value")

LARGEST_PAGE = 1 << 34
"""Bytes of the largest huge page of any architecture (16 GiB on POWER)."""

MOST_NUMBER = 1 << 63
"""No count, size or limit that the kernel prints is larger."""


def read(root: Root, path: str, parse: Callable[[str], Value]) -> Value | None:
    """What `parse` makes of a file; None where there is none.

    Raises CannotRead, naming the file and its text, where `parse` raises ValueError.
    """
    text = root.read(path)
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise CannotRead(f"{path} cannot be understood: {error}") from None


def number(text: str) -> int:
    """A decimal or 0x-hexadecimal number, perhaps negative. Raises ValueError for any other text."""
    stripped = text.strip()
    digits = stripped.removeprefix("-")
    base = 16 if digits.lower().startswith("0x") else 10
    # int() would also take "1_000", other scripts' digits and a text of megabytes.
    if not digits.isascii() or not digits.removeprefix("0x").isalnum() or len(digits) > 20:
        raise ValueError(f"{shorten(text)} is not a number")
    try:
        value = int(stripped, base)
    except ValueError:
        raise ValueError(f"{shorten(text)} is not a number") from None
    if abs(value) > MOST_NUMBER:
        raise ValueError(f"{shorten(text)} is out of range")
    return value


def node_id(text: str) -> int | None:
    """A node, None for the kernel's -1, which stands for "nobody said" (NUMA_NO_NODE)."""
    value = known(text)
    if value is not None and value > MAX_ID:
        raise ValueError(f"{shorten(text)} is out of range: nodes run from 0 to {MAX_ID}")
    return value


def known(text: str) -> int | None:
    """A number that is of any size (package ids on IA-64 are large), None for -1."""
    value = number(text)
    return None if value < 0 else value


def limit(text: str) -> int | None:
    """A cgroup limit; None for `max`, and for the 2^63 less one page, of any size, by which version 1 says the same."""
    if text.strip() == "max":
        return None
    value = number(text)
    return None if value < 0 or value >= MOST_NUMBER - LARGEST_PAGE else value


def fields(text: str, separator: str = ":") -> dict[str, str]:
    """Lines of `key: value`, as /proc/self/status and the driver's information files have them."""
    pairs = (line.partition(separator) for line in text.splitlines())
    return {key.strip(): value.strip() for key, found, value in pairs if found}
