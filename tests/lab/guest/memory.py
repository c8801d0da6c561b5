"""A server that needs more than its node has: what the kernel does, and what numapin had said before."""

from typing import Any

from tests.lab.guest.launch import driver, numapin, serving
from tests.lab.guest.machine import run
from tests.lab.guest.main import case
from tests.lab.guest.setting import Cgroup

LIMIT = "1600M"
"""memory.max: more than one node of 1 GiB has, and less than both."""
NEED = 1100


def _exhausted(name: str, *options: str) -> dict[str, Any]:
    cgroup = Cgroup(name, cpuset_cpus="4-7", cpuset_mems="0-1", memory_max=LIMIT)
    before = numapin("check", *options, front=cgroup.front, variables=driver("gpu1"))
    grown, pages = False, {}
    with serving("run", *options, mib=20, front=cgroup.front, variables=driver("gpu1")) as server:
        try:
            server.grow(NEED)
            grown, pages = True, server.look()["pages"]
        except RuntimeError:
            pass
    events = dict(line.split() for line in cgroup.read("memory.events").splitlines())
    kernel = [line for line in _kernel_log() if f"task_memcg=/{name}," in line]
    return {"check": before, "grown": grown, "pages": pages, "status": server.process.returncode} | {
        "events": {event: int(count) for event, count in events.items()},
        "kernel": kernel,
    }


def _kernel_log() -> list[str]:
    return run("dmesg").stdout.splitlines()


@case
def out_of_memory() -> dict[str, Any]:
    """memory.oom.group is 0: the kernel kills one process, the largest."""
    return _exhausted("tight")


@case
def spilled() -> dict[str, Any]:
    return _exhausted("spill", "--memory-policy", "preferred")
