"""The cpuset rewritten under a running server, as the kubelet does it: what holds, what moves, what comes back."""

import time
from typing import Any

from tests.lab.guest.launch import Server, driver, serving, until
from tests.lab.guest.main import case
from tests.lab.guest.process import status
from tests.lab.guest.setting import Cgroup

GROW = 20


def _grown(server: Server) -> dict[str, Any]:
    """The policy of now, and where the pages went that were allocated after the write."""
    before = server.look()["pages"]
    server.grow(GROW)
    seen = server.look()
    more = {node: count - before.get(node, 0) for node, count in seen["pages"].items()}
    return {
        "policies": seen["policies"],
        "old": before,
        "new": {node: count for node, count in more.items() if count > 0},
        "cpus": sorted({thread["cpus"] for thread in seen["threads"]}),
    }


def _rewritten(group: str, setting: str, values: tuple[str, ...], **start: str) -> dict[str, Any]:
    """A server bound to node 1, and what the kernel shows of it after each write to its cgroup."""
    cgroup = Cgroup(group, **start)
    with serving("run", mib=20, front=cgroup.front, variables=driver("gpu1")) as server:
        seen = {"start": _grown(server)}
        for value in values:
            cgroup.set(**{setting: value})
            seen[value] = _grown(server)
    return seen


@case
def mems() -> dict[str, Any]:
    """Away from the lower node and back, then without the bound node and with it again."""
    return _rewritten("mems", "cpuset_mems", ("1-2", "0", "0-1"), cpuset_cpus="0-3", cpuset_mems="0-1")


@case
def cpus() -> dict[str, Any]:
    """numapin narrowed to the CPUs of node 1, 2 and 3, in a cpuset of all CPUs."""
    values = ("1-2", "0-1", "0-3")
    return _rewritten("cpus", "cpuset_cpus", values, cpuset_cpus="0-3", cpuset_mems="0-1")


@case
def mems_without_numapin() -> dict[str, Any]:
    """A plain MPOL_BIND of numactl, for comparison: what MPOL_F_STATIC_NODES is for."""
    cgroup = Cgroup("plain", cpuset_cpus="0-3", cpuset_mems="0-1")
    with serving(mib=20, front=(*cgroup.front, "numactl", "--membind=1")) as server:
        cgroup.set(cpuset_mems="1-2")
        return _grown(server)


@case
def memory_only_node() -> dict[str, Any]:
    """A cpuset of all nodes: the memory of the node without CPUs is left alone."""
    cgroup = Cgroup("three", cpuset_cpus="0-3", cpuset_mems="0-2")
    with serving("run", mib=20, front=cgroup.front, variables=driver("gpu1")) as server:
        return {**_grown(server), "allowed": status(server.pid)["Mems_allowed_list"]}


def _cpus(server: Server) -> list[str]:
    return sorted({thread["cpus"] for thread in server.look()["threads"]})


@case
def kept() -> dict[str, Any]:
    """The same with a keeper: what is there at once after a write that allows more, and what comes of it."""
    cgroup = Cgroup("kept", cpuset_cpus="0-3", cpuset_mems="0-1")
    with serving("run", "--keep", mib=20, front=cgroup.front, variables=driver("gpu1")) as server:
        seen = {"start": _cpus(server)}
        # A keeper that is there has had its first look: what moves from now on has moved.
        time.sleep(3)
        for written, wanted in (("1-3", "2-3"), ("0-2", "2"), ("0-3", "2-3")):
            cgroup.set(cpuset_cpus=written)
            at_once = _cpus(server)
            until(lambda wanted=wanted: _cpus(server) == [wanted])
            seen[written] = [at_once, _cpus(server)]
    return {**seen, "said": server.said}
