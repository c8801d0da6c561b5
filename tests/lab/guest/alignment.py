"""verify and measure on two nodes: a server that is deliberately misplaced, then aligned by numapin."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.lab.guest.launch import NUMAPIN, driver, numapin, verify
from tests.lab.guest.machine import run
from tests.lab.guest.main import RESULTS, case
from tests.lab.guest.setting import Cgroup

API = (sys.executable, "-m", "tests.lab.guest.api")
MISPLACED = ("numactl", "--cpunodebind=0", "--membind=1")
ALIGNED = (*NUMAPIN, "run", "--nics", "none", "--")
MIB = 64


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
    """CPUs beside the GPU and memory across the link; then by numapin, compared."""
    run("ip", "link", "set", "lo", "up")
    place = RESULTS / "before.json"
    words = ("--seconds", "5", "--clients", "2", "--tokens", "8", "--prompt-words", "8", "--nics", "none")
    with api("misplaced", MISPLACED) as (pid, url):
        before = numapin("measure", "--pid", pid, "--url", url, *words, "--save", str(place), variables=driver("gpu0"))
        misplaced = verify(pid, "--nics", "none")
    with api("aligned", ALIGNED) as (pid, url):
        words = (*words, "--baseline", str(place))
        after = numapin("measure", "--pid", pid, "--url", url, *words, variables=driver("gpu0"))
        aligned = verify(pid, "--nics", "none")
    saved = json.loads(place.read_text()) if place.exists() else None
    return {"before": before, "saved": saved, "after": after, "misplaced": misplaced, "aligned": aligned}
