"""A process as the kernel shows it: the stand-in for a server prints its own /proc files, and these read them."""

from dataclasses import dataclass

# tail(1) puts a header before each file, and is no interpreter that changes signals or variables before it looks.
_FILES = ("status", "environ", "cmdline", "numa_maps", "limits", "oom_score_adj")
SNAPSHOT = ("/usr/bin/tail", "-n", "+1", *(f"/proc/self/{name}" for name in _FILES))
_HEADER = "==> /proc/self/"

# What differs from one container to the next, and what Linux itself counts up.
_PASSING = {"VmPeak", "VmSize", "VmLck", "VmPin", "VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmData", "VmStk"}
_PASSING |= {"VmExe", "VmLib", "VmPTE", "VmSwap", "HugetlbPages", "voluntary_ctxt_switches", "Seccomp_filters"}
_PASSING |= {"nonvoluntary_ctxt_switches", "Mems_allowed", "x86_Thread_features", "SigQ"}


@dataclass(frozen=True)
class Process:
    """What SNAPSHOT printed, taken apart."""

    status: dict[str, str]
    environment: dict[str, str]
    arguments: tuple[str, ...]
    policies: frozenset[str]
    """The memory policies of all its mappings, as numa_maps(5) writes them."""
    limits: str
    oom_score_adj: str

    @property
    def lasting(self) -> dict[str, str]:
        """Of the status, what one start of the same server has in common with the next."""
        return {name: value for name, value in self.status.items() if name not in _PASSING}


def parse(text: str) -> Process:
    """The process that printed text; lines of others may stand before it."""
    _, *parts = f"\n{text}".split(f"\n{_HEADER}")
    files = dict(part.split(" <==\n", 1) for part in parts)
    return Process(
        status=dict(_pair(line, ":") for line in files["status"].splitlines() if line),
        environment=dict(_pair(variable, "=") for variable in files["environ"].split("\0") if variable.strip()),
        arguments=tuple(files["cmdline"].rstrip("\n").split("\0")[:-1]),
        policies=frozenset(line.split()[1] for line in files["numa_maps"].splitlines() if line),
        limits=files["limits"],
        oom_score_adj=files["oom_score_adj"].strip(),
    )


def _pair(text: str, separator: str) -> tuple[str, str]:
    name, _, value = text.partition(separator)
    return name, value.strip() if separator == ":" else value
