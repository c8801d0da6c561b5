"""A process as the kernel shows it: numa_maps(5), status and sched of all its threads and of its children."""

import os
import re
from pathlib import Path
from typing import Any

RESET_ON_FORK = 0x40000000
POLICIES = {0: "SCHED_OTHER", 1: "SCHED_FIFO"}


def look(pid: int) -> dict[str, Any]:
    """Where a process's memory is and where its threads may run."""
    return {"pages": pages(pid), "policies": policies(pid), "threads": threads(pid), "status": status(pid)}


def pages(pid: int) -> dict[str, int]:
    """Its anonymous pages by node, in pages of 4 KiB: heap, stacks and mappings of no file."""
    found: dict[str, int] = {}
    for line in _numa_maps(pid):
        if " file=" not in line:
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                found[node] = found.get(node, 0) + int(count)
    return found


def policies(pid: int) -> list[str]:
    """The memory policies of its mappings, as the kernel prints them: bind=static:1."""
    return sorted({re.split(r" (?:file=|anon=|heap|stack|$)", line)[0].split(" ", 1)[1] for line in _numa_maps(pid)})


def _numa_maps(pid: int) -> list[str]:
    return [line.rstrip() for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines() if line.strip()]


def status(pid: int) -> dict[str, str]:
    """Some lines of /proc/<pid>/status."""
    lines = (line.partition(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    wanted = ("Name", "Cpus_allowed_list", "Mems_allowed_list", "CapEff", "Seccomp", "NSpid")
    return {name: value.strip() for name, _, value in lines if name in wanted}


def threads(pid: int) -> list[dict[str, Any]]:
    """Of every thread, the main one first: its CPUs, its scheduling, and whether children inherit it."""
    found = []
    for number in sorted(map(int, os.listdir(f"/proc/{pid}/task"))):
        policy = os.sched_getscheduler(number)
        found.append(
            {
                "cpus": status(number)["Cpus_allowed_list"],
                "scheduler": POLICIES.get(policy & ~RESET_ON_FORK, str(policy)),
                "reset_on_fork": bool(policy & RESET_ON_FORK),
                "priority": os.sched_getparam(number).sched_priority,
            }
        )
    return found


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command(pid: int) -> list[str]:
    """Its command line; of a process that has ended, and of the kernel's own, empty."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []
