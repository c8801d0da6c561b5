"""What `--root` names: this machine, a directory, or an archive."""

import os

from numapin.errors import UsageError
from numapin.sources.captured import DirectoryRoot
from numapin.sources.root import LiveRoot, Root, read_descriptor
from numapin.sources.textual import FIRST_LINE, parse_capture

MOST_CAPTURE = 64 << 20


def open_root(text: str) -> Root:
    """The root that `--root` names: `/`, a directory, a text capture, or a tar archive that Python can read.

    Raises UsageError where it is none of these, or holds no machine.
    """
    if os.path.realpath(text) == "/":
        return LiveRoot()
    if os.path.isdir(text):
        return DirectoryRoot(machine_directory(text))
    if not os.path.exists(text):
        raise UsageError(f"--root {text}: there is no such file or directory")
    if not os.path.isfile(text):
        raise UsageError(f"--root {text} is neither a directory nor a readable tar archive: it is no plain file")
    if (read_descriptor(text) or b"").startswith(FIRST_LINE.encode()):
        return parse_capture(text, _whole(text))
    from numapin.sources.archive import open_archive  # noqa: PLC0415 -- tarfile and its decompressors cost 15 ms

    return open_archive(text)


def _whole(path: str) -> str:
    """The text of a capture. Raises UsageError where it is longer than any machine's."""
    if os.path.getsize(path) > MOST_CAPTURE:
        raise UsageError(f"--root {path} is longer than {MOST_CAPTURE >> 20} MiB: no capture is")
    with open(path, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        return file.read()


def machine_directory(base: str) -> str:
    """The directory that holds sys/ or proc/: the given one, or the only one in it."""
    try:
        names = os.listdir(base)
    except OSError as error:
        raise UsageError(f"--root {base}: {error.strerror}") from None
    if {"sys", "proc"} & set(names):
        return base
    below = f"{base}/{names[0]}" if len(names) == 1 else ""
    # A link would lead out of the capture: a directory with nothing but a link to / is not this machine.
    if below and not os.path.islink(below) and {"sys", "proc"} & set(LiveRoot().names(below)):
        return below
    raise UsageError(f"--root {base} is not a machine: it holds neither sys/ nor proc/")
