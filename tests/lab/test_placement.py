"""The topology is what the computer was described as, and devices are where they were plugged in."""

import pytest

from tests.lab.computers import EIGHT_NODES, EVERY, SUB_NODES
from tests.lab.rounds import Round

ROUNDS = (
    Round(SUB_NODES, ("placement", "sub_nodes", "captured")),
    Round(EIGHT_NODES, ("placement", "eight_nodes", "captured")),
)


@pytest.fixture
def computer(seen):
    return next(one for one in EVERY if one.name == seen.directory.name[: len(one.name)])


def test_devices_are_where_they_were_plugged_in(seen, computer):
    assert seen["homes"] == {device.name: one.node for one in computer.complexes for device in one.devices}


def test_nodes_are_as_described(seen, computer):
    """CPUs, packages and distances; a node without memory has none."""
    shown = seen["topology"]["nodes"]
    assert [node["id"] for node in shown] == list(range(len(computer.nodes)))
    for node, described in zip(shown, computer.nodes, strict=True):
        assert node["package"] == described.socket
        assert bool(node["memory_bytes"]) is bool(described.memory)
        expected = {str(other): computer.distance(node["id"], other) for other in range(len(shown))}
        assert node["distances"] == expected
