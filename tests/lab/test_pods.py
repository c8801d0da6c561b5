"""Containers on several nodes: podman, crun, cgroup v2, the runtime's own seccomp profile, our own image."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("pods",), image=True),)


def status(case: dict, name: str) -> str:
    """A line of the server's own /proc/self/status."""
    return next(line.partition(":")[2].strip() for line in case["out"].splitlines() if line.startswith(f"{name}:"))


def policies(case: dict) -> set[str]:
    """Of its mappings, as its numa_maps has them: the lines that begin with an address."""
    lines = (line.split() for line in case["out"].splitlines())
    return {words[1] for words in lines if len(words) > 2 and len(words[0]) >= 12 and "=" in words[-1]}


@pytest.mark.parametrize(
    ("case", "cpus", "policy"),
    [
        ("aligned", "4-5", "bind=static:1"),
        ("nic_beside", "4-5", "bind=static:1"),
        # The cpuset has all CPUs and both nodes.
        ("narrowed", "4-7", "bind=static:1"),
        # restricted, an accelerator on each node.
        ("both", "0-7", "bind=static:0-1"),
    ],
)
def test_an_aligned_container_starts_and_is_bound(seen, case, cpus, policy):
    case = seen[case]
    assert case["status"] == 0, case["err"]
    assert status(case, "Pid") == "1"
    assert status(case, "Seccomp") == "2"
    assert status(case, "Cpus_allowed_list") == cpus
    assert policies(case) == {policy}
    assert case["termination"] == ""


@pytest.mark.parametrize(
    ("case", "code", "sentence"),
    [
        ("gpu_away", 78, "is on node 0, CPUs 4-5 are on node 1"),
        ("nic_away", 78, "is on node 0, GPU 0 (0000:23:00.0) and CPUs 4-5 are on node 1"),
        ("mems_away", 78, "is on node 1, allowed memory is on node 0"),
        # Its root complex has no node: numa_node is -1.
        ("gpu_unknown", 69, "is on an unknown node"),
    ],
)
def test_any_other_stops_with_one_sentence(seen, case, code, sentence):
    """On stderr, and in the termination log, from which the kubelet takes it."""
    case = seen[case]
    assert case["status"] == code
    assert case["out"] == ""
    assert sentence in case["err"].splitlines()[0]
    assert case["termination"].startswith(case["err"].splitlines()[0].removeprefix("numapin: "))


def test_a_nic_whose_interrupts_stay_is_explained(seen):
    """The runtime mounts /proc/irq read-only."""
    assert "IRQ_READ_ONLY" in seen["nic_beside"]["err"]


def test_stop_ends_the_server_at_once(seen):
    """SIGTERM reaches PID 1, which is the server: its own handler, its own status."""
    case = seen["stop"]
    assert case["said"] == "up"
    assert case["process"]["NSpid"].split()[-1] == "1"
    assert case["process"]["Cpus_allowed_list"] == "4-5"
    assert case["status"] == 7
    assert case["seconds"] < 30
