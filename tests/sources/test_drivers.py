"""Accelerators as the drivers' files show them, where no library answers: NVIDIA, AMD, Gaudi."""

import pytest

from numapin.assignment import Accelerator
from numapin.errors import CannotRead
from numapin.ids import NodeSet, PciAddress
from numapin.sources.drivers import amd_by_files, gaudi_by_files, gpu_memory_nodes, nvidia_by_files, nvidia_minors
from tests.sources.trees import TWO_NODES, Machine, Tree

GPUS = "/proc/driver/nvidia/gpus"
INFORMATION = """Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 1234
GPU UUID: \t {uuid}
Video BIOS: \t 96.00.89.00.01
Bus Type: \t PCIe
DMA Mask: \t 0xfffffffffffff
Bus Location: \t {address}
Device Minor: \t {minor}
GPU Excluded:\t No
"""
UUID = "GPU-6b6f3a52-1c2d-4e5f-8a9b-0123456789ab"
UNOPENED = "GPU-????????-????-????-????-????????????"


def information(address: str, minor: object, uuid: str = UUID) -> dict[str, str]:
    return {f"{GPUS}/{address}/information": INFORMATION.format(address=address, minor=minor, uuid=uuid)}


def nvidia(address: str, index: int, uuid: str | None = UUID, minor: int = 0) -> Accelerator:
    return Accelerator(PciAddress.parse(address), index, "nvidia", uuid, device=f"/dev/nvidia{minor}")


def test_a_gpu_of_the_driver(tree: Tree) -> None:
    root = tree(information("0000:3b:00.0", 0) | {"/dev/nvidia0": "", "/dev/nvidiactl": ""})
    assert nvidia_by_files(root) == [nvidia("0000:3b:00.0", 0)]


def test_a_gpu_that_nobody_opened_yet_has_no_uuid(tree: Tree) -> None:
    root = tree(information("0000:3b:00.0", 0, UNOPENED) | {"/dev/nvidia0": ""})
    assert nvidia_by_files(root) == [nvidia("0000:3b:00.0", 0, None)]


def test_device_files_decide_where_the_driver_lists_all_gpus_of_the_host(tree: Tree) -> None:
    """CDI mounts nothing over /proc/driver/nvidia. Minors are in the order of probing, GPUs in that of the bus."""
    files: dict[str, str] = {}
    for index in range(8):
        files |= information(f"0000:{0x3B + index:02x}:00.0", 7 - index)
    root = tree(files | {"/dev/nvidia5": "", "/dev/nvidia2": "", "/dev/nvidia-uvm": "", "/dev/nvidia-modeset": ""})
    assert nvidia_minors(root) == [2, 5]
    assert nvidia_by_files(root) == [nvidia("0000:3d:00.0", 0, minor=5), nvidia("0000:40:00.0", 1, minor=2)]


def test_a_long_domain_goes_by_its_number(tree: Tree) -> None:
    files = information("10000:01:00.0", 1) | information("0002:01:00.0", 0)
    root = tree(files | {"/dev/nvidia0": "", "/dev/nvidia1": ""})
    assert [str(gpu.pci) for gpu in nvidia_by_files(root)] == ["0002:01:00.0", "10000:01:00.0"]


MINOR_NAMES = {"nvidia0": [0], "nvidia254": [254], "nvidia": [], "nvidia-caps": [], "nvidia٣": [], "nvidia0x": []}


@pytest.mark.parametrize("name", MINOR_NAMES)
def test_minors_are_numbers(tree: Tree, name: str) -> None:
    assert nvidia_minors(tree({f"/dev/{name}": ""})) == MINOR_NAMES[name]


@pytest.mark.parametrize("text", ["", "\0\0", "Device Minor", "GPU UUID: \t GPU-1\n"])
def test_an_information_file_without_a_minor_is_no_gpu_here(tree: Tree, text: str) -> None:
    assert nvidia_by_files(tree({f"{GPUS}/0000:3b:00.0/information": text, "/dev/nvidia0": ""})) == []


@pytest.mark.parametrize("minor", ["x", "", "٠", "9" * 5000, "1 2"])
def test_a_minor_that_makes_no_sense_is_named_with_its_file(tree: Tree, minor: str) -> None:
    root = tree(information("0000:3b:00.0", minor) | {"/dev/nvidia0": ""})
    with pytest.raises(CannotRead, match=f"^{GPUS}/0000:3b:00.0/information cannot be understood: "):
        nvidia_by_files(root)


def test_directories_that_are_no_gpus_are_passed_over(tree: Tree) -> None:
    files = {f"{GPUS}/{name}/information": "Device Minor: 0" for name in ("none", "0000:3b:00.9", "..3b")}
    assert nvidia_by_files(tree(files | {"/dev/nvidia0": ""})) == []


STATES = {
    "online": ("Node:      255\nStatus:    online\nAddress:   400000000000\nSize:      4000000000\n", [255]),
    "no node": ("Node:      -1\nStatus:    disabled\n", []),
    "empty": ("", []),
}


@pytest.mark.parametrize(("text", "nodes"), STATES.values(), ids=STATES)
def test_the_node_of_a_gpus_own_memory(tree: Tree, text: str, nodes: list[int]) -> None:
    assert gpu_memory_nodes(tree({f"{GPUS}/0004:04:00.0/numa_status": text})) == NodeSet.of(nodes)


@pytest.mark.parametrize("node", ["many", "9223372036854775807", "99999999999"])
@pytest.mark.usefixtures("little_memory")
def test_a_gpus_node_that_makes_no_sense_is_named_with_its_file(tree: Tree, node: str) -> None:
    root = tree({f"{GPUS}/0004:04:00.0/numa_status": f"Node: {node}\n"})
    with pytest.raises(CannotRead, match=f"^{GPUS}/0004:04:00.0/numa_status cannot be understood: "):
        gpu_memory_nodes(root)


def test_amd_gpus_are_the_render_nodes_that_exist(machine: Machine) -> None:
    root = machine(*TWO_NODES, "amd 0000:c1:00.0 node=1", "amd 0000:05:00.0 node=0", "amd 0000:25:00.0 node=0 foreign")
    assert amd_by_files(root) == [
        Accelerator(PciAddress.parse("0000:05:00.0"), 0, "amd", device="/dev/dri/renderD129"),
        Accelerator(PciAddress.parse("0000:c1:00.0"), 1, "amd", device="/dev/dri/renderD128"),
    ]


@pytest.mark.parametrize("vendor", ["0x10de", "0x8086", "0x1a03"])
def test_render_nodes_of_other_makers_are_no_amd_gpus(machine: Machine, vendor: str) -> None:
    files = {"/sys/devices/pci0000:c1/0000:c1:00.0/vendor": vendor}
    root = machine(*TWO_NODES, "amd 0000:c1:00.0 node=1", files=files)
    assert root.resolve("/sys/bus/pci/devices/0000:c1:00.0") == "/sys/devices/pci0000:c1/0000:c1:00.0"
    assert amd_by_files(root) == []


def test_a_card_without_a_render_node_is_no_accelerator(machine: Machine) -> None:
    links = {"/sys/class/drm/card0/device": "/sys/bus/pci/devices/0000:c1:00.0"}
    root = machine(*TWO_NODES, "amd 0000:c1:00.0 node=1 foreign", files={"/dev/dri/card0": ""}, links=links)
    assert amd_by_files(root) == []


def test_two_render_nodes_of_one_gpu_are_one_accelerator(machine: Machine) -> None:
    """Partitions of an MI300 whose render nodes lie under the same function."""
    links = {"/sys/class/drm/renderD129/device": "/sys/bus/pci/devices/0000:c1:00.0"}
    root = machine(*TWO_NODES, "amd 0000:c1:00.0 node=1", files={"/dev/dri/renderD129": ""}, links=links)
    assert [str(gpu.pci) for gpu in amd_by_files(root)] == ["0000:c1:00.0"]


def test_gaudi_devices_are_the_accel_files_that_exist(machine: Machine) -> None:
    root = machine(*TWO_NODES, "gaudi 0000:d1:00.0 node=1", "gaudi 0000:33:00.0 node=0", "gaudi 0000:34:00.0 foreign")
    assert [(gpu.index, gpu.vendor, str(gpu.pci)) for gpu in gaudi_by_files(root)] == [
        (0, "gaudi", "0000:d1:00.0"),
        (1, "gaudi", "0000:33:00.0"),
    ]


def test_gaudi_by_its_link_where_the_driver_writes_no_address(tree: Tree) -> None:
    place = "/sys/devices/pci0000:33/0000:33:00.0"
    root = tree({f"{place}/vendor": "0x1da3", "/dev/accel/accel3": ""}, {"/sys/class/accel/accel3/device": place})
    assert [str(gpu.pci) for gpu in gaudi_by_files(root)] == ["0000:33:00.0"]


def test_control_devices_of_gaudi_are_no_accelerators(tree: Tree) -> None:
    assert gaudi_by_files(tree({"/dev/accel/accel_controlD0": "", "/dev/accel/accel": ""})) == []


def test_a_gaudi_that_sysfs_hides_is_an_accelerator_without_a_place(tree: Tree) -> None:
    assert gaudi_by_files(tree({"/dev/accel/accel0": ""})) == [
        Accelerator(None, 0, "gaudi", device="/dev/accel/accel0")
    ]


def test_gaudi_devices_are_in_the_order_of_their_numbers(tree: Tree) -> None:
    files = {f"/dev/accel/accel{index}": "" for index in (0, 2, 10)}
    files |= {f"/sys/class/accel/accel{index}/device/pci_addr": f"0000:{index + 0x30:02x}:00.0" for index in (0, 2, 10)}
    assert [str(gpu.pci) for gpu in gaudi_by_files(tree(files))] == ["0000:30:00.0", "0000:32:00.0", "0000:3a:00.0"]
