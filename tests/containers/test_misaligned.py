"""Containers whose pieces do not share a node: one sentence, 78, and a server that never ran."""

import json

import pytest

from tests.containers.machine import GPU, NIC, Machine
from tests.containers.process import SNAPSHOT, parse
from tests.containers.runtime import run

MISALIGNED = 78


@pytest.fixture
def machine(cpu, tmp_path):
    """A container's options for a machine whose GPU, and NIC, are the given number of nodes away from the CPU."""

    def options(**away):
        places = {device: None if nodes is None else cpu.node + nodes for device, nodes in away.items()}
        return Machine(cpu, **places).options(tmp_path)

    return options


def test_a_gpu_beside_the_cpu_is_aligned(image, cpu, machine):
    """The real pynvml finds the GPU, the tree says where it is, and the kernel binds the server to that node."""
    done = run(image, *SNAPSHOT, options=machine(gpu=0, nic=0))

    assert done.status == 0
    assert parse(done.out).policies == {f"bind=static:{cpu.node}"}


def test_a_gpu_on_the_other_node_stops_the_server(image, cpu, machine):
    """The sentence names the GPU and its node, the CPUs and theirs."""
    done = run(image, "/bin/echo", "the server", options=machine(gpu=1))

    assert done.status == MISALIGNED
    assert "the server" not in done.out
    assert done.err.splitlines()[0] == (
        f"numapin: misaligned: GPU 0 ({GPU}) is on node {cpu.node + 1}, CPU {cpu.number} is on node {cpu.node}"
    )


def test_a_nic_away_from_the_gpu_stops_the_server(image, cpu, machine, tmp_path):
    """RDMA_REMOTE, in the log and, as the same sentence, in the termination log."""
    log = tmp_path / "termination-log"
    log.touch()
    done = run(image, "/bin/true", options=(*machine(gpu=0, nic=1), "--volume", f"{log}:/dev/termination-log"))

    assert done.status == MISALIGNED
    sentence = next(line for line in done.err.splitlines() if "misaligned" in line)
    assert f"mlx5_0 ({NIC}) is on node {cpu.node + 1}" in sentence
    assert sentence.removeprefix("numapin: ") in log.read_text()


def test_best_effort_says_the_same_and_starts_the_server(image, cpu, machine):
    """The policy is a variable away, for a pod spec that must not change its arguments."""
    options = (*machine(gpu=0, nic=1), "--env", "NUMAPIN_POLICY=best-effort")
    done = run(image, *SNAPSHOT, options=options)

    assert done.status == 0
    assert f"mlx5_0 ({NIC}) is on node {cpu.node + 1}" in done.err
    assert parse(done.out).policies == {f"bind=static:{cpu.node}"}


def test_an_init_container_gives_the_same_verdict(image, machine):
    """`numapin check` with JSON: the codes, for a program to act on."""
    command = ("--entrypoint", "/opt/numapin/bin/numapin")
    done = run(image, "check", "--format", "json", options=(*machine(gpu=0, nic=1), *command))
    report = json.loads(done.out)

    assert done.status == MISALIGNED
    assert report["verdict"] == "misaligned"
    assert "RDMA_REMOTE" in {reason["code"] for reason in report["reasons"] if reason["severity"] == "error"}
