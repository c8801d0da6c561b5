"""Sets of CPUs and of nodes, and PCI addresses: the kernel's identifiers as values.

Text is the kernel's own: the list format of cpulist files (`0-3,8`), the hexadecimal mask format of
cpumap files (`00000000,0000ffff`), and PCI addresses as sysfs names them (`0000:3b:00.0`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from numapin.values import value

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_ID = 65_535
"""The largest CPU or node id that is believed. The kernel's own limits are 8191 CPUs and 1023 nodes."""

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_HEX_WORDS = re.compile(r"(?:0x)?[0-9a-f]{1,8}(?:,[0-9a-f]{1,8})*", re.ASCII | re.IGNORECASE)
_PCI = re.compile(r"([0-9a-f]{1,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.ASCII | re.IGNORECASE)


@value
class IdSet:
    """An immutable set of small ids; bit i of `mask` stands for id i."""

    mask: int = 0

    @classmethod
    def of(cls, ids: Iterable[int]) -> Self:
        """The set of the given ids."""
        mask = 0
        for member in ids:
            mask |= 1 << member
        return cls(mask)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the kernel's list format, `0-3,8`; empty text is the empty set (`bitmap_parselist`, lib/bitmap-str.c).

        Raises ValueError, naming the text, where it is anything else or an id is above `MAX_ID`.
        """
        mask = 0
        stripped = text.strip()
        # nohz_full prints "(null)" where no such CPU was ever set up.
        if stripped in ("", "(null)"):
            return cls(0)
        for part in stripped.split(","):
            found = _RANGE.fullmatch(part.strip())
            if not found:
                raise ValueError(f"{shorten(text)} is not a list like 0-3,8")
            first = int(found[1])
            last = int(found[2] or found[1])
            if first > last or last > MAX_ID:
                raise ValueError(f"{shorten(text)} is out of range: ids run from 0 to {MAX_ID}, lowest first")
            mask |= ((1 << (last - first + 1)) - 1) << first
        return cls(mask)

    @classmethod
    def parse_mask(cls, text: str) -> Self:
        """Read the kernel's mask format, words of 32 bits, highest first: `00000000,0000ffff`.

        Raises ValueError, naming the text, where it is anything else.
        """
        stripped = text.strip()
        if not _HEX_WORDS.fullmatch(stripped):
            raise ValueError(f"{shorten(text)} is not a mask like 00000000,0000ffff")
        mask = 0
        for word in stripped.removeprefix("0x").split(","):
            mask = mask << 32 | int(word, 16)
        if mask.bit_length() > MAX_ID + 1:
            raise ValueError(f"{shorten(text)} is out of range: ids run from 0 to {MAX_ID}")
        return cls(mask)

    def __str__(self) -> str:
        """The kernel's list format (`%*pbl`): `0-3,8`; the empty set is the empty text."""
        parts = []
        rest, base = self.mask, 0
        while rest:
            gap = (rest & -rest).bit_length() - 1
            rest >>= gap
            run = (~rest & (rest + 1)).bit_length() - 1
            first = base + gap
            parts.append(f"{first}-{first + run - 1}" if run > 1 else f"{first}")
            rest >>= run
            base = first + run
        return ",".join(parts)

    def format_mask(self, bits: int) -> str:
        """The kernel's mask format (`%*pb`) for a mask of `bits` bits: its first word is as short as `bits` allow."""
        words = []
        for low in range(0, bits, 32):
            width = min(32, bits - low)
            words.append(f"{self.mask >> low & (1 << width) - 1:0{(width + 3) // 4}x}")
        return ",".join(reversed(words))

    def __iter__(self) -> Iterator[int]:
        rest = self.mask
        while rest:
            low = rest & -rest
            yield low.bit_length() - 1
            rest ^= low

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __eq__(self, other: object) -> bool:
        # Ten times faster than what all values share: the keeper compares hundreds of sets a second.
        return self.mask == other.mask if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.mask)

    def __contains__(self, member: int | None) -> bool:
        return member is not None and bool(self.mask >> member & 1)

    def __and__(self, other: Self) -> Self:
        return type(self)(self.mask & other.mask)

    def __or__(self, other: Self) -> Self:
        return type(self)(self.mask | other.mask)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.mask & ~other.mask)

    def __le__(self, other: Self) -> bool:
        return not self.mask & ~other.mask

    def __lt__(self, other: Self) -> bool:
        return self <= other and self.mask != other.mask


class CpuSet(IdSet):
    """A set of logical CPUs."""

    __slots__ = ()

    @property
    def label(self) -> str:
        """How messages call it: `CPU 3`, `CPUs 0-15`, `no CPU`."""
        return f"{'CPU' if len(self) == 1 else 'CPUs'} {self}" if self else "no CPU"


class NodeSet(IdSet):
    """A set of NUMA nodes."""

    __slots__ = ()


@value
class PciAddress:
    """A PCI function. Domains may have more than four digits (Azure, VMD), as sysfs prints them (`%04x`)."""

    domain: int
    bus: int
    device: int
    function: int

    @classmethod
    def parse(cls, text: str) -> PciAddress:
        """Read `0000:3b:00.0`, also as NVML (`00000000:3B:00.0`) and NCCL write it; raises ValueError otherwise."""
        found = _PCI.fullmatch(text.strip())
        if not found:
            raise ValueError(f"{shorten(text)} is not a PCI address like 0000:3b:00.0")
        domain, bus, device, function = (int(group, 16) for group in found.groups())
        return cls(domain, bus, device, function)

    def __lt__(self, other: PciAddress) -> bool:
        return self.key < other.key

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What addresses are ordered by."""
        return (self.domain, self.bus, self.device, self.function)

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function}"


def printable(text: str) -> str:
    """The text on one line: what is not printable as an escape, so that no name can forge a line of a log."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shorten(text: str, limit: int = 60) -> str:
    """Foreign text, quoted for a message: one line, printable, at most `limit` characters of it."""
    quoted = repr(text[:limit])
    return f"{quoted[:-1]}…{quoted[-1]}" if len(text) > limit else quoted
