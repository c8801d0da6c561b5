"""A server that needs more memory than its node has."""

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("binding", "realtime", "memory")),)
SIGKILL = 9


def test_memory_tight_had_said_so(seen):
    """memory.max is 1.6 GiB, and a node has 1 GiB."""
    for case in ("out_of_memory", "spilled"):
        assert seen[case]["check"]["status"] == 0
        assert "MEMORY_TIGHT: node 1 has " in seen[case]["check"]["out"]
        assert "this container may use 1.6 GiB (memory.max)" in seen[case]["check"]["out"]


def test_bound_to_the_node_it_is_killed(seen):
    """The signature of it: oom_kill is counted, oom and max are not, for the cgroup's limit was not reached.

    A shell, a container runtime and the kubelet call the status 137: 128 + SIGKILL.
    """
    case = seen["out_of_memory"]
    assert not case["grown"]
    assert case["status"] == -SIGKILL
    assert {name: count for name, count in case["events"].items() if count} == {"oom_kill": 1}
    assert "constraint=CONSTRAINT_MEMORY_POLICY,nodemask=1," in case["kernel"][0]


def test_preferred_takes_memory_of_the_other_node(seen):
    """MEMORY_TIGHT's hint, and what it leads to."""
    case = seen["spilled"]
    assert case["grown"]
    assert case["pages"]["1"] > case["pages"]["0"] > 0
    assert not any(case["events"].values())
