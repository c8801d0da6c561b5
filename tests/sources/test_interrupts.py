"""Interrupts of a container's own functions, and what /proc/irq says of each."""

import os

import pytest

from numapin.assignment import Interrupt, NetworkInterface
from numapin.ids import PciAddress
from numapin.sources.interrupts import read_interrupts
from tests.sources.trees import TWO_NODES, Machine

ETH1 = NetworkInterface("eth1", PciAddress.parse("0000:5e:00.1"))
ETH3 = NetworkInterface("eth3", PciAddress.parse("0000:9e:00.0"))
PLACE = "/sys/devices/pci0000:5e/0000:5e:00.1"
NIC = "nic eth1 pci=0000:5e:00.1 node=0"


def interrupt(irq: int, *, managed: bool = False, device: NetworkInterface = ETH1) -> Interrupt:
    assert device.pci
    return Interrupt(irq, device.name, device.pci, managed)


def test_message_signalled_interrupts_in_the_order_of_their_numbers(machine: Machine) -> None:
    files = {"/proc/irq/200/smp_affinity_list": "3\n", "/proc/irq/1001/smp_affinity_list": "4,6-7\n"}
    root = machine(*TWO_NODES, f"{NIC} irqs=1001,200", files=files)
    assert read_interrupts(root, [ETH1]) == (interrupt(200), interrupt(1001))


def test_interrupts_of_several_devices_each_once(machine: Machine) -> None:
    root = machine(*TWO_NODES, f"{NIC} irqs=200-201", "nic eth3 pci=0000:9e:00.0 node=1 irqs=201-202")
    found = read_interrupts(root, [ETH1, ETH3, ETH1])
    assert found == (interrupt(200), interrupt(201), interrupt(202, device=ETH3))


def test_a_vector_that_the_driver_has_not_requested_is_no_interrupt(machine: Machine) -> None:
    root = machine(*TWO_NODES, f"{NIC} irqs=200", files={f"{PLACE}/msi_irqs/201": "msix\n"})
    assert [one.irq for one in read_interrupts(root, [ETH1])] == [200]


@pytest.mark.parametrize(("text", "irqs"), [("11\n", [11]), ("0\n", []), ("-1\n", []), ("", []), ("x", []), ("٣", [])])
def test_the_legacy_interrupt_where_there_are_no_messages(machine: Machine, text: str, irqs: list[int]) -> None:
    files = {f"{PLACE}/irq": text, "/proc/irq/11/smp_affinity_list": "0", "/proc/irq/0/smp_affinity_list": "0"}
    root = machine(*TWO_NODES, NIC, files=files)
    assert [one.irq for one in read_interrupts(root, [ETH1])] == irqs


def test_the_legacy_interrupt_is_not_asked_where_there_are_messages(machine: Machine) -> None:
    files = {f"{PLACE}/irq": "11\n", "/proc/irq/11/smp_affinity_list": "0"}
    root = machine(*TWO_NODES, f"{NIC} irqs=200", files=files)
    assert [one.irq for one in read_interrupts(root, [ETH1])] == [200]


def test_names_that_are_no_numbers_are_passed_over(machine: Machine) -> None:
    names = ("power", "0", "007", "-3", "12x", "²", "1234567890")
    files = {f"{PLACE}/msi_irqs/{name}": "msix" for name in names}
    files |= {f"/proc/irq/{name}/smp_affinity_list": "0" for name in names}
    assert read_interrupts(machine(*TWO_NODES, NIC, files=files), [ETH1]) == ()


@pytest.mark.parametrize(("mode", "managed"), [(0o644, False), (0o444, True), (0o600, False)])
def test_a_managed_interrupt_is_one_whose_file_nobody_may_write(machine: Machine, mode: int, managed: bool) -> None:
    root = machine(*TWO_NODES, f"{NIC} irqs=200")
    os.chmod(f"{root._base}/proc/irq/200/smp_affinity_list", mode)
    assert read_interrupts(root, [ETH1]) == (interrupt(200, managed=managed),)


def subfunction(machine: Machine, kind: str, files: dict[str, str]):
    """A subfunction whose port has interrupts 200 and 201 of its own, which serve others."""
    place = f"{PLACE}/mlx5_core.sf.4"
    device = f"{place}/{kind}/eth1"
    links = {f"/sys/class/{kind}/eth1": device, f"{device}/device": place}
    return machine(
        *TWO_NODES,
        "nic p0 pci=0000:5e:00.1 node=0 irqs=200-203",
        files={f"{device}/uevent": "", f"{place}/sfnum": "88"} | {f"{place}/irqs/{name}": "" for name in files},
        links=links,
    )


@pytest.mark.parametrize("kind", ["net", "infiniband"])
@pytest.mark.parametrize(("listed", "irqs"), [(["202", "203"], [202, 203]), ([], [])])
def test_a_subfunction_has_only_what_its_own_directory_lists(machine: Machine, kind, listed, irqs) -> None:
    root = subfunction(machine, kind, dict.fromkeys(listed, ""))
    assert [one.irq for one in read_interrupts(root, [ETH1])] == irqs


def test_a_device_without_a_function_has_no_interrupts(machine: Machine) -> None:
    assert read_interrupts(machine(*TWO_NODES, f"{NIC} irqs=200"), [NetworkInterface("eth1", None)]) == ()
