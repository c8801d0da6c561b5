"""verify, measure and bench on two nodes: a server that is deliberately misplaced, then aligned; and every drift."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.guest import process
from tests.lab.guest.launch import NUMAPIN, Server, driver, numapin, serving, until
from tests.lab.guest.machine import addresses, interrupts, run
from tests.lab.guest.main import RESULTS, case
from tests.lab.guest.setting import Cgroup, network

API = (sys.executable, "-m", "tests.lab.guest.api")
MISPLACED = ("numactl", "--cpunodebind=0", "--membind=1")
ALIGNED = (*NUMAPIN, "run", "--nics", "none", "--")
MIB = 64


@contextmanager
def api(front: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """A server that is up: its process id, and its URL."""
    pipe = subprocess.PIPE
    command = [*front, *API, str(MIB)]
    server = subprocess.Popen(command, env=os.environ | driver("gpu0"), stdin=pipe, stdout=pipe, text=True)
    try:
        assert server.stdout
        yield str(server.pid), server.stdout.readline().strip()
    finally:
        server.communicate()


def verify(server: str, *words: str, **options: Any) -> dict[str, Any]:
    """What verify says of a server: as an object, but for a quick look."""
    form = () if "--quick" in words else ("--format", "json")
    told = numapin("verify", "--pid", server, *words, *form, variables=driver("gpu0"), **options)
    return {**told, "json": json.loads(told["out"]) if form and told["out"] else None}


@case
def before_and_after() -> dict[str, Any]:
    """CPUs beside the GPU and memory across the link; then by numapin, compared."""
    run("ip", "link", "set", "lo", "up")
    place = RESULTS / "before.json"
    words = ("--seconds", "5", "--clients", "2", "--tokens", "8", "--prompt-words", "8", "--nics", "none")
    with api(MISPLACED) as (pid, url):
        before = numapin("measure", "--pid", pid, "--url", url, *words, "--save", str(place), variables=driver("gpu0"))
        misplaced = verify(pid, "--nics", "none")
    with api(ALIGNED) as (pid, url):
        words = (*words, "--baseline", str(place))
        after = numapin("measure", "--pid", pid, "--url", url, *words, variables=driver("gpu0"))
        aligned = verify(pid, "--nics", "none")
    saved = json.loads(place.read_text()) if place.exists() else None
    return {"before": before, "saved": saved, "after": after, "misplaced": misplaced, "aligned": aligned}


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
    with network("proof", "nic0") as front, bound(*front, words=("--irq", "require")) as server:
        before = verify(str(server.pid), front=front)
        moved = Path("/proc/irq") / str(interrupts("nic0")[0]) / "smp_affinity_list"
        moved.write_text("5")
        until(lambda: moved.read_text().strip() == "5")
        return {"before": before, "after": verify(str(server.pid), front=front), "device": addresses()["nic0"]}


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
