"""Where readers read: this machine, or a captured one in a directory or an archive.

Paths are written as on the machine (`/sys/...`). A missing or unreadable file is None: unknown, never a default.
In a captured machine links are followed as chroot(2) would, so that an absolute link cannot read this machine.
"""

import os
import stat
from typing import Protocol

from numapin.errors import CannotRead, UsageError

MOST_BYTES = 1 << 20
"""No file that is read here is longer; one that is, is hostile or broken."""

MOST_LINKS = 40
"""As many links are followed in one path, like the kernel's MAXSYMLINKS."""


class Root(Protocol):
    """A file tree to read a machine from."""

    is_live: bool
    """This machine's own `/`."""

    def read(self, path: str) -> str | None:
        """The text of a file, without surrounding white space; None where it cannot be read.

        Raises CannotRead where the file is longer than `MOST_BYTES`.
        """
        ...

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; empty where it cannot be read."""
        ...

    def resolve(self, path: str) -> str | None:
        """The path with all links followed; None where it leads nowhere."""
        ...

    def writable(self, path: str) -> bool | None:
        """Whether the file's mode lets its owner write; None where there is no such file."""
        ...


class LiveRoot:
    """This machine."""

    is_live = True

    def read(self, path: str) -> str | None:
        """See Root. Reads with one open and plain reads: sizes that stat(2) tells are wrong in /proc and /sys."""
        return decode(path, read_descriptor(path))

    def names(self, path: str) -> list[str]:
        """See Root."""
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def resolve(self, path: str) -> str | None:
        """See Root."""
        try:
            return os.path.realpath(path, strict=True)
        except OSError:
            return None

    def writable(self, path: str) -> bool | None:
        """See Root."""
        try:
            return bool(os.stat(path).st_mode & stat.S_IWUSR)
        except OSError:
            return None


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

    def _follow(self, path: str) -> str | None:
        """The place of a path, relative to the root, as chroot(2) would see it; None where links run in circles."""
        pending, done, hops = parts(path)[::-1], "", 0
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
        self._base = base

    def _path(self, place: str) -> str:
        return f"{self._base}/{place}"

    def _link(self, place: str) -> str | None:
        try:
            return os.readlink(self._path(place))
        except OSError:
            return None

    def _bytes(self, place: str) -> bytes | None:
        mode = self._mode(place)
        # A FIFO or a device in a capture would block or never end.
        return read_descriptor(self._path(place)) if mode is not None and stat.S_ISREG(mode) else None

    def _names(self, place: str) -> list[str]:
        try:
            return os.listdir(self._path(place))
        except OSError:
            return []

    def _mode(self, place: str) -> int | None:
        try:
            return os.lstat(self._path(place)).st_mode
        except (OSError, ValueError):
            return None


def open_root(text: str) -> Root:
    """The root that `--root` names: `/`, a directory, or a tar archive of any compression that Python reads.

    Raises UsageError where it is none of these, or holds no machine.
    """
    if os.path.realpath(text) == "/":
        return LiveRoot()
    if os.path.isdir(text):
        return DirectoryRoot(machine_directory(text))
    if not os.path.exists(text):
        raise UsageError(f"--root {text}: there is no such file or directory")
    from numapin.sources.archive import open_archive  # noqa: PLC0415 -- tarfile and its decompressors cost 15 ms

    return open_archive(text)


def machine_directory(base: str) -> str:
    """The directory that holds sys/ or proc/: the given one, or the only one in it."""
    try:
        names = os.listdir(base)
    except OSError as error:
        raise UsageError(f"--root {base}: {error.strerror}") from None
    if {"sys", "proc"} & set(names):
        return base
    if len(names) == 1 and {"sys", "proc"} & set(LiveRoot().names(f"{base}/{names[0]}")):
        return f"{base}/{names[0]}"
    raise UsageError(f"--root {base} is not a machine: it holds neither sys/ nor proc/")


def read_descriptor(path: str) -> bytes | None:
    """At most `MOST_BYTES` + 1 bytes of a file; None where it cannot be opened or read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        chunks, size = [], 0
        while size <= MOST_BYTES and (chunk := os.read(descriptor, 1 << 16)):
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)[: MOST_BYTES + 1]
    except OSError:
        # sysfs answers EINVAL, EIO, ENODEV or EAGAIN where a driver or a device has nothing to say.
        return None
    finally:
        os.close(descriptor)


def decode(path: str, content: bytes | None) -> str | None:
    """Text of a file's bytes; bytes that are no text stay visible as escapes, for the message that quotes them."""
    if content is None:
        return None
    if len(content) > MOST_BYTES:
        raise CannotRead(f"{path} is longer than {MOST_BYTES >> 20} MiB: no file of the kernel that numapin reads is")
    # Some captures end their files with a NUL after the line feed.
    return content.decode("utf-8", "backslashreplace").strip(" \t\r\n\0")


def parts(path: str) -> list[str]:
    """The components of a path that lead somewhere."""
    return [part for part in path.split("/") if part not in ("", ".")]
