"""Interrupts: those of the container's own NIC go to its CPUs, and every other of the machine stays where it was."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("interrupts", "links", "captured")),)
CONTAINER, NODE = "5-6", "4-7"
"""CPUs of the cgroup of the cases, and of node 1."""


def moved(case: dict, nic: str, cpus: str) -> bool:
    """Whether all interrupts of this NIC, and no others of the whole machine, now go to these CPUs."""
    return case["changed"] == dict.fromkeys(case["own"][nic], cpus) != {}


def test_in_the_hosts_network_namespace_none_is_touched(seen):
    assert seen["host_network"]["status"] == 0
    assert seen["host_network"]["changed"] == {}


def test_there_a_nic_must_be_named(seen):
    assert moved(seen["host_network_named"], "nic1", NODE)


@pytest.mark.parametrize(
    ("case", "nic", "cpus"),
    [
        ("own_network", "nic1", CONTAINER),
        # Its interrupts are those of the PCI function above the virtio device.
        ("own_network_virtio", "virtio1", CONTAINER),
        ("local", "nic1", NODE),
        # default_smp_affinity leaves one CPU of the node open, which is not the container's.
        ("kept_free", "nic1", "4"),
    ],
)
def test_those_of_the_containers_nic_go_to_its_cpus(seen, case, nic, cpus):
    assert seen[case]["status"] == 0, seen[case]["err"]
    assert moved(seen[case], nic, cpus)


def test_off_leaves_them(seen):
    assert seen["off"]["status"] == 0
    assert seen["off"]["changed"] == {}


def test_a_read_only_proc_irq_is_explained_and_no_hindrance(seen):
    case = seen["read_only"]
    assert case["status"] == 0
    assert case["changed"] == {}
    assert "IRQ_READ_ONLY: /proc/irq is read-only here" in case["err"]


def test_a_read_only_proc_irq_is_a_refusal_where_it_must_not_be(seen):
    case = seen["read_only_required"]
    assert case["status"] == 77
    assert "Read-only file system" in case["err"]


@pytest.mark.parametrize(("case", "status"), [("nic_away", 78), ("nic_unknown", 69)])
def test_a_nic_elsewhere_stops_the_server_before_anything_is_moved(seen, case, status):
    assert seen[case]["status"] == status
    assert seen[case]["changed"] == {}
