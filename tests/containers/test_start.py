"""A container whose pieces share a node: the server is where it should be, and else as if numapin were not there."""

import time

import pytest

from tests.containers.process import SNAPSHOT, parse
from tests.containers.runtime import PODMAN, RUN, podman, run

IDENTITY = ("--hostname", "box", "--workdir", "/srv", "--env", "PYTHONPATH=/nowhere")


def test_the_server_is_pid_1_on_its_cpu_and_its_node(image, cpu):
    """What the kernel says of the process that numapin became: PID 1, the one CPU, every mapping bound to the node."""
    done = run(image, *SNAPSHOT, options=cpu.only)
    server = parse(done.out)

    assert done.status == 0
    assert server.status["Pid"] == "1"
    assert server.status["Cpus_allowed_list"] == str(cpu.number)
    assert server.policies == {f"bind=static:{cpu.node}"}
    assert "NUMAPIN_APPLIED" in server.environment


def test_each_step_is_said(image, cpu):
    """On stderr the verdict and the lines of the steps; stdout is the server's alone."""
    done = run(image, "/bin/echo", "the server", options=cpu.only)
    verdict, *steps = done.err.splitlines()

    assert verdict == f"numapin: aligned: CPU {cpu.number} and memory are on node {cpu.node}"
    assert [step.split()[1] for step in steps] == ["sched_setaffinity", "set_mempolicy", "execve"]
    assert done.out == "the server\n"


def test_the_server_is_as_if_numapin_were_not_there(image, base, cpu):
    """Environment, arguments, capabilities, signals, umask, limits: but for the marker and the policy all is equal."""
    with_numapin = parse(run(image, *SNAPSHOT, options=(*cpu.only, *IDENTITY)).out)
    without = parse(run(base, *SNAPSHOT, options=(*cpu.only, *IDENTITY)).out)

    marker = {"NUMAPIN_APPLIED": with_numapin.environment["NUMAPIN_APPLIED"]}
    assert with_numapin.environment == without.environment | marker
    assert with_numapin.arguments == without.arguments == SNAPSHOT
    assert with_numapin.lasting == without.lasting
    assert with_numapin.limits == without.limits
    assert with_numapin.oom_score_adj == without.oom_score_adj
    assert without.policies == {"default"}


@pytest.mark.parametrize("look", [("/bin/pwd", "-P"), ("/bin/ls", "/proc/self/fd")], ids=["directory", "files"])
def test_the_server_starts_in_the_same_place_with_the_same_files(image, base, cpu, look):
    """Its working directory is the one of --workdir, its open files are 0, 1, 2 and what ls itself opened."""
    options = (*cpu.only, *IDENTITY)
    with_numapin, without = run(image, *look, options=options), run(base, *look, options=options)

    assert without.status == with_numapin.status == 0
    assert with_numapin.out == without.out


@pytest.mark.parametrize("status", [0, 1, 42, 77, 255])
def test_the_exit_status_is_the_servers(image, cpu, status):
    """Also where it is a number that numapin itself uses."""
    assert run(image, "/bin/sh", "-c", f"exit {status}", options=cpu.only).status == status


def test_stop_reaches_the_server_at_once(image, cpu):
    """SIGTERM goes to PID 1, which is the server: its handler runs, and its status is the container's."""
    server = "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done"
    name = podman("run", "--detach", *RUN, *cpu.only, image, "/bin/sh", "-c", server).out.strip()
    try:
        _wait_for_line(name, "up")
        begin = time.monotonic()
        podman("stop", "--time", "30", name)
        assert time.monotonic() - begin < 10, f"{PODMAN[0]} had to kill it"
        assert podman("wait", name).out.strip() == "7"
    finally:
        podman("rm", "--force", name)


def test_a_second_numapin_in_the_chain_sees_the_first(image, cpu):
    """`numapin run` inside the entrypoint's own run starts the server and leaves everything as it is."""
    done = run(image, "/opt/numapin/bin/numapin", "run", "--", *SNAPSHOT, options=cpu.only)

    assert done.status == 0
    assert parse(done.out).policies == {f"bind=static:{cpu.node}"}


def _wait_for_line(name: str, line: str) -> None:
    deadline = time.monotonic() + 20
    while line not in (said := podman("logs", name)).out.splitlines():
        running = podman("inspect", "--format", "{{.State.Running}}", name).out.strip()
        assert running == "true", said
        assert time.monotonic() < deadline, said
        time.sleep(0.1)
