"""Eight nodes, the sixth of them with CPUs and no memory."""

from tests.lab.computers import EIGHT_NODES
from tests.lab.rounds import Round

ROUNDS = (Round(EIGHT_NODES, ("placement", "eight_nodes", "captured")),)


def test_the_last_node_is_bound_like_any(seen):
    """A mask that is one bit too short would lose it."""
    case = seen["last_node"]
    assert case["policies"] == ["bind=static:7"]
    assert set(case["pages"]) == {"7"}
    assert {thread["cpus"] for thread in case["threads"]} == {"7"}


def test_a_node_without_memory_is_served_by_its_neighbours(seen):
    """CPUs stay there; memory comes from nodes of the same socket, which are nearest."""
    case = seen["without_memory"]
    assert {thread["cpus"] for thread in case["threads"]} == {"5"}
    assert set(case["pages"]) <= {"4", "6", "7"}
    assert "NODE_WITHOUT_MEMORY" in case["said"]


def test_that_is_a_warning(seen):
    case = seen["without_memory_checked"]
    assert case["status"] == 0
    assert [(one["code"], one["severity"]) for one in case["reasons"]] == [("NODE_WITHOUT_MEMORY", "warning")]
    assert case["nodes"] == [5]


def test_two_accelerators_of_two_nodes(seen):
    """Each node holds one, so two need two: restricted admits that, single-numa-node never."""
    assert seen["spread"]["status"] == 0
    assert seen["spread"]["nodes"] == [0, 7]
    assert seen["spread_single"]["status"] == 78
