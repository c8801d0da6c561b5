"""After exec: where the pages are and where the threads may run, as the kernel tells it."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("binding", "realtime", "memory")),)
MIB = 256  # pages of 4 KiB


def on(node: int, seen: dict) -> bool:
    """Whether all anonymous pages are there."""
    return set(seen["pages"]) == {str(node)}


def test_the_computer_is_what_it_was_described_as(seen):
    homes = {device.name: complex_.node for complex_ in TWO_SOCKETS.complexes for device in complex_.devices}
    assert seen["homes"] == {name: -1 if node is None else node for name, node in homes.items()}


def test_without_numapin_nothing_is_bound(seen):
    """So that the tests below show numapin's work, and not what Linux does anyway."""
    for process in seen["bare"].values():
        assert process["policies"] == ["default"]
        assert {thread["cpus"] for thread in process["threads"]} == {"0-7"}


@pytest.mark.parametrize(("case", "node", "cpus"), [("bound", 1, "4-7"), ("bound_to_the_first_node", 0, "0-3")])
def test_all_is_on_the_accelerators_node(seen, case, node, cpus):
    """200 MiB, allocated by four threads and a child process: not one page elsewhere, not one thread elsewhere."""
    server, child = seen[case]["server"], seen[case]["child"]

    assert server["pages"][str(node)] > 160 * MIB
    assert child["pages"][str(node)] > 40 * MIB
    assert len(server["threads"]) == 5
    for process in (server, child):
        assert on(node, process)
        assert process["policies"] == [f"bind=static:{node}"]
        assert {thread["cpus"] for thread in process["threads"]} == {cpus}


def test_restricted_binds_to_the_nodes_of_all_accelerators(seen):
    for process in (seen["restricted"]["server"], seen["restricted"]["child"]):
        assert process["policies"] == ["bind=static:0-1"]
        assert {thread["cpus"] for thread in process["threads"]} == {"0-7"}


def test_preferred_is_a_policy_that_can_spill(seen):
    server = seen["preferred"]["server"]
    assert server["policies"] == ["prefer (many)=static:1"]
    assert on(1, server)


def test_accelerators_on_two_nodes_stop_the_server(seen):
    assert seen["spanning"]["status"] == 78
    assert "node 0" in seen["spanning"]["err"]
    assert "node 1" in seen["spanning"]["err"]


def test_an_accelerator_that_nobody_can_place_stops_the_server(seen):
    assert seen["unknown"]["status"] == 69
    assert "unknown node" in seen["unknown"]["err"]
