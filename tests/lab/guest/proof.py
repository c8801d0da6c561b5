"""verify on two nodes: every drift; and what bench measures there."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.lab.guest import process
from tests.lab.guest.launch import NUMAPIN, Server, driver, numapin, serving, verify
from tests.lab.guest.machine import addresses, move_interrupts, run
from tests.lab.guest.main import RESULTS, case
from tests.lab.guest.setting import Cgroup, network, sending


@contextmanager
def bound(*front: str, words: tuple[str, ...] = ("--nics", "none"), **variables: str) -> Iterator[Server]:
    with serving("run", *words, mib=40, front=front, variables=driver("gpu0") | variables) as server:
        yield server


@case
def a_thread_and_a_child_astray() -> dict[str, Any]:
    with bound(OMP_PROC_BIND="true") as server:
        os.sched_setaffinity(process.children(server.pid)[0], range(8))
        return {"full": verify(str(server.pid), "--nics", "none"), "quick": verify(str(server.pid), "--quick")}


@case
def rebound_by_an_engine() -> dict[str, Any]:
    """What an engine does that binds itself: another policy, set after numapin's and before its memory is there."""
    front = ("numactl", "--interleave=all")
    variables = driver("gpu0") | {"SGLANG_NUMA_BIND_V2": "1"}
    with serving(mib=40, front=(*NUMAPIN, "run", "--nics", "none", "--", *front), variables=variables) as server:
        return verify(str(server.pid), "--nics", "none")


@case
def pages_moved_away() -> dict[str, Any]:
    """Only the pages are elsewhere: policy and threads are as they were."""
    with bound() as server:
        run("migratepages", str(server.pid), "0", "1")
        return {name: verify(str(server.pid), "--nics", "none", "--pages", name) for name in ("maps", "off")}


@case
def cpuset_taken_away() -> dict[str, Any]:
    """The kubelet gives CPUs to others, more of them, and then takes some of ours."""
    cgroup = Cgroup("taken", cpuset_cpus="0-3", cpuset_mems="0-1")
    with bound(*cgroup.front) as server:
        cgroup.set(cpuset_cpus="0-7")
        grown = verify(str(server.pid), "--nics", "none", "--pages", "cgroup")
        cgroup.set(cpuset_cpus="2-5")
        return {"grown": grown, "taken": verify(str(server.pid), "--quick"), "status": process.status(server.pid)}


@case
def an_interrupt_moved() -> dict[str, Any]:
    """A NIC that sends all the while: its interrupts where numapin put them, then where somebody else did."""
    with (
        network("proof", "nic0") as front,
        bound(*front, words=("--irq", "require")) as server,
        sending("proof", "nic0", front),
    ):
        before = _interrupts(server, front)
        move_interrupts("nic0", 5)
        after = _interrupts(server, front)
        required = verify(str(server.pid), "--irq", "require", front=front)
    return {"before": before, "after": after, "required": required, "device": addresses()["nic0"]}


def _interrupts(server: Server, front: tuple[str, ...]) -> dict[str, Any]:
    """What verify says, and how many came to each node."""
    words = ("measure", "--pid", str(server.pid), "--seconds", "2", "--format", "json")
    record = json.loads(numapin(*words, front=front, variables=driver("gpu0"))["out"])
    figures = {one["key"]: one["value"] for one in record["figures"] if "interrupts" in one["key"]}
    return {**verify(str(server.pid), front=front), "figures": figures}


@case
def another_user() -> dict[str, Any]:
    """Who may not look into the server sees its threads, and its cgroup's memory where that is in sight."""
    with bound() as server:
        front = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        return verify(str(server.pid), "--nics", "none", front=front)


@case
def measured_machine() -> dict[str, Any]:
    """All pairs of nodes; the hint of a misaligned container then says what they cost."""
    place = RESULTS / "bench.json"
    words = ("--seconds", "6", "--megabytes", "16", "--gpus", "none")
    told = numapin("bench", *words, "--save", str(place))
    record = json.loads(place.read_text())
    slower = {"key": "latency_ns", "rows": ["0", "1"], "columns": ["0", "1"], "values": [[80, 152], [150, 80]]}
    place.write_text(json.dumps({**record, "matrices": [slower]}))
    written = numapin("check", "--cpus", "4-7", "--nics", "none", "--bench", str(place), variables=driver("gpu0"))
    return {"text": told, "json": record, "written": written}
