"""A captured machine: links in it are followed as chroot(2) would, so that none of them can read this machine."""

import os
import stat

from numapin.sources.root import decode, parts, read_descriptor

MOST_LINKS = 40
"""As many links are followed in one path, like the kernel's MAXSYMLINKS."""


class CapturedRoot:
    """A captured machine: the link-following half; subclasses know one place where its files lie."""

    is_live = False

    def read(self, path: str) -> str | None:
        """See Root."""
        place = self._follow(path)
        return None if place is None else decode(path, self._bytes(place))

    def names(self, path: str) -> list[str]:
        """See Root."""
        place = self._follow(path)
        return [] if place is None else sorted(self._names(place))

    def resolve(self, path: str) -> str | None:
        """See Root."""
        place = self._follow(path)
        return f"/{place}" if place is not None and self._exists(place) else None

    def writable(self, path: str) -> bool | None:
        """See Root."""
        place = self._follow(path)
        mode = None if place is None else self._mode(place)
        return None if mode is None else bool(mode & stat.S_IWUSR)

    def __init__(self) -> None:
        self._places: dict[str, str | None] = {"": ""}

    def _follow(self, path: str) -> str | None:
        """The place of a path, relative to the root, as chroot(2) would see it; None where links run in circles.

        Directories are remembered: readers ask for many files of the same one.
        """
        above, _, name = path.rstrip("/").rpartition("/")
        if above not in self._places:
            self._places[above] = self._follow(above)
        start = self._places[above]
        return None if start is None else self._walk(start, name)

    def _walk(self, done: str, name: str) -> str | None:
        pending, hops = parts(name)[::-1], 0
        while pending:
            part = pending.pop()
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}" if done else part
            target = self._link(here)
            if target is None:
                done = here
                continue
            hops += 1
            if hops > MOST_LINKS:
                return None
            done = "" if target.startswith("/") else done
            pending.extend(reversed(parts(target)))
        return done

    def _link(self, place: str) -> str | None:
        raise NotImplementedError

    def _bytes(self, place: str) -> bytes | None:
        raise NotImplementedError

    def _names(self, place: str) -> list[str]:
        raise NotImplementedError

    def _mode(self, place: str) -> int | None:
        raise NotImplementedError

    def _exists(self, place: str) -> bool:
        return self._mode(place) is not None


class DirectoryRoot(CapturedRoot):
    """A captured machine in a directory."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self._base = base

    def _path(self, place: str) -> str:
        return f"{self._base}/{place}"

    def _link(self, place: str) -> str | None:
        try:
            return os.readlink(self._path(place))
        except (OSError, ValueError):
            return None

    def _bytes(self, place: str) -> bytes | None:
        mode = self._mode(place)
        # A FIFO or a device in a capture would block or never end.
        return read_descriptor(self._path(place)) if mode is not None and stat.S_ISREG(mode) else None

    def _names(self, place: str) -> list[str]:
        try:
            return os.listdir(self._path(place))
        except (OSError, ValueError):
            return []

    def _mode(self, place: str) -> int | None:
        try:
            return os.lstat(self._path(place)).st_mode
        except (OSError, ValueError):
            return None
