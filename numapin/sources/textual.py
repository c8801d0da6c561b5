r"""The one-file form of a captured machine: text that a person can review, compare and attach to a bug report.

    numapin capture 1
    file sys/devices/system/node/online
    >   0-1
    only proc/irq/100/smp_affinity_list     (a file whose mode lets nobody write)
    >   0-15
    link sys/class/net/eth0 ../../devices/pci0000:5d/0000:5d:00.0/net/eth0
    names proc/driver/nvidia/gpus 0000:3b:00.0 0000:9b:00.0
    dir sys/fs/cgroup

Each line of content begins with one tab (shown as > here); a backslash, a NUL and a carriage return in it are written
`\\`, `\0` and `\r`.
"""

import stat
from collections.abc import Iterator, Mapping

from numapin.errors import UsageError
from numapin.sources.memory import Members, MemoryRoot

FIRST_LINE = "numapin capture 1"
ESCAPES = str.maketrans({"\\": "\\\\", "\0": "\\0", "\r": "\\r"})


def format_capture(members: Members, listings: Mapping[str, list[str]]) -> str:
    """The text of a capture, in the order of its paths."""
    records = dict(_records(members, listings))
    return "\n".join([FIRST_LINE, *(records[key] for key in sorted(records))]) + "\n"


def _records(members: Members, listings: Mapping[str, list[str]]) -> Iterator[tuple[tuple[str, str], str]]:
    for place, target in members.links.items():
        yield (place, "link"), f"link {place} {target}"
    for place, mode in members.modes.items():
        content = members.files.get(place)
        if stat.S_ISREG(mode):
            kind = "file" if mode & stat.S_IWUSR else "only"
            text = (content or b"").decode("utf-8", "backslashreplace").rstrip("\n").translate(ESCAPES)
            lines = [f"\t{line}" for line in text.split("\n")] if text else []
            yield (place, "file"), "\n".join([f"{kind} {place}", *lines])
        elif stat.S_ISDIR(mode) and place not in listings:
            yield (place, "dir"), f"dir {place}"
    for place, names in listings.items():
        yield (place, "names"), f"names {place} {' '.join(sorted(names))}"


def parse_capture(path: str, text: str) -> MemoryRoot:
    """The machine that a text capture holds. Raises UsageError, with the line, where the text is no such capture."""
    members = Members()
    lines = text.split("\n")
    if lines[0] != FIRST_LINE:
        raise UsageError(f"--root {path} is not a capture: its first line is not {FIRST_LINE!r}")
    place = ""
    for number, line in enumerate(lines[1:], start=2):
        if line.startswith("\t") and place:
            members.files[place] += _unescape(line[1:]).encode() + b"\n"
        elif line:
            place = _begin(members, line)
            if not place:
                raise UsageError(f"--root {path} cannot be understood: line {number} is {line[:60]!r}")
    return MemoryRoot(members)


def _begin(members: Members, line: str) -> str:
    """Take the first line of a record; its place, or nothing where the line is no record."""
    kind, _, rest = line.partition(" ")
    place, _, more = rest.partition(" ")
    if kind == "link" and more:
        members.links[place] = more
    elif kind in ("file", "only"):
        members.files[place] = b""
        members.modes[place] = stat.S_IFREG | (0o644 if kind == "file" else 0o444)
    elif kind == "names":
        for name in more.split(" "):
            members.modes.setdefault(f"{place}/{name}", stat.S_IFREG)
    elif kind == "dir":
        members.modes.setdefault(place, stat.S_IFDIR | 0o755)
    else:
        return ""
    return place


def _unescape(text: str) -> str:
    parts = text.split("\\\\")
    return "\\".join(part.replace("\\0", "\0").replace("\\r", "\r") for part in parts)
