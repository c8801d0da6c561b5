"""Other processes of the pod, where it shares one process namespace (shareProcessNamespace)."""

import os

from numapin.assignment import Note, PodProcess
from numapin.errors import CannotRead
from numapin.sources.process import read_status
from numapin.sources.root import Root

IDLE = ("pause",)
"""The sandbox's own process holds namespaces open and does nothing; it is never pinned."""


def read_pod(root: Root) -> tuple[tuple[PodProcess, ...], tuple[Note, ...]]:
    """Every other process in sight with its allowed CPUs; none, and a note, in the host's own process namespace.

    Raises CannotRead where psutil cannot be imported: silence would look like a pod that is aligned.
    """
    if _name(root, "2") == "kthreadd":
        message = (
            "--scope pod cannot be judged: this is the host's process namespace, which shows every pod's processes"
        )
        return (), (Note("POD_HIDDEN", "pod", message, warns=False),)
    found = []
    for pid in _pids(root):
        status = read_status(root, str(pid))
        name = status.values.get("Name", "")
        if status.affinity and name not in IDLE:
            found.append(PodProcess(pid, name, status.affinity))
    return tuple(found), ()


def _pids(root: Root) -> list[int]:
    own = str(os.getpid()) if root.is_live else (root.resolve("/proc/self") or "").rpartition("/")[2]
    if not root.is_live:
        return sorted(int(name) for name in root.names("/proc") if name.isascii() and name.isdecimal() and name != own)
    try:
        import psutil  # noqa: PLC0415 -- 15 ms, and only --scope pod needs it
    except ImportError as error:
        raise CannotRead(f"--scope pod needs psutil, which cannot be imported: {error}") from None
    return [pid for pid in psutil.pids() if str(pid) != own]


def _name(root: Root, process: str) -> str:
    return root.read(f"/proc/{process}/comm") or ""
