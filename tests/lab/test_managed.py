"""Interrupts that the kernel manages, interrupts behind a remapping unit, and a NIC beside memory without CPUs."""

import json

from tests.lab.computers import MEMORY_NODE
from tests.lab.rounds import Round
from tests.lab.test_cpusets import is_new

ROUNDS = tuple(Round(MEMORY_NODE, ("cpusets", "managed", "captured"), series) for series in ("6.1", "6.12"))

REFUSED = {True: "Operation not permitted", False: "Input/output error"}
"""What the kernel says of a managed interrupt: EPERM since 6.12, EIO before."""


def test_the_kernel_refuses_to_move_managed_interrupts(seen):
    """All but the first of an NVMe, which is the one for administration."""
    case = seen["storage"]
    assert set(case["refused"]) == {REFUSED[is_new(seen["kernel"])]}
    assert len(case["refused"]) == len(case["own"]) - 1


def test_they_are_named_and_skipped(seen):
    """Since 6.12 the file's mode tells beforehand, and a reason counts them; before, only the write does."""
    case = seen["storage"]
    administration, *managed = case["own"]
    assert case["status"] == 0
    assert case["changed"] == {administration: "2-3"}
    for number in managed:
        line = next(line for line in case["err"].splitlines() if f"/proc/irq/{number}/" in line)
        assert "(skipped: the kernel manages this interrupt itself)" in line
    counted = f"IRQ_MANAGED: the kernel manages {len(managed)} interrupts" in case["err"]
    assert counted == is_new(seen["kernel"])


def test_they_are_no_refusal_even_where_interrupts_must_move(seen):
    """Nobody could do what was asked, and nothing is lost by it."""
    assert seen["storage_required"]["status"] == 0, seen["storage_required"]["err"]


def test_with_remapping_the_interrupt_moves_at_once(seen):
    """Without, effective_affinity_list lags until the next one comes."""
    case = seen["remapped"]
    assert set(case["changed"].values()) == {"2-3"}
    assert set(case["effective"].values()) <= {"2", "3"}


def test_a_nic_beside_memory_without_cpus_is_at_the_nearest_node_that_has_some(seen):
    """numa_node is 2; the distance table says that node 0 is nearest."""
    case = seen["nic_of_the_memory_node"]
    report = json.loads(case["out"])
    (nic,) = report["assignment"]["nics"]
    assert (nic["node"], report["nodes"]) == (0, [0])
    assert case["changed"] == dict.fromkeys(case["own"], "0-1")
