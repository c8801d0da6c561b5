"""What the kernel counts of a server: per thread, per node, per cgroup, per interrupt."""

import re
import time
from collections.abc import Iterable

from numapin.counters import Counts, TaskCounts
from numapin.ids import CpuSet
from numapin.server import Pages
from numapin.sources.cgroup import Cgroups
from numapin.sources.nodes import NODE
from numapin.sources.pages import read_cgroup_pages
from numapin.sources.parsing import fields
from numapin.sources.root import LiveRoot, Root
from numapin.tree import Tree

PROC = "/proc"
_MIGRATIONS = re.compile(r"^se\.nr_migrations\s*:\s*(\d{1,18})$", re.ASCII | re.MULTILINE)
_SCHEDSTAT = re.compile(r"(\d{1,18}) (\d{1,18}) \d+", re.ASCII)
_COUNT = re.compile(r"(\w{1,40}) (\d{1,18})", re.ASCII)


def read_counts(tree: Tree, root: Root, irqs: Iterable[int], nodes: Iterable[int], pages: Pages | None) -> Counts:
    """All counters of a server's threads and of its machine, as they stand now. `root` is the server's own."""
    live = LiveRoot()
    return Counts(
        seconds=time.monotonic(),
        tasks={thread.tid: _task(live, process.pid, thread.tid) for process in tree for thread in process.threads},
        numastat={node: _numastat(live.read(f"{NODE}/node{node}/numastat") or "") for node in nodes},
        cgroup=read_cgroup_pages(root, Cgroups(root)),
        pages=pages,
        interrupts={irq: counts for irq in irqs if (counts := read_interrupt_counts(live, irq))},
    )


def _task(root: Root, pid: int, tid: int) -> TaskCounts:
    """/proc/<pid>/task/<tid>/{status,schedstat,sched}; only the last, under CONFIG_SCHED_DEBUG, tells migrations."""
    place = f"{PROC}/{pid}/task/{tid}"
    status = fields(root.read(f"{place}/status") or "")
    ran = _SCHEDSTAT.fullmatch(root.read(f"{place}/schedstat") or "")
    moved = _MIGRATIONS.search(root.read(f"{place}/sched") or "")
    return TaskCounts(
        voluntary=_number(status.get("voluntary_ctxt_switches", "")),
        involuntary=_number(status.get("nonvoluntary_ctxt_switches", "")),
        migrations=int(moved[1]) if moved else None,
        ran=int(ran[1]) if ran else None,
        waited=int(ran[2]) if ran else None,
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _numastat(text: str) -> dict[str, int]:
    """`numa_hit 12`, one name a line: pages, not bytes, and events since boot."""
    return {name: int(count) for name, count in _COUNT.findall(text)}


def read_interrupt_counts(root: Root, irq: int) -> dict[int, int]:
    """How often an interrupt came, by CPU: /sys/kernel/irq/<irq>/per_cpu_count, one number for each possible CPU.

    Not /proc/interrupts: container runtimes mask it.
    """
    text = root.read(f"/sys/kernel/irq/{irq}/per_cpu_count") or ""
    possible = _possible(root)
    counts = [int(part) for part in text.split(",") if part.isdecimal() and len(part) < 19]
    return dict(zip(possible, counts, strict=False)) if len(counts) == len(possible) else {}


def _possible(root: Root) -> list[int]:
    """The CPUs for which there is a number: /sys/devices/system/cpu/possible."""
    try:
        return list(CpuSet.parse(root.read("/sys/devices/system/cpu/possible") or ""))
    except ValueError:
        return []
