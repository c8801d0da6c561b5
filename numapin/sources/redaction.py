"""What must not leave the machine with a capture, and what stands there instead.

Only a short list of variables goes along, of the files with a process's or a host's story only the lines that readers
use, and identifiers of hardware, containers and pods are replaced, each by the same stand-in wherever it occurs.
"""

import re
from collections.abc import Callable, Iterator

from numapin.sources.environment import BINDERS

VARIABLES = re.compile(
    r"(CUDA|NVIDIA|ROCR|HIP)_VISIBLE_DEVICES|PCIDEVICE_[\w./-]+|NCCL_TOPO_FILE|OPENSHIFT_HOUSEKEEPING_CPUS"
    r"|NUMAPIN_(?!TERMINATION_LOG)\w+|KUBERNETES_SERVICE_HOST|" + "|".join(BINDERS)
)
STATUS = ("Uid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Cpus_allowed_list", "Mems_allowed_list")
INFORMATION = ("Model", "GPU UUID", "Bus Location", "Device Minor")
MOUNTS = ("/", "/proc", "/proc/irq")

HARDWARE = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{1,8}(?:-[0-9a-fA-F]{4,12}){0,4}")
IDENTIFIERS = re.compile(r"[0-9a-f]{64}|[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32}")
ADDRESSES = re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b|\b(?!(?:0|127)\.)\d{1,3}(?:\.\d{1,3}){3}\b", re.IGNORECASE)
STAND_INS = re.compile(r"(GPU|MIG)-0[0-9a-f]{7}(-0000-4000-8000-0{12})?(?![0-9a-f-])|[0_-]{32,64}|192\.0\.2\.1")


class Redaction:
    """One capture's stand-ins: the first GPU is always GPU-00000000, whichever it is."""

    def __init__(self) -> None:
        self.replaced: dict[str, str] = {}

    def path(self, place: str) -> str:
        """A path without the identifiers of containers and pods in it."""
        return IDENTIFIERS.sub(self._identifier, place)

    def text(self, place: str, text: str) -> str:
        """A file's text as it may leave the machine."""
        kept = next((keep(text) for pattern, keep in FILES if re.fullmatch(pattern, place)), text)
        kept = HARDWARE.sub(self._hardware, kept)
        return ADDRESSES.sub("192.0.2.1", IDENTIFIERS.sub(self._identifier, kept))

    def _hardware(self, found: re.Match[str]) -> str:
        """A stand-in for each UUID; for the beginning of one a whole stand-in, whose beginnings are all alike."""
        whole = [known for known in self.replaced if known.startswith(found[0])]
        if len(whole) == 1:
            return self.replaced[whole[0]]
        number = sum(known.startswith(found[1]) for known in self.replaced)
        return self.replaced.setdefault(found[0], f"{found[1]}-{number:08x}-0000-4000-8000-000000000000")

    def _identifier(self, found: re.Match[str]) -> str:
        if set(found[0]) <= set("0-_") or "-0000-4000-8000-0000" in found[0]:
            return found[0]
        if found[0] not in self.replaced:
            self.replaced[found[0]] = re.sub(r"[0-9a-f]", "0", found[0])
        return self.replaced[found[0]]


def leaks(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Lines, by number, of a capture that look like something that should have been replaced, and what."""
    kinds = (("a hardware identifier", HARDWARE), ("an identifier", IDENTIFIERS), ("a network address", ADDRESSES))
    for number, line in enumerate(lines, start=1):
        foreign = STAND_INS.sub("", line)
        why = next((why for why, pattern in kinds if pattern.search(foreign)), None)
        if why:
            yield number, why, line


def _variables(text: str) -> str:
    entries = (entry for entry in text.split("\0") if VARIABLES.fullmatch(entry.partition("=")[0]))
    return "\0".join("KUBERNETES_SERVICE_HOST=redacted" if one.startswith("KUBERNETES") else one for one in entries)


def _lines(keys: tuple[str, ...]) -> Callable[[str], str]:
    """Keep the lines that begin with one of the keys."""
    return lambda text: "\n".join(
        line for line in text.splitlines() if line.startswith(tuple(f"{key}:" for key in keys))
    )


def _mounts(text: str) -> str:
    """Control groups and what lies over /proc/irq; other mounts tell of volumes and images."""
    kept = []
    for line in text.splitlines():
        words = line.partition(" - ")[0].split(" ")
        kind = line.partition(" - ")[2].partition(" ")[0]
        if kind in ("cgroup", "cgroup2") or (len(words) > 5 and words[4] in MOUNTS):
            top = words[3] if kind.startswith("cgroup") else "/"
            options = line.split(" ")[-1] if kind == "cgroup" else "rw"
            kept.append(
                f"{words[0]} {words[1]} {words[2]} {top} {words[4]} {words[5]} - {kind} none {' '.join(options)}"
            )
    return "\n".join(kept)


def _words(pattern: str) -> Callable[[str], str]:
    """Keep what a pattern finds, and nothing else."""
    return lambda text: " ".join(found[0] for found in re.finditer(pattern, text))


FILES: tuple[tuple[str, Callable[[str], str]], ...] = (
    (r"proc/\w+/environ", _variables),
    (r"proc/\w+/status", _lines(STATUS)),
    (r"proc/\w+/mountinfo", _mounts),
    (r"proc/driver/nvidia/gpus/[^/]+/information", _lines(INFORMATION)),
    (r"proc/cmdline", _words(r"\bagent\.log\S*|systemd\.unit=kata\S*")),
    (r"proc/version", _words(r"^Linux version \d+\.\d+|Sun Jan 10 15:06:54 PST 2016|gvisor")),
    (r"proc/net/unix", _words(r"@irqbalance\d+\.sock")),
)
"""What is kept of the files that hold more than readers need."""

LISTINGS = {
    "dev": re.compile(r"nvidia\w*|dxg|accel|dri|infiniband"),
    "proc": re.compile(r"(?!)"),
    "run": re.compile(r"(?!)"),
}
"""What is kept of directories that hold more than readers need."""
