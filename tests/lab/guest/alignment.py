"""verify and measure on two nodes: a server that is deliberately misplaced, then aligned by numapin."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.lab.guest.launch import NUMAPIN, driver, numapin, verify
from tests.lab.guest.machine import move_interrupts, run
from tests.lab.guest.main import RESULTS, case
from tests.lab.guest.setting import Cgroup, network, sending

API = (sys.executable, "-m", "tests.lab.guest.api")
MISPLACED = ("numactl", "--cpunodebind=0", "--membind=1")
ALIGNED = (*NUMAPIN, "run", "--")
MIB = 64
BEFORE = RESULTS / "before.json"


@contextmanager
def api(name: str, front: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """A server that is up, in a cgroup of its own: its process id, and its URL."""
    pipe = subprocess.PIPE
    command = [*Cgroup(name).front, *front, *API, str(MIB)]
    server = subprocess.Popen(command, env=os.environ | driver("gpu0"), stdin=pipe, stdout=pipe, text=True)
    try:
        assert server.stdout
        yield str(server.pid), server.stdout.readline().strip()
    finally:
        server.communicate()


@case
def before_and_after() -> dict[str, Any]:
    """CPUs beside GPU and NIC, memory and the NIC's interrupts across the link; then by numapin, compared."""
    seen: dict[str, Any] = {}
    with network("wire", "nic0") as front, sending("wire", "nic0", front):
        run("ip", "-n", "wire", "link", "set", "lo", "up")
        move_interrupts("nic0", 5)
        with api("misplaced", (*front, *MISPLACED)) as (pid, url):
            seen["before"] = _measure(front, pid, url, "--save")
            seen["misplaced"] = verify(pid, front=front)
        with api("aligned", (*front, *ALIGNED)) as (pid, url):
            seen["after"] = _measure(front, pid, url, "--baseline")
            seen["aligned"] = verify(pid, front=front)
    return seen | {"saved": json.loads(BEFORE.read_text()) if BEFORE.exists() else None}


def _measure(front: tuple[str, ...], pid: str, url: str, file: str) -> dict[str, Any]:
    words = ("--seconds", "5", "--clients", "2", "--tokens", "8", "--prompt-words", "8", file, str(BEFORE))
    return numapin("measure", "--pid", pid, "--url", url, *words, front=front, variables=driver("gpu0"))
