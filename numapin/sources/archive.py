"""A captured machine in a tar archive, of any compression that Python reads."""

import stat
import tarfile
import zlib
from lzma import LZMAError

from numapin.errors import UsageError
from numapin.sources.memory import Members, MemoryRoot
from numapin.sources.root import MOST_BYTES, parts

MOST_MEMBERS = 1_000_000
MOST_EXPANDED = 1 << 30
"""Bytes that an archive may hold: reading on is what a decompression bomb wants."""


def open_archive(path: str) -> MemoryRoot:
    """Read an archive whole into memory.

    Raises UsageError where it is no archive, is damaged, expands beyond `MOST_EXPANDED` or holds no machine.
    """
    members = Members()
    expanded = 0
    try:
        with tarfile.open(path) as archive:
            for count, member in enumerate(archive):
                expanded += member.size
                if count > MOST_MEMBERS or expanded > MOST_EXPANDED:
                    raise UsageError(f"--root {path} expands beyond {MOST_EXPANDED >> 30} GiB: no machine does")
                _take(members, archive, member)
    except (tarfile.TarError, EOFError, OSError, LZMAError, zlib.error) as error:
        why = str(error).partition("\n")[0].rstrip(":")
        raise UsageError(f"--root {path} is neither a directory nor a readable tar archive: {why}") from None
    return MemoryRoot(members.below(_machine(path, {*members.modes, *members.links})))


def _take(members: Members, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    """Add one member; of a file at most `MOST_BYTES` + 1 bytes, so that a reader sees that it is too long."""
    place = _place(member.name)
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
