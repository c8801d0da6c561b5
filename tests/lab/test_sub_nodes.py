"""Two nodes a socket: what --align socket counts as one place."""

from tests.lab.computers import SUB_NODES
from tests.lab.rounds import Round

ROUNDS = (Round(SUB_NODES, ("placement", "sub_nodes", "captured")),)


def test_neighbours_are_two_nodes(seen):
    case = seen["neighbours"]
    assert case["status"] == 78
    assert "NIC_REMOTE" in {reason["code"] for reason in case["reasons"]}


def test_neighbours_are_one_socket(seen):
    case = seen["neighbours_by_socket"]
    assert case["status"] == 0
    assert case["nodes"] == [0, 1]
    assert (case["cpus"], case["mems"]) == ("0-3", "0-1")


def test_the_other_socket_stays_the_other(seen):
    assert seen["across_by_socket"]["status"] == 78


def test_a_server_is_bound_to_its_node(seen):
    case = seen["bound_to_node"]
    assert case["policies"] == ["bind=static:2"]
    assert set(case["pages"]) == {"2"}
    assert {thread["cpus"] for thread in case["threads"]} == {"4-5"}


def test_or_to_its_socket(seen):
    case = seen["bound_to_socket"]
    assert case["policies"] == ["bind=static:2-3"]
    assert {thread["cpus"] for thread in case["threads"]} == {"4-7"}
