"""Network interfaces and the cards under them, through every way of stacking one on another."""

import pytest

from numapin.assignment import NetworkInterface
from numapin.ids import PciAddress
from numapin.sources.links import function_below, own_interfaces, plugin_functions, read_interfaces
from numapin.sources.rdma import read_rdma
from tests.sources.trees import TWO_NODES, Machine

ETH1, ETH2 = "nic eth1 pci=0000:5e:00.1 node=0", "nic eth2 pci=0000:5e:00.2 node=0"
FAR = "nic eth3 pci=0000:9e:00.0 node=1"
NET = "/sys/class/net"
VIRTUAL = "/sys/devices/virtual/net"


def address(text: str) -> PciAddress:
    return PciAddress.parse(text)


def over(name: str, *lower: str, kind: str = "") -> tuple[str, ...]:
    """The lines of a virtual interface that lies on others."""
    links = [f"link {VIRTUAL}/{name}/lower_{one} {NET}/{one}" for one in lower]
    uevent = [f"file {VIRTUAL}/{name}/uevent DEVTYPE={kind}"] if kind else [f"file {VIRTUAL}/{name}/type 1"]
    return (*uevent, *links, f"link {NET}/{name} {VIRTUAL}/{name}")


STACKS = {
    "a port": ((ETH1,), "eth1", "0000:5e:00.1"),
    "a VLAN": ((ETH1, *over("eth1.5", "eth1", kind="vlan")), "eth1.5", "0000:5e:00.1"),
    "a macvlan": ((ETH1, *over("net1", "eth1", kind="macvlan")), "net1", "0000:5e:00.1"),
    "an ipvlan on a VLAN": (
        (ETH1, *over("v", "eth1", kind="vlan"), *over("net1", "v", kind="ipvlan")),
        "net1",
        "0000:5e:00.1",
    ),
    "a bond over one port": ((ETH1, *over("bond0", "eth1", kind="bond")), "bond0", "0000:5e:00.1"),
    "a bond over two cards": ((ETH1, FAR, *over("bond0", "eth1", "eth3", kind="bond")), "bond0", None),
    "a bond over a port and nothing": ((ETH1, *over("v"), *over("bond0", "eth1", "v", kind="bond")), "bond0", None),
    "a bond over two VLANs of one port": (
        (ETH1, *over("a", "eth1"), *over("b", "eth1"), *over("bond0", "a", "b", kind="bond")),
        "bond0",
        "0000:5e:00.1",
    ),
    "veth": (over("eth0"), "eth0", None),
    "itself below itself": (over("a", "a", kind="bond"), "a", None),
    "two below each other": ((*over("a", "b"), *over("b", "a")), "a", None),
    "no such interface": ((), "eth9", None),
    "a path": ((ETH1,), "../net/eth1", None),
}


@pytest.mark.parametrize(("lines", "name", "expected"), STACKS.values(), ids=STACKS)
def test_the_card_under_an_interface(machine: Machine, lines, name: str, expected: str | None) -> None:
    assert function_below(machine(*TWO_NODES, *lines), name) == (expected and address(expected))


@pytest.mark.usefixtures("quickly")
def test_interfaces_that_all_lie_on_each_other_come_to_an_end(machine: Machine) -> None:
    names = [f"if{index}" for index in range(8)]
    root = machine(*TWO_NODES, *(line for name in names for line in over(name, *names, kind="bond")))
    assert function_below(root, "if0") is None


def test_virtio_lies_under_its_function(machine: Machine) -> None:
    place = "/sys/devices/pci0000:40/0000:43:00.0"
    links = {f"{NET}/eth0": f"{place}/virtio1/net/eth0", f"{place}/virtio1/net/eth0/device": f"{place}/virtio1"}
    root = machine(*TWO_NODES, files={f"{place}/numa_node": "1", f"{place}/virtio1/net/eth0/mtu": "1500"}, links=links)
    assert read_interfaces(root) == ((NetworkInterface("eth0", address("0000:43:00.0")),), ())


def test_interfaces_of_a_pod(machine: Machine) -> None:
    """The cluster's veth says nothing; a macvlan whose card is elsewhere hides it."""
    netlink = '{"net1": {"kind": "macvlan", "parent_namespace": 0}}'
    lines = (ETH1, *over("eth0"), *over("lo"), *over("net1", kind="macvlan"))
    found, notes = read_interfaces(machine(*TWO_NODES, *lines, files={"/numapin/netlink.json": netlink}))
    assert found == (NetworkInterface("eth1", address("0000:5e:00.1")),)
    assert [(note.code, note.subject) for note in notes] == [("NODE_UNKNOWN", "net1")]
    assert notes[0].message == (
        "net1 is a macvlan interface whose parent is in another network namespace: its NIC is not to be seen"
    )


HIDDEN = {
    "nobody tells": (over("net1", kind="ipvlan"), "net1 is a virtual interface without a NIC in sight"),
    "two cards": (
        (ETH1, FAR, *over("net1", "eth3", "eth1", kind="bond")),
        "net1 lies on eth1, eth3, which are not one PCI function",
    ),
}


@pytest.mark.parametrize(("lines", "message"), HIDDEN.values(), ids=HIDDEN)
def test_why_a_stacked_interface_has_no_card(machine: Machine, lines, message: str) -> None:
    _, notes = read_interfaces(machine(*TWO_NODES, *lines))
    assert [note.message for note in notes if note.subject == "net1"] == [message]


VARIABLES = {
    "one function": ({"PCIDEVICE_INTEL_COM_SRIOV": "0000:5e:00.1"}, ["0000:5e:00.1"], []),
    "several": ({"PCIDEVICE_NVIDIA_COM_RDMA": "0000:9e:00.0, 0000:5e:00.1"}, ["0000:9e:00.0", "0000:5e:00.1"], []),
    "a name that no shell takes": ({"PCIDEVICE_OPENSHIFT_IO_CNSBC-VFIO": "0000:5e:00.1"}, ["0000:5e:00.1"], []),
    "named twice": ({"PCIDEVICE_A": "0000:5e:00.1", "PCIDEVICE_B": "0000:5e:00.1"}, ["0000:5e:00.1"], []),
    "its _INFO beside it": (
        {"PCIDEVICE_A": "0000:5e:00.1", "PCIDEVICE_A_INFO": '{"0000:5e:00.1": {"generic": {}}}'},
        ["0000:5e:00.1"],
        [],
    ),
    "its _INFO alone": (
        {"PCIDEVICE_A_INFO": '{"0000:9e:00.0": {"rdma": {"rdma_dev": "mlx5_2"}}}'},
        ["0000:9e:00.0"],
        [],
    ),
    "a subfunction": ({"PCIDEVICE_A": "mlx5_core.sf.4"}, ["0000:5e:00.1"], []),
    "not on this machine": ({"PCIDEVICE_A": "0000:99:00.0"}, [], ["0000:99:00.0"]),
    "a subfunction that is not here": ({"PCIDEVICE_A": "mlx5_core.sf.9"}, [], ["mlx5_core.sf.9"]),
    "no address": ({"PCIDEVICE_A": "eth1,0000:5e:00.1"}, ["0000:5e:00.1"], ["eth1"]),
    "a path": ({"PCIDEVICE_A": "../../pci/devices/0000:5e:00.1"}, [], ["../../pci/devices/0000:5e:00.1"]),
    "empty": ({"PCIDEVICE_A": "", "PCIDEVICE_B": " , "}, [], []),
    "_INFO that is no JSON": ({"PCIDEVICE_A_INFO": "{"}, [], []),
    "_INFO that is a list": ({"PCIDEVICE_A_INFO": '["0000:5e:00.1"]'}, [], []),
    "another variable": ({"MY_PCIDEVICE_A": "0000:5e:00.1", "PCIDEVICE": "0000:5e:00.1"}, [], []),
}


@pytest.mark.parametrize(("environment", "functions", "absent"), VARIABLES.values(), ids=VARIABLES)
def test_functions_that_a_device_plugin_names(machine: Machine, environment, functions, absent) -> None:
    subfunction = "/sys/devices/pci0000:5e/0000:5e:00.1/mlx5_core.sf.4"
    links = {"/sys/bus/auxiliary/devices/mlx5_core.sf.4": subfunction}
    root = machine(*TWO_NODES, ETH1, FAR, files={f"{subfunction}/sfnum": "88"}, links=links)
    assert root.resolve("/sys/bus/pci/devices/0000:5e:00.1") == "/sys/devices/pci0000:5e/0000:5e:00.1"
    found, notes = plugin_functions(root, environment)
    assert [str(one) for one in found] == functions
    assert [(note.code, note.subject) for note in notes] == [("DEVICE_ABSENT", one) for one in absent]


def names(root, environment=None, host_network: bool = False) -> list[str]:
    found, _ = own_interfaces(root, environment or {}, read_rdma(root), host_network)
    return [one.name for one in found]


def test_a_named_function_goes_by_its_interface_or_its_address(machine: Machine) -> None:
    """A function that vfio holds has no interface."""
    root = machine(*TWO_NODES, ETH1, "pci 0000:9e:00.0 node=1 class=0x020000 vendor=0x15b3")
    environment = {"PCIDEVICE_A": "0000:9e:00.0,0000:5e:00.1"}
    assert names(root, environment) == ["0000:9e:00.0", "eth1"]


def test_the_hosts_network_namespace_shows_interfaces_that_are_not_ours(machine: Machine) -> None:
    root = machine(*TWO_NODES, ETH1, ETH2, FAR)
    assert names(root) == ["eth1", "eth2", "eth3"]
    assert names(root, host_network=True) == []
    assert names(root, {"PCIDEVICE_A": "0000:5e:00.2"}, host_network=True) == ["eth2"]


def test_the_interface_of_an_rdma_device_is_not_counted_twice(machine: Machine) -> None:
    root = machine(*TWO_NODES, "rdma mlx5_0 pci=0000:3c:00.0 node=0 netdev=ib0", FAR)
    assert names(root, {"PCIDEVICE_A": "0000:3c:00.0"}) == ["eth3"]


def test_an_interface_and_a_vlan_on_it_are_one_place(machine: Machine) -> None:
    root = machine(*TWO_NODES, ETH1, *over("eth1.5", "eth1", kind="vlan"))
    assert len(names(root)) == 1
