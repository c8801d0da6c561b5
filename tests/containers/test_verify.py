"""verify from where Kubernetes runs probes: a process of its own in the server's container."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.containers.runtime import RUN, Cpu, Finished, podman

NUMAPIN = "/opt/numapin/bin/numapin"
SERVER = ("sh", "-c", "sleep 120 & wait")
SETTINGS = ("--env", "NUMAPIN_POLICY=best-effort", "--env", "NUMAPIN_UNKNOWN=warn")


@pytest.fixture
def server(image, cpu, request) -> Iterator[str]:
    """A container whose PID 1 numapin has bound; a parameter gives more options."""
    options = (*cpu.only, *SETTINGS, *getattr(request, "param", ()))
    name = podman("run", "--detach", *RUN, *options, image, *SERVER).out.strip()
    try:
        for _ in range(50):
            if probe(name, "--quick").status == 0:
                break
            time.sleep(0.1)
        yield name
    finally:
        podman("rm", "--force", "--time", "0", name)


def probe(name: str, *words: str) -> Finished:
    return podman("exec", name, NUMAPIN, "verify", *words, check=False)


@pytest.mark.parametrize("server", [(), ("--user", "1000", "--read-only")], ids=["root", "user"], indirect=True)
def test_a_probe_finds_the_server_and_judges_it_and_not_itself(server, cpu: Cpu):
    """It has the cpuset, and neither the server's memory policy nor its marker."""
    quick, full = probe(server, "--quick"), probe(server, "--format", "json")
    report = json.loads(full.out)
    assert (quick.status, full.status) == (0, 0), (quick, full)
    assert f"(process 1) with 1 process below it and 2 threads is on CPU {cpu.number}" in quick.out
    assert (report["verdict"], report["against"], report["pid"]) == ("aligned", "plan", 1)
    assert {policy for one in report["processes"] for policy in one["memory_policies"]} == {f"bind=static:{cpu.node}"}
    assert len(report["processes"]) == 2, "the probe itself is not of the server's tree"


def test_a_cpuset_that_somebody_rewrote_fails_the_probe(server, cpu: Cpu):
    """As the kubelet does where CPUs go to another pod: podman update writes the same file."""
    podman("update", "--cpuset-cpus", str(1 - cpu.number), server)
    done = probe(server, "--quick")
    assert done.status == 78, done
    assert done.out.startswith("misaligned: the cpuset is CPU ")
    assert f"CPU {cpu.number} has been taken out since the start" in done.out
    assert "placed anew" in done.out


def test_a_container_that_numapin_did_not_start_cannot_be_told(image):
    name = podman("run", "--detach", *RUN, "--entrypoint", "sleep", image, "60").out.strip()
    try:
        done = probe(name, "--quick")
    finally:
        podman("rm", "--force", "--time", "0", name)
    assert (done.status, done.out) == (69, "")
    assert "there is no process here that numapin started" in done.err
