"""RDMA devices: only those whose device files are here, their functions, and the interfaces of their ports."""

import pytest

from numapin.assignment import RdmaDevice
from numapin.ids import PciAddress
from numapin.sources.rdma import read_rdma
from tests.sources.trees import TWO_NODES, Machine, Tree

CLASS = "/sys/class/infiniband"
VERBS = "/sys/class/infiniband_verbs"


def device(name: str, pci: str | None, *netdevs: str) -> RdmaDevice:
    return RdmaDevice(name, PciAddress.parse(pci) if pci else None, netdevs)


def test_in_shared_mode_only_the_device_files_tell_which_are_ours(machine: Machine) -> None:
    """Shared namespace mode lists every device of the host in /sys/class/infiniband."""
    lines = [f"rdma mlx5_{i} pci=0000:{0x3C + i:02x}:00.0 node=0 foreign" for i in range(8)]
    lines[5] = lines[5].removesuffix(" foreign")
    root = machine(*TWO_NODES, *lines)
    assert len(root.names(CLASS)) == 8
    assert read_rdma(root) == (device("mlx5_5", "0000:41:00.0"),)


def test_the_number_of_a_device_file_is_not_the_devices(tree: Tree) -> None:
    files = {"/dev/infiniband/uverbs0": "", f"{VERBS}/uverbs0/ibdev": "mlx5_7\n", f"{VERBS}/uverbs7/ibdev": "mlx5_0\n"}
    place = "/sys/devices/pci0000:9a/0000:9b:00.0"
    root = tree(files | {f"{place}/vendor": "0x15b3"}, {f"{CLASS}/mlx5_7/device": place})
    assert read_rdma(root) == (device("mlx5_7", "0000:9b:00.0"),)


def test_devices_are_in_the_order_of_their_numbers(tree: Tree) -> None:
    names = {"uverbs0": "mlx5_10", "uverbs1": "mlx5_9", "uverbs10": "bnxt_re1", "uverbs2": "mlx5_bond_0"}
    files = {f"/dev/infiniband/{verbs}": "" for verbs in names}
    files |= {f"{VERBS}/{verbs}/ibdev": name for verbs, name in names.items()}
    assert [one.name for one in read_rdma(tree(files))] == ["bnxt_re1", "mlx5_9", "mlx5_10", "mlx5_bond_0"]


def test_other_files_of_the_directory_are_no_devices(tree: Tree) -> None:
    names = ("rdma_cm", "umad0", "issm0", "uverbs", "uverbsX", "uverbs٣", "uverbs1234567")
    files = {f"/dev/infiniband/{name}": "" for name in names} | {f"{VERBS}/{name}/ibdev": "mlx5_0" for name in names}
    assert read_rdma(tree(files)) == ()


def test_a_device_file_that_sysfs_does_not_know_is_no_device(tree: Tree) -> None:
    assert read_rdma(tree({"/dev/infiniband/uverbs0": ""})) == ()


def test_the_interfaces_of_all_ports(tree: Tree) -> None:
    ports = f"{CLASS}/mlx4_0/ports"
    files = {"/dev/infiniband/uverbs0": "", f"{VERBS}/uverbs0/ibdev": "mlx4_0"}
    files |= {f"{ports}/1/gid_attrs/ndevs/{index}": "ib0" for index in range(4)}
    files |= {f"{ports}/2/gid_attrs/ndevs/0": "ib1", f"{ports}/2/state": "4: ACTIVE"}
    assert read_rdma(tree(files)) == (device("mlx4_0", None, "ib0", "ib1"),)


def test_without_port_attributes_the_functions_interfaces_are_its(machine: Machine) -> None:
    """An old kernel, or a port without an address: gid_attrs/ndevs/0 answers EINVAL then."""
    files = {"/sys/devices/pci0000:3c/0000:3c:00.0/net/eth1/mtu": "1500"}
    root = machine(*TWO_NODES, "rdma mlx5_0 pci=0000:3c:00.0 node=0", files=files)
    assert read_rdma(root) == (device("mlx5_0", "0000:3c:00.0", "eth1"),)


def test_a_virtual_function_is_a_function_of_its_own(machine: Machine) -> None:
    root = machine(*TWO_NODES, "rdma mlx5_2 pci=0000:3b:02.6 node=0 netdev=net1")
    assert read_rdma(root) == (device("mlx5_2", "0000:3b:02.6", "net1"),)


def test_a_subfunction_lies_under_its_port(tree: Tree) -> None:
    place = "/sys/devices/pci0000:07/0000:08:00.0/mlx5_core.sf.4"
    files = {"/dev/infiniband/uverbs0": "", f"{VERBS}/uverbs0/ibdev": "mlx5_4", f"{place}/sfnum": "88"}
    assert read_rdma(tree(files, {f"{CLASS}/mlx5_4/device": place})) == (device("mlx5_4", "0000:08:00.0"),)


SOFT = {
    "/dev/infiniband/uverbs0": "",
    f"{VERBS}/uverbs0/ibdev": "rxe0",
    f"{CLASS}/rxe0/ports/1/gid_attrs/ndevs/0": "eth1",
}


def test_software_rdma_lies_on_the_function_of_its_interface(machine: Machine) -> None:
    """Soft RoCE and siw have no device link, but a file `parent` with the interface's name."""
    root = machine(*TWO_NODES, "nic eth1 pci=0000:5e:00.1 node=1", files=SOFT | {f"{CLASS}/rxe0/parent": "eth1\n"})
    assert read_rdma(root) == (device("rxe0", "0000:5e:00.1", "eth1"),)


@pytest.mark.parametrize("parent", ["lo", "", "eth9", "../../../devices", "eth\0one"])
def test_software_rdma_over_no_card_has_no_function(machine: Machine, parent: str) -> None:
    files = SOFT | {f"{CLASS}/rxe0/parent": parent, "/sys/class/net/lo/type": "772"}
    assert read_rdma(machine(*TWO_NODES, files=files)) == (device("rxe0", None, "eth1"),)


SENSELESS = ("", "\0", "a/b", "../../net/eth0", "mlx5\0_0", "mlx5_" + "9" * 5000, "x" * 5000, "mlx5\n_0", "mlx5_٣²")


@pytest.mark.parametrize("name", SENSELESS, ids=lambda name: repr(name[:12]))
def test_a_name_that_makes_no_sense_breaks_nothing(tree: Tree, name: str) -> None:
    """A device that nobody could name in an option: left out, or without a place; never a failure."""
    found = read_rdma(tree({"/dev/infiniband/uverbs0": "", f"{VERBS}/uverbs0/ibdev": name}))
    assert [one.pci for one in found] in ([], [None])
    assert all("/" not in one.name for one in found)
