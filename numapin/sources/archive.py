"""A captured machine in a tar archive, of any compression that Python reads.

Archives come by mail: every size in them may be a lie. What is decompressed is counted as it is read.
"""

import importlib
import stat
import tarfile
import zlib
from collections.abc import Callable
from lzma import LZMAError
from typing import IO, Any, cast

from numapin.errors import UsageError
from numapin.sources.memory import Members, MemoryRoot
from numapin.sources.root import MOST_BYTES, parts

MOST_MEMBERS = 200_000
MOST_EXPANDED = 256 << 20
"""Bytes that an archive may expand to; the largest captured hosts come to a tenth of it."""
MOST_NAME = 4096
"""PATH_MAX: no name and no link of a real tree is longer."""

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma", b"\x5d\0\0": "lzma"}
"""The module for each way in which a compressed file begins."""

DAMAGED = (tarfile.TarError, EOFError, OSError, LZMAError, zlib.error, ValueError, OverflowError, MemoryError)
"""What tarfile and the decompressors raise at an archive that is damaged, or lies about its sizes."""


class Counted:
    """A decompressed stream that ends in an error where an archive wants to be larger than any machine."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = MOST_EXPANDED

    def read(self, size: int) -> bytes:
        """At most `size` bytes."""
        content = self._stream.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise tarfile.ReadError(f"it expands beyond {MOST_EXPANDED >> 20} MiB, as no machine does")
        return content


def open_archive(path: str) -> MemoryRoot:
    """Read an archive whole into memory.

    Raises UsageError where it is no archive, is damaged, expands beyond `MOST_EXPANDED` or holds no machine.
    """
    members = Members()
    try:
        with (
            _decompressor(path)(path, "rb") as stream,
            tarfile.open(fileobj=cast("Any", Counted(stream)), mode="r|") as archive,
        ):
            for count, member in enumerate(archive):
                _check(member, count)
                _take(members, archive, member)
    except DAMAGED as error:
        why = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
        raise UsageError(f"--root {path} is neither a directory nor a readable tar archive: {why}") from None
    return MemoryRoot(members.below(_machine(path, {*members.modes, *members.links})))


def _decompressor(path: str) -> Callable[..., Any]:
    """What opens the file, by its first bytes: decompressors that try their luck read a file of zeros to its end."""
    with open(path, "rb") as file:
        head = file.read(512)
    for magic, module in COMPRESSIONS.items():
        if head.startswith(magic):
            opener: Callable[..., Any] = importlib.import_module(module).open
            return opener
    if head[257:262] != b"ustar":
        raise tarfile.ReadError("it does not begin like one")
    return open


def _check(member: tarfile.TarInfo, count: int) -> None:
    if count > MOST_MEMBERS:
        raise tarfile.ReadError(f"it holds more than {MOST_MEMBERS} files, as no machine does")
    if member.size < 0 or max(len(member.name), len(member.linkname)) > MOST_NAME:
        raise tarfile.ReadError("a size or a name in it is out of range")


def _take(members: Members, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    """Add one member; of a file at most `MOST_BYTES` + 1 bytes, so that a reader sees that it is too long."""
    place = _place(member.name)
    members.links.pop(place, None)
    if member.issym():
        members.links[place] = member.linkname
        return
    original = _place(member.linkname) if member.islnk() else ""
    if original in members.files:
        members.files[place] = members.files[original]
    elif member.isreg():
        stream = archive.extractfile(member)
        members.files[place] = stream.read(MOST_BYTES + 1) if stream else b""
    # Device nodes are there to exist: nobody reads them.
    members.modes[place] = member.mode | (stat.S_IFDIR if member.isdir() else stat.S_IFREG)


def _place(name: str) -> str:
    return "/".join(part for part in parts(name) if part != "..")


def _machine(path: str, places: set[str]) -> str:
    """The prefix, with its slash, under which the archive holds sys/ or proc/: none, or its only folder."""
    tops = {place.partition("/")[0] for place in places}
    if {"sys", "proc"} & tops:
        return ""
    if len(tops) == 1:
        (top,) = tops
        if any(place.startswith((f"{top}/sys", f"{top}/proc")) for place in places):
            return f"{top}/"
    raise UsageError(f"--root {path} is not a machine: it holds neither sys/ nor proc/")
