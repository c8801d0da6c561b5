"""Which devices --gpus, --rdma, --nics and --home name, and what is said of names that stand for nothing here."""

import pytest

from numapin.errors import UsageError
from numapin.settings import Settings
from numapin.sources.machine import read_machine
from tests.sources.trees import TWO_NODES, Machine

UUIDS = ("GPU-aaaa1111", "GPU-aaaa2222", "GPU-bbbb3333")
LINES = (
    *TWO_NODES,
    *(f"gpu 0000:{0x3B + i:02x}:00.0 node=0 uuid={uuid}" for i, uuid in enumerate(UUIDS)),
    "rdma mlx5_0 pci=0000:4c:00.0 node=0 netdev=ib0",
    "rdma mlx5_1 pci=0000:4d:00.0 node=1",
    "nic eth1 pci=0000:5e:00.1 node=0",
    "nic eth2 pci=0000:5e:00.2 node=0",
    "container cpus=0-15 mems=0-1",
)

GPUS = {
    "auto": [0, 1, 2],
    "none": [],
    "0": [0],
    "2,0": [2, 0],
    "GPU-aaaa2222": [1],
    "gpu-aaaa2222": [1],
    "GPU-b": [2],
    "0000:3c:00.0": [1],
    "0000:3C:00.0": [1],
    "00000000:3C:00.0": [1],
    "1,GPU-aaaa2222,0000:3c:00.0": [1],
}


@pytest.mark.parametrize("names", GPUS)
def test_gpus_by_index_uuid_prefix_and_address(machine: Machine, names: str) -> None:
    _, assignment = read_machine(machine(*LINES), Settings(gpus=tuple(names.split(","))))
    assert [one.index for one in assignment.accelerators] == GPUS[names]


REFUSED = {
    "GPU-aaaa": (
        "--gpus GPU-aaaa stands for several devices: GPU 0 (0000:3b:00.0), GPU 1 (0000:3c:00.0). Write more of it"
    ),
    "GPU-cccc": (
        "--gpus GPU-cccc: there is no such device here. "
        "Visible are: GPU 0 (0000:3b:00.0), GPU 1 (0000:3c:00.0), GPU 2 (0000:3d:00.0)"
    ),
    "3": "--gpus 3: there is no such device here. ",
    "0000:3b": "--gpus 0000:3b: there is no such device here. ",
    "MIG-1": "--gpus MIG-1: there is no such device here. ",
    "0,auto": "--gpus auto: there is no such device here. ",
}


@pytest.mark.parametrize("names", REFUSED)
def test_a_gpu_that_is_not_here_is_named(machine: Machine, names: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_machine(machine(*LINES), Settings(gpus=tuple(names.split(","))))
    assert caught.value.message.startswith(REFUSED[names])


def test_the_index_is_that_of_what_the_server_sees(machine: Machine) -> None:
    lines = (*LINES[:-1], "container cpus=0-15 env=CUDA_VISIBLE_DEVICES=2,1")
    _, assignment = read_machine(machine(*lines), Settings(gpus=("0",)))
    assert [one.uuid for one in assignment.accelerators] == ["GPU-bbbb3333"]


def test_a_mig_device_by_its_uuid(machine: Machine) -> None:
    captured = '{"gpus": [{"index": 0, "uuid": "GPU-a", "pci": "0000:3b:00.0", "migs": ["MIG-x1", "MIG-y2"]}]}'
    root = machine(*LINES, files={"/numapin/nvml.json": captured})
    _, assignment = read_machine(root, Settings(gpus=("MIG-y",)))
    assert [one.mig for one in assignment.accelerators] == ["MIG-y2"]


NETWORK = {
    "both named": ({"rdma": ("mlx5_1",), "nics": ("eth2",)}, ["mlx5_1"], ["eth2"]),
    "none": ({"rdma": ("none",), "nics": ("none",)}, [], []),
    "by address": ({"rdma": ("0000:4c:00.0",), "nics": ("0000:5e:00.1",)}, ["mlx5_0"], ["eth1"]),
    "the interface of an RDMA device": ({"nics": ("ib0", "eth1")}, ["mlx5_0", "mlx5_1"], ["ib0", "eth1"]),
}


@pytest.mark.parametrize(("fields", "rdma", "nics"), NETWORK.values(), ids=NETWORK)
def test_rdma_devices_and_interfaces_by_name(machine: Machine, fields, rdma, nics) -> None:
    _, assignment = read_machine(machine(*LINES), Settings(**fields))
    assert [one.name for one in assignment.rdma] == rdma
    assert [one.name for one in assignment.nics] == nics


@pytest.mark.parametrize(("field", "name"), [("rdma", "mlx5"), ("rdma", "eth1"), ("nics", "eth"), ("nics", "mlx5_0")])
def test_a_name_may_not_be_cut_short(machine: Machine, field: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"^--{field} {name}: there is no such device here. Visible are: "):
        read_machine(machine(*LINES), Settings(**{field: (name,)}))


@pytest.mark.parametrize("name", ["0", "GPU-aaaa1111", "0000:3b:00.0", "mlx5_0", "eth2", "0000:5e:00.2"])
def test_home_takes_every_name_of_an_assigned_device(machine: Machine, name: str) -> None:
    read_machine(machine(*LINES), Settings(home={name: 1}))


HOMES = {
    "a device that is not here": ({"mlx5_9": 1}, "--home mlx5_9=1: there is no such device here. Assigned are: GPU 0"),
    "a node that is not here": (
        {"mlx5_0": 2},
        "--home mlx5_0=2: node 2 has no CPUs here, nodes with CPUs are 0-1",
    ),
    "a node that is no number of the kernel's": (
        {"mlx5_0": 10**30},
        f"--home mlx5_0={10**30}: node {10**30} has no CPUs",
    ),
}


@pytest.mark.parametrize(("home", "message"), HOMES.values(), ids=HOMES)
def test_a_home_that_cannot_be_is_refused(machine: Machine, home, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_machine(machine(*LINES), Settings(home=home))
    assert caught.value.message.startswith(message)
