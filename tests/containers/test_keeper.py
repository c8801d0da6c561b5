"""The keeper in a real container: beside PID 1, as another user, and as a sidecar in a shared process namespace."""

import json
import time

import pytest

from tests.containers.runtime import RUN, podman, run

LOOK = "sleep 3; for file in /proc/[0-9]*/comm; do cat $file; done; grep Cpus_allowed_list /proc/$!/status"
SERVER = ("sh", "-c", f"sleep 60 & {LOOK}")
"""A shell as PID 1, whose sleeping child is hot."""
HOT = ("--env", "NUMAPIN_HOT=sleep*,nccl", "--env", "NUMAPIN_RT=off")


@pytest.mark.parametrize("user", [(), ("--user", "1000", "--read-only")], ids=["root", "user"])
def test_the_keeper_is_beside_pid_1_and_ends_with_it(image, user):
    """With the image's own profiles; nothing of it keeps the container from ending."""
    start = time.monotonic()
    done = run(image, *SERVER, options=("--cpuset-cpus", "0-1", *HOT, *user))
    lines = done.out.split("\n")

    assert (done.status, "numapin-keeper" in lines) == (0, True), done
    assert lines[-2].split()[-1] in ("0", "1"), "the sleeping child has a CPU of its own"
    assert "setenv NCCL_SET_THREAD_NAME=1" in done.err
    assert "is hot: its scheduling left as it is, CPU 1 is its own" in done.err
    assert time.monotonic() - start < 20


def test_a_sidecar_keeps_the_server_of_a_shared_process_namespace(image, base):
    """Its own cpuset is another: what counts is the server's."""
    server = podman("run", "--detach", *RUN, "--cpuset-cpus", "0-1", base, "sleep", "60").out.strip()
    sidecar = ("--cpuset-cpus", "0", "--pid", f"container:{server}", "--entrypoint", "/opt/numapin/bin/numapin")
    words = ("keep", "--pid", "1", "--policy", "best-effort", "--unknown", "warn", "--keep", "--log-format", "json")
    try:
        keeper = podman("run", "--detach", *RUN, *sidecar, image, *words).out.strip()
        try:
            time.sleep(3)
            said = podman("logs", keeper).err
        finally:
            podman("stop", "--time", "2", keeper)
            status = podman("inspect", "--format", "{{.State.ExitCode}}", keeper).out.strip()
            podman("rm", "--force", keeper)
    finally:
        podman("rm", "--force", "--time", "0", server)
    events = [json.loads(line)["event"] for line in said.splitlines()]
    assert "start keeper: cpus=0-1" in events, said
    assert status == "0"
