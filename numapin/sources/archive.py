"""A captured machine in a tar archive, of any compression that Python reads."""

import stat
import tarfile
import zlib
from lzma import LZMAError

from numapin.errors import UsageError
from numapin.sources.captured import CapturedRoot
from numapin.sources.root import MOST_BYTES, parts
from numapin.values import field, value

MOST_MEMBERS = 1_000_000
MOST_EXPANDED = 1 << 30
"""Bytes that an archive may hold: reading on is what a decompression bomb wants."""


@value
class Members:
    """What an archive holds, by place: contents of files, targets of links, modes of all but links."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Add one member; of a file at most `MOST_BYTES` + 1 bytes, so that a reader sees that it is too long."""
        place = _place(member.name)
        if member.issym():
            self.links[place] = member.linkname
            return
        original = _place(member.linkname) if member.islnk() else ""
        if original in self.files:
            self.files[place] = self.files[original]
        elif member.isreg():
            stream = archive.extractfile(member)
            self.files[place] = stream.read(MOST_BYTES + 1) if stream else b""
        # Device nodes are there to exist: nobody reads them.
        self.modes[place] = member.mode | (stat.S_IFDIR if member.isdir() else stat.S_IFREG)

    def below(self, top: str) -> "Members":
        """The members below a folder, by their place in it; `top` ends with a slash or is empty."""
        cut = len(top)
        return Members(
            {place[cut:]: content for place, content in self.files.items() if place.startswith(top)},
            {place[cut:]: target for place, target in self.links.items() if place.startswith(top)},
            {place[cut:]: mode for place, mode in self.modes.items() if place.startswith(top)},
        )


class ArchiveRoot(CapturedRoot):
    """The members of an archive as a machine."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._children: dict[str, set[str]] = {"": set()}
        for place in (*members.modes, *members.links):
            self._add(place)

    def _add(self, place: str) -> None:
        while place:
            parent, _, name = place.rpartition("/")
            known = self._children.setdefault(parent, set())
            if name in known:
                return
            known.add(name)
            place = parent

    def _link(self, place: str) -> str | None:
        return self._members.links.get(place)

    def _bytes(self, place: str) -> bytes | None:
        return self._members.files.get(place)

    def _names(self, place: str) -> list[str]:
        return list(self._children.get(place, ()))

    def _mode(self, place: str) -> int | None:
        return self._members.modes.get(place, stat.S_IFDIR | 0o755 if place in self._children else None)


def open_archive(path: str) -> ArchiveRoot:
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
                members.take(archive, member)
    except (tarfile.TarError, EOFError, OSError, LZMAError, zlib.error) as error:
        raise UsageError(f"--root {path} is neither a directory nor a readable tar archive: {error}") from None
    return ArchiveRoot(members.below(_machine(path, {*members.modes, *members.links})))


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
