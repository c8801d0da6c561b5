"""What lies on a NIC leads to its PCI function, or is said to hide it; RDMA devices are those that /dev has."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("interrupts", "links", "captured")),)


def places(case: dict, kind: str = "nics") -> dict[str, str]:
    """Of the report's devices, by name, their addresses."""
    return {name: device["pci"] for name, device in case[kind].items()}


@pytest.mark.parametrize("kind", ["vlan", "macvlan", "ipvlan"])
def test_an_interface_on_a_nic_is_where_the_nic_is(seen, kind):
    case = seen[kind]
    assert places(case) == {f"{kind}0": case["addresses"]["nic1"]}
    assert case["nics"][f"{kind}0"]["node"] == 1
    assert case["status"] == 0


@pytest.mark.parametrize("kind", ["vlan", "macvlan", "ipvlan"])
def test_with_the_nic_in_another_namespace_it_is_said_that_nobody_can_tell(seen, kind):
    """As network plugins leave it: sysfs has no lower link then, netlink has IFLA_LINK_NETNSID."""
    case = seen[f"{kind}_alone"]
    assert case["nics"] == {}
    assert f"{kind}0" in case["reasons"], f"nothing is said of {kind}0, whose uevent file is {case['uevent']!r}"
    reason = case["reasons"][f"{kind}0"]
    assert (reason["code"], reason["severity"]) == ("NODE_UNKNOWN", "warning")
    assert "another network namespace" in reason["message"]


def test_a_veth_is_no_nic(seen):
    """Nothing is judged of it, and nothing blamed on it."""
    case = seen["veth_alone"]
    assert case["nics"] == {}
    assert {reason["code"] for reason in case["reasons"].values()} == {"CPUS_SPAN_NODES"}


def test_a_bond_of_one_card_counts_once(seen):
    """The bond and its port lie on one PCI function."""
    case = seen["bond"]
    assert list(places(case).values()) == [case["addresses"]["nic1"]]
    assert case["status"] == 0


def test_a_bond_over_two_nodes_has_no_place_and_its_ports_have(seen):
    case = seen["bond_of_two"]
    assert set(places(case).values()) == {case["addresses"]["nic0"], case["addresses"]["nic1"]}
    assert "not one PCI function" in case["reasons"]["bond0"]["message"]
    assert case["status"] == 78


@pytest.mark.parametrize("mode", ["rdma_shared", "rdma_exclusive"])
def test_rdma_devices_are_those_with_a_device_file(seen, mode):
    """Two are on the host, one is in /dev; soft RoCE has a `parent` file, which names the interface below it."""
    case = seen[mode]["host"]
    assert places(case, "rdma") == {"rxe1": case["addresses"]["nic1"]}
    assert case["rdma"]["rxe1"]["node"] == 1
    assert case["status"] == 0


def test_in_shared_mode_sysfs_shows_them_all_to_every_namespace(seen):
    assert seen["rdma_shared"]["there"] == ["rxe0", "rxe1"]
    assert seen["rdma_exclusive"]["there"] == []


@pytest.mark.parametrize("mode", ["rdma_shared", "rdma_exclusive"])
def test_an_rdma_device_whose_interface_is_elsewhere_is_unknown(seen, mode):
    """Its parent is in another namespace: 69, and never the node of a namesake."""
    case = seen[mode]["other"]
    assert list(case["rdma"]) == ["rxe1"]
    assert case["rdma"]["rxe1"]["node"] is None
    assert case["reasons"]["rxe1"]["code"] == "NODE_UNKNOWN"
    assert case["status"] == 69
