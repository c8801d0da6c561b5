"""This machine as another process sees it: what is said of `self` is said of that process; its mounts are its own."""

from numapin.sources.root import LiveRoot

_MOUNTED = ("/dev", "/sys/fs/cgroup")
"""What is mounted for each container anew."""


class AnotherProcess(LiveRoot):
    """The live root with /proc/self, /dev and cgroups of the process `pid`; the rest, above all /sys, is ours.

    Its mountinfo, which says where its cgroups are, is true in its own mount namespace alone. To look there needs the
    right to look into the process (ptrace(2), PTRACE_MODE_READ): the same user's, or CAP_SYS_PTRACE.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def _place(self, path: str) -> str:
        if path.startswith("/proc/self/"):
            return f"/proc/{self._pid}/{path.removeprefix('/proc/self/')}"
        inside = any(path == place or path.startswith(f"{place}/") for place in _MOUNTED)
        return f"/proc/{self._pid}/root{path}" if inside else path

    def read(self, path: str) -> str | None:
        """See Root."""
        return super().read(self._place(path))

    def names(self, path: str) -> list[str]:
        """See Root."""
        return super().names(self._place(path))

    def resolve(self, path: str) -> str | None:
        """See Root."""
        return super().resolve(self._place(path))

    def writable(self, path: str) -> bool | None:
        """See Root."""
        return super().writable(self._place(path))
