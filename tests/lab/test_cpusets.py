"""The cpuset rewritten under a running server, on kernels before and after 6.2: what numapin can hold, and what not."""

import pytest

from tests.lab.computers import MEMORY_NODE
from tests.lab.rounds import Round

ROUNDS = tuple(Round(MEMORY_NODE, ("cpusets", "managed", "captured"), series) for series in ("6.1", "6.12"))
GROWN = 20 * 256
"""Pages of what the server allocates after each write; its own few come on top."""


def only_on(node: str, pages: dict[str, int]) -> bool:
    """Whether all that was allocated is there."""
    return set(pages) == {node} and pages[node] >= GROWN


def is_new(kernel: str) -> bool:
    """Since 6.2 the kernel remembers the affinity that was asked for (user_cpus_ptr)."""
    return tuple(map(int, kernel.split(".")[:2])) >= (6, 2)


@pytest.mark.parametrize(
    ("mems", "policy", "node"),
    [
        ("start", "bind=static:1", "1"),
        # Node 0 taken away: not renumbered.
        ("1-2", "bind=static:1", "1"),
        # Node 1 taken away: elsewhere, without an error ...
        ("0", "bind=static:0", "0"),
        # ... and back as soon as it is allowed again.
        ("0-1", "bind=static:1", "1"),
    ],
)
def test_new_memory_comes_from_the_bound_node_while_it_is_allowed(seen, mems, policy, node):
    assert seen["mems"][mems]["policies"] == [policy]
    assert only_on(node, seen["mems"][mems]["new"])


def test_what_was_allocated_before_is_moved_by_the_kernel(seen):
    """cgroup v2 moves a task's pages with every write, by position in the list: from 0-1 to 1-2 node 1 becomes 2.

    No policy prevents that, and nothing moves them back when the old list returns: only `verify` can tell.
    """
    assert set(seen["mems"]["1-2"]["old"]) == {"2"}
    assert set(seen["mems"]["0"]["old"]) == {"0"}
    assert "1" not in seen["mems"]["0-1"]["old"]


def test_a_policy_without_static_nodes_is_renumbered(seen):
    """numactl's: bound to node 1, and after the write to node 2."""
    assert seen["mems_without_numapin"]["policies"] == ["bind:2"]
    assert only_on("2", seen["mems_without_numapin"]["new"])


def test_the_affinity_is_kept_since_linux_6_2(seen):
    """What the kubelet writes when a neighbour comes and goes."""
    cpus = {written: case["cpus"] for written, case in seen["cpus"].items()}
    kept = {"start": ["2-3"], "1-2": ["2"], "0-1": ["0-1"], "0-3": ["2-3"]}
    lost = {"start": ["2-3"], "1-2": ["1-2"], "0-1": ["0-1"], "0-3": ["0-3"]}

    assert cpus == (kept if is_new(seen["kernel"]) else lost)


def test_the_memory_stays_where_the_cpus_do_not(seen):
    for case in seen["cpus"].values():
        assert case["policies"] == ["bind=static:1"]
        assert only_on("1", case["new"])


def test_a_node_without_cpus_is_no_home(seen):
    case = seen["memory_only_node"]
    assert case["allowed"] == "0-2"
    assert case["policies"] == ["bind=static:1"]
    assert only_on("1", case["new"])


def test_the_keeper_brings_back_what_a_write_erased(seen):
    """Before 6.2 every write does, and that is said once a process; later kernels keep the affinity themselves."""
    case = seen["kept"]
    lost = not is_new(seen["kernel"])
    assert case["start"] == ["2-3"]
    assert case["1-3"] == [["1-3"] if lost else ["2-3"], ["2-3"]]
    assert (case["0-2"][1], case["0-3"][1]) == (["2"], ["2-3"])
    said = [line for line in case["said"].splitlines() if "was put back on" in line]
    assert len(said) in ((1, 2) if lost else (0,))
    assert all("had CPUs 1-3 and was put back on 2-3; moved by a write to its cpuset" in line for line in said)
