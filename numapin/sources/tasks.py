"""Processes and threads as /proc shows them (proc(5)). What ended meanwhile is None, or empty: it happens often.

`proc` is where procfs is mounted; a captured machine has no running server.
"""

import os
import re
from collections.abc import Iterable

from numapin.sources.environment import parse_environment
from numapin.sources.root import read_descriptor
from numapin.tree import MOST_TITLE

_STAT = re.compile(r"\d+ \(.*\) [A-Za-z] (\d+)(?: \S+){17} (\d+) ", re.ASCII | re.DOTALL)
"""Parent and start time of /proc/<pid>/stat: the name between the brackets may hold blanks and brackets itself."""


def processes(proc: str) -> list[str]:
    """The names in /proc, in the kernel's order; those that are `numbers` are processes."""
    return _names(proc)


def threads(proc: str, pid: int) -> list[str]:
    """The threads of a process, in the kernel's order."""
    return _names(f"{proc}/{pid}/task")


def last_id(proc: str) -> str | None:
    """The last id that was given to a process or thread of this process namespace: while it is the same, nobody is new.

    /proc/sys/kernel/ns_last_pid, where CONFIG_CHECKPOINT_RESTORE has it. /proc/loadavg ends with the same number, but
    lxcfs puts one of its own over that.
    """
    return _text(f"{proc}/sys/kernel/ns_last_pid")


def numbers(names: Iterable[str]) -> set[int]:
    """The ids among names."""
    return {int(name) for name in names if name.isdecimal()}


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def parent_and_start(proc: str, pid: int) -> tuple[int, int] | None:
    """Parent process id, and start time in clock ticks since boot, which tells a process from a later one of its id."""
    found = _STAT.match(_text(f"{proc}/{pid}/stat") or "")
    return (int(found[1]), int(found[2])) if found else None


def thread_name(proc: str, pid: int, tid: int) -> str | None:
    """comm: what prctl(PR_SET_NAME) or pthread_setname_np(3) set, or was inherited."""
    content = _text(f"{proc}/{pid}/task/{tid}/comm")
    return None if content is None else content.rstrip("\n")


def title(proc: str, pid: int) -> str:
    """The command line with blanks between its words, `MOST_TITLE` characters of it; setproctitle(3) pads with NULs."""
    content = _text(f"{proc}/{pid}/cmdline") or ""
    return content[:MOST_TITLE].strip("\0").replace("\0", " ")


def variables(proc: str, pid: int, names: Iterable[str]) -> dict[str, str]:
    """Some variables of a process's initial environment; none where it is another user's."""
    found = parse_environment(_text(f"{proc}/{pid}/environ") or "")
    return {name: found[name] for name in names if name in found}


def open_files(proc: str, pid: int, among: Iterable[str]) -> frozenset[str] | None:
    """Those of these paths that a process holds open; None where its descriptors cannot be seen (proc_pid_fd(5))."""
    folder, wanted = f"{proc}/{pid}/fd", set(among)
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    found = set()
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target in wanted:
            found.add(target)
    return frozenset(found)


def memory_policy(proc: str, pid: int, tid: int) -> str | None:
    """The policy of a thread, from the first line of numa_maps(5): `bind=static:0`; None where it is hidden.

    One short read: the kernel looks at the first mapping only, not at those of hundreds of GiB.
    """
    try:
        with open(f"{proc}/{pid}/task/{tid}/numa_maps", "rb", buffering=0) as file:
            words = file.read(256).decode("ascii", "replace").split(" ")
    except OSError:
        return None
    if len(words) < 2:
        return None
    # `7f… prefer (many):0 file=…`: one policy is two words.
    return " ".join(words[1:3]) if words[2:3] and words[2].startswith("(") else words[1].strip()


def _text(path: str) -> str | None:
    content = read_descriptor(path)
    return None if content is None else content.decode("utf-8", "backslashreplace")
