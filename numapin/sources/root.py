"""Where readers read: the root of this machine, or of a captured one.

Paths are written as on the machine (`/sys/...`). A missing or unreadable file is None: unknown, never a default.
"""

import os
import stat
from typing import Protocol

from numapin.errors import CannotRead

MOST_BYTES = 1 << 20
"""No file that is read here is longer; one that is, is hostile or broken."""

LONGER = {"environ": 8 << 20, "unix": 64 << 20, "mountinfo": 64 << 20, "numa_maps": 64 << 20}
"""But for these: an environment may come to 2 MiB and more, and sockets, mounts and mappings have no bound."""


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
        except (OSError, ValueError):
            return []

    def resolve(self, path: str) -> str | None:
        """See Root."""
        try:
            return os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            return None

    def writable(self, path: str) -> bool | None:
        """See Root."""
        try:
            return bool(os.stat(path).st_mode & stat.S_IWUSR)
        except (OSError, ValueError):
            return None


def most_bytes(path: str) -> int:
    """As many bytes a file of this name may have."""
    return LONGER.get(path.rpartition("/")[2], MOST_BYTES)


def read_descriptor(path: str) -> bytes | None:
    """At most `most_bytes` + 1 bytes of a file; None where it cannot be opened or read."""
    most = most_bytes(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        chunks, size = [], 0
        while size <= most and (chunk := os.read(descriptor, 1 << 16)):
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)[: most + 1]
    except OSError:
        # sysfs answers EINVAL, EIO, ENODEV or EAGAIN where a driver or a device has nothing to say.
        return None
    finally:
        os.close(descriptor)


def decode(path: str, content: bytes | None) -> str | None:
    """Text of a file's bytes; bytes that are no text stay visible as escapes, for the message that quotes them."""
    if content is None:
        return None
    most = most_bytes(path)
    if len(content) > most:
        raise CannotRead(f"{path} is longer than {most >> 20} MiB: no file of the kernel that numapin reads is")
    # Some captures end their files with a NUL after the line feed.
    return content.decode("utf-8", "backslashreplace").strip(" \t\r\n\0")


def parts(path: str) -> list[str]:
    """The components of a path that lead somewhere."""
    return [part for part in path.split("/") if part not in ("", ".")]
