"""PCI functions from /sys/bus/pci/devices: their place, the bridges above them, and what lies under them."""

import pytest

from numapin.errors import CannotRead
from numapin.ids import CpuSet, PciAddress
from numapin.sources.pci import exists, function_of, read_all_pci, read_pci
from numapin.topology import PciDevice
from tests.sources.trees import TWO_NODES, Machine, Tree

BUS = "/sys/bus/pci/devices"
ROOT_PORT = "/sys/devices/pci0000:3a/0000:3a:00.0"
GPU = PciAddress.parse("0000:3b:00.0")


def address(text: str) -> PciAddress:
    return PciAddress.parse(text)


def test_a_function_with_all_that_the_kernel_tells(machine: Machine) -> None:
    root = machine(*TWO_NODES, "bridge 0000:3a:00.0 node=0", "gpu 0000:3b:00.0 node=1 under=0000:3a:00.0")
    found = read_pci(root, [GPU])
    assert found[GPU] == PciDevice(GPU, 0x030200, 0x10DE, 1, None, address("0000:3a:00.0"))
    assert found[address("0000:3a:00.0")] == PciDevice(address("0000:3a:00.0"), 0x060400, 0x8086, 0)


def test_silent_firmware_is_unknown_and_the_local_cpus_are_asked(tree: Tree) -> None:
    root = tree({f"{BUS}/{GPU}/numa_node": "-1\n", f"{BUS}/{GPU}/local_cpulist": "4-7\n"})
    device = read_pci(root, [GPU])[GPU]
    assert (device.numa_node, device.local_cpus) == (None, CpuSet.parse("4-7"))


def test_old_kernels_have_only_the_mask_of_local_cpus(tree: Tree) -> None:
    root = tree({f"{BUS}/{GPU}/local_cpus": "00000000,000000f0\n"})
    assert read_pci(root, [GPU])[GPU] == PciDevice(GPU, local_cpus=CpuSet.parse("4-7"))


def test_all_bridges_above_a_function_are_read_and_nothing_beside_it(tree: Tree) -> None:
    deep = f"{ROOT_PORT}/0000:3b:00.0/0000:3c:08.0/0000:3d:00.0"
    names = ("0000:3a:00.0", "0000:3b:00.0", "0000:3c:08.0", "0000:3d:00.0")
    places = [deep[: deep.index(name) + len(name)] for name in names]
    files = {f"{place}/numa_node": "-1" for place in places} | {f"{ROOT_PORT}/0000:99:00.0/numa_node": "1"}
    links = {
        f"{BUS}/{name}": f"../../../{place.removeprefix('/sys/')}" for name, place in zip(names, places, strict=True)
    }
    found = read_pci(tree(files, links), [address("0000:3d:00.0")])
    parents = {str(one.address): one.parent and str(one.parent) for one in found.values()}
    assert parents == dict(zip(names, (None, *names), strict=False))


def test_domains_of_more_than_four_digits(tree: Tree) -> None:
    """Hyper-V and VMD; sysfs prints as many digits as there are."""
    names = ("10000:e1:00.0", "a1b2c:00:02.0", "0000:00:00.0")
    found = read_all_pci(tree({f"{BUS}/{name}/numa_node": "1" for name in names}))
    assert [str(one) for one in found] == ["0000:00:00.0", "10000:e1:00.0", "a1b2c:00:02.0"]
    assert {device.numa_node for device in found.values()} == {1}


def test_names_that_are_no_functions_are_passed_over(tree: Tree) -> None:
    names = ("0000:3b:00.8", "0000:3b:00", "3b:00.0", "pci0000:3a", "0000:3b:00.0:pcie001", "xyz")
    assert read_all_pci(tree({f"{BUS}/{name}/numa_node": "0" for name in names})) == {}


def test_a_function_that_is_not_there_is_left_out(machine: Machine) -> None:
    root = machine(*TWO_NODES, "gpu 0000:3b:00.0 node=1")
    assert read_pci(root, [address("0000:99:00.0")]) == {}
    assert (exists(root, GPU), exists(root, address("0000:99:00.0"))) == (True, False)


def test_a_virtual_function_has_a_physical_one(tree: Tree) -> None:
    files = {f"{BUS}/0000:3b:00.0/numa_node": "0", f"{BUS}/0000:3b:02.6/numa_node": "0"}
    root = tree(files, {f"{BUS}/0000:3b:02.6/physfn": "../0000:3b:00.0"})
    assert {str(one.address): one.is_virtual_function for one in read_all_pci(root).values()} == {
        "0000:3b:00.0": False,
        "0000:3b:02.6": True,
    }


UNDER = {
    "the function itself": ("/sys/devices/pci0000:3a/0000:3b:00.0", "0000:3b:00.0"),
    "under two bridges": (f"{ROOT_PORT}/0000:3b:00.0/0000:3c:00.0", "0000:3c:00.0"),
    "virtio": (f"{ROOT_PORT}/0000:43:00.0/virtio1", "0000:43:00.0"),
    "a subfunction": (f"{ROOT_PORT}/0000:08:00.0/mlx5_core.sf.2", "0000:08:00.0"),
    "a long domain": ("/sys/devices/LNXSYSTM:00/VMBUS:01/pci10030:00/10030:00:02.0/virtio2", "10030:00:02.0"),
    "no PCI device": ("/sys/devices/virtual/net/eth0", None),
    "only a root bus": ("/sys/devices/pci0000:3a/platform", None),
}


@pytest.mark.parametrize(("place", "expected"), UNDER.values(), ids=UNDER)
def test_the_function_under_a_device_is_the_last_in_its_path(tree: Tree, place: str, expected: str | None) -> None:
    root = tree({f"{place}/uevent": ""}, {"/sys/class/net/eth0": place})
    assert function_of(root, "/sys/class/net/eth0") == (expected and address(expected))


@pytest.mark.parametrize("target", ["/sys/devices/pci0000:3a/0000:3b:00.0", "eth0", "/sys/class/net"])
def test_a_link_that_leads_nowhere_has_no_function(tree: Tree, target: str) -> None:
    assert function_of(tree({}, {"/sys/class/net/eth0": target}), "/sys/class/net/eth0") is None


@pytest.mark.parametrize("name", ["numa_node", "class", "vendor", "local_cpulist"])
def test_what_makes_no_sense_is_named_with_its_file(tree: Tree, name: str) -> None:
    with pytest.raises(CannotRead, match=f"^{BUS}/{GPU}/{name} cannot be understood: "):
        read_all_pci(tree({f"{BUS}/{GPU}/{name}": "?"}))
