"""This process: /proc/self/{status,limits,uid_map,mountinfo} (proc_pid_status(5), credentials(7))."""

import re
from collections.abc import Mapping

from numapin.assignment import Permissions
from numapin.ids import CpuSet, NodeSet
from numapin.sources.parsing import fields, read
from numapin.sources.root import Root
from numapin.values import value

_RTPRIO = re.compile(r"^Max realtime priority\s+(\d{1,9}|unlimited)", re.ASCII | re.MULTILINE)


@value
class Status:
    """What /proc/self/status says; None where it does not."""

    affinity: CpuSet | None
    """Cpus_allowed_list: the thread's affinity mask, not the cpuset."""
    mems: NodeSet | None
    """Mems_allowed_list: the cpuset's nodes, whatever the memory policy is."""
    values: dict[str, str]


def read_status(root: Root, process: str = "self") -> Status:
    """/proc/<process>/status."""
    path = f"/proc/{process}/status"
    status = read(root, path, _status)
    return status or Status(None, None, {})


def _status(text: str) -> Status:
    values = fields(text)
    cpus, mems = values.get("Cpus_allowed_list"), values.get("Mems_allowed_list")
    return Status(
        None if cpus is None else CpuSet.parse(cpus),
        None if mems is None else NodeSet.parse(mems),
        values,
    )


def read_permissions(root: Root, status: Status) -> Permissions:
    """What this process may do, as far as it can be told without trying."""
    values = status.values
    return Permissions(
        uid=effective_uid(values),
        cap_effective=_capabilities(values.get("CapEff", "")),
        cap_bounding=_capabilities(values.get("CapBnd", "")),
        seccomp_filter=values.get("Seccomp") == "2",
        no_new_privs=values.get("NoNewPrivs") == "1",
        user_namespace=_is_mapped(root.read("/proc/self/uid_map")),
        rtprio_limit=_rtprio(root.read("/proc/self/limits") or ""),
        proc_irq_read_only=_is_read_only(root.read("/proc/self/mountinfo") or "", "/proc/irq"),
    )


def effective_uid(values: Mapping[str, str]) -> int | None:
    """The second number of the line `Uid:`."""
    found = re.fullmatch(r"\d{1,10}\s+(\d{1,10})\s.*", values.get("Uid", ""), re.ASCII)
    return int(found[1]) if found else None


def _capabilities(text: str) -> int:
    return int(text, 16) if re.fullmatch(r"[0-9a-f]{1,16}", text, re.ASCII) else 0


def _is_mapped(text: str | None) -> bool:
    """A user namespace whose map is not the identity (user_namespaces(7)): `0 0 4294967295` is the first one's."""
    return text is not None and text.split() not in ([], ["0", "0", "4294967295"])


def _rtprio(text: str) -> int:
    found = _RTPRIO.search(text)
    return 0 if not found else 99 if found[1] == "unlimited" else min(int(found[1]), 99)


def _is_read_only(mountinfo: str, path: str) -> bool:
    """Whether the mount that a path lies on is read-only: the last one in the table whose point leads to it."""
    options = ""
    length = -1
    for line in mountinfo.splitlines():
        words = line.split(" ")
        if (
            len(words) > 5
            and (path == words[4] or path.startswith(words[4].rstrip("/") + "/"))
            and len(words[4]) >= length
        ):
            options, length = words[5], len(words[4])
    return "ro" in options.split(",")
