"""The GPUs that the server will see: which source answers, and what the environment narrows them to."""

import json

import pytest

from numapin.ids import CpuSet
from numapin.sources.accelerators import Found, read_accelerators
from tests.sources.trees import TWO_NODES, Machine, Tree

UUIDS = [f"GPU-{letter * 8}-0000-4000-8000-00000000000{index}" for index, letter in enumerate("abcd")]
FOUR = tuple(f"gpu 0000:{0x3B + i:02x}:00.0 node={i // 2} uuid={uuid}" for i, uuid in enumerate(UUIDS))


def gpus(machine: Machine, *lines: str, **environment: str) -> Found:
    return read_accelerators(machine(*TWO_NODES, *lines), environment)


def places(found: Found) -> list[int]:
    """Which of FOUR, by the number in their bus."""
    return [one.pci.bus - 0x3B for one in found.accelerators if one.pci]


ORDERS = {
    "0": [0],
    "3,1": [3, 1],
    "0,1,2,3": [0, 1, 2, 3],
    " 2 , 0 ": [2, 0],
    UUIDS[2]: [2],
    f"{UUIDS[3]},{UUIDS[0]}": [3, 0],
    "GPU-bb": [1],
    "GPU-dddd,0": [3, 0],
    "": [],
    "-1": [],
    "1,-1,0": [1],
    "NoDevFiles": [],
    "1,1,0": [1, 0],
}


@pytest.mark.parametrize("value", ORDERS)
def test_cuda_sees_the_gpus_that_the_variable_names_in_its_order(machine: Machine, value: str) -> None:
    found = gpus(machine, *FOUR, CUDA_VISIBLE_DEVICES=value)
    assert places(found) == ORDERS[value]
    assert [one.index for one in found.accelerators] == list(range(len(ORDERS[value])))
    assert found.notes == ()


INVALID = {
    "4": ([], "4", "no device of this container"),
    "1,4,0": ([1], "4", "no device of this container"),
    "0,GPU-eeee,1": ([0], "GPU-eeee", "no device of this container"),
    "2,GPU-,0": ([2], "GPU-", "several devices (4)"),
    "0,MIG-1,1": ([0], "MIG-1", "no device of this container"),
    "first": ([], "first", "no device of this container"),
    "0,٣": ([0], "٣", "no device of this container"),
    "1," + "9" * 5000: ([1], "9" * 5000, "no device of this container"),
}


@pytest.mark.parametrize("value", INVALID, ids=lambda value: value[:20])
def test_the_first_name_that_is_no_device_ends_the_list(machine: Machine, value: str) -> None:
    seen, token, what = INVALID[value]
    found = gpus(machine, *FOUR, CUDA_VISIBLE_DEVICES=value)
    assert places(found) == seen
    (note,) = found.notes
    assert (note.code, note.warns) == ("DEVICE_ABSENT", True)
    assert note.subject.startswith(token[:20])
    assert what in note.message


@pytest.mark.parametrize("value", ["void", "all", "none", "", "0", "7", UUIDS[0], f"{UUIDS[3]},{UUIDS[1]}"])
def test_nvidia_visible_devices_narrows_nothing(machine: Machine, value: str) -> None:
    """`void` is what CDI writes while the GPUs are there; indices are the host's."""
    found = gpus(machine, *FOUR, NVIDIA_VISIBLE_DEVICES=value)
    assert (places(found), found.notes) == ([0, 1, 2, 3], ())


def test_a_uuid_that_the_runtime_was_asked_for_and_did_not_give_is_absent(machine: Machine) -> None:
    found = gpus(machine, *FOUR, NVIDIA_VISIBLE_DEVICES=f"{UUIDS[0]},GPU-eeee")
    assert [(note.code, note.subject, note.warns) for note in found.notes] == [("DEVICE_ABSENT", "GPU-eeee", True)]


@pytest.mark.parametrize("name", ["NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_a_uuid_is_absent_too_where_no_gpu_is_to_be_seen(machine: Machine, name: str) -> None:
    """The pod asked for a GPU and its runtime class gave none: the one case that must not pass in silence."""
    found = gpus(machine, **{name: UUIDS[0]})
    assert [(note.code, note.subject) for note in found.notes] == [("DEVICE_ABSENT", UUIDS[0])]


def captured(*gpus: dict[str, object], **more: object) -> dict[str, str]:
    return {"/numapin/nvml.json": json.dumps({"gpus": list(gpus)} | more)}


def test_a_capture_tells_what_nvml_answered(machine: Machine) -> None:
    entry = {"index": 0, "uuid": UUIDS[0], "pci": "00000000:3B:00.0", "cpus": "0-3", "migs": ["MIG-a", "MIG-b"]}
    found = read_accelerators(machine(*TWO_NODES, FOUR[0], files=captured(entry)), {})
    assert [(one.index, one.uuid, str(one.pci), one.mig) for one in found.accelerators] == [
        (0, UUIDS[0], "0000:3b:00.0", "MIG-a"),
        (1, UUIDS[0], "0000:3b:00.0", "MIG-b"),
    ]
    assert {one.cpu_affinity for one in found.accelerators} == {CpuSet.parse("0-3")}


MIGS = {"MIG-b1,MIG-a": ["MIG-b1", "MIG-a"], "MIG-b": ["MIG-b1"], "1": ["MIG-b1"], "MIG-": []}


@pytest.mark.parametrize("value", MIGS)
def test_mig_devices_by_uuid_prefix_and_index(machine: Machine, value: str) -> None:
    entry = {"index": 0, "uuid": UUIDS[0], "pci": "0000:3b:00.0", "migs": ["MIG-a", "MIG-b1"]}
    root = machine(*TWO_NODES, FOUR[0], files=captured(entry))
    found = read_accelerators(root, {"CUDA_VISIBLE_DEVICES": value})
    assert [one.mig for one in found.accelerators] == MIGS[value]


def test_the_mig_name_of_drivers_before_470(machine: Machine) -> None:
    entry = {"index": 0, "uuid": UUIDS[0], "pci": "0000:3b:00.0", "migs": [f"MIG-{UUIDS[0]}/3/0"]}
    root = machine(*TWO_NODES, FOUR[0], files=captured(entry))
    found = read_accelerators(root, {"CUDA_VISIBLE_DEVICES": f"MIG-{UUIDS[0]}/3/0"})
    assert [one.mig for one in found.accelerators] == [f"MIG-{UUIDS[0]}/3/0"]


def test_a_library_that_fails_gives_way_to_the_drivers_files(machine: Machine) -> None:
    files = captured(failure="nvmlInit: Driver/library version mismatch")
    found = read_accelerators(machine(*TWO_NODES, *FOUR, files=files), {})
    assert places(found) == [0, 1, 2, 3]
    (note,) = found.notes
    assert (note.code, note.warns) == ("GPU_HIDDEN", True)
    assert "Driver/library version mismatch" in note.message


def test_device_files_that_nobody_explains_are_hidden_gpus(machine: Machine) -> None:
    found = read_accelerators(machine(*TWO_NODES, files={"/dev/nvidia0": "", "/dev/nvidia1": ""}), {})
    (note,) = found.notes
    assert (note.code, note.warns, found.accelerators) == ("GPU_HIDDEN", False, ())
    assert note.message.startswith("2 of the /dev/nvidia* devices cannot be looked at")


def test_a_lost_gpu_is_hidden_and_the_others_are_seen(machine: Machine) -> None:
    files = captured({"index": 1, "pci": "0000:3c:00.0"}, lost=[[0, "GPU is lost"]])
    found = read_accelerators(machine(*TWO_NODES, *FOUR[:2], files=files), {})
    assert (places(found), [note.subject for note in found.notes]) == ([1], ["GPU 0"])


AMD = ("amd 0000:3b:00.0 node=0", "amd 0000:3c:00.0 node=0", "amd 0000:3d:00.0 node=1", "amd 0000:3e:00.0 node=1")
ROCM = {
    "all": ({}, [0, 1, 2, 3]),
    "ROCr": ({"ROCR_VISIBLE_DEVICES": "2,1"}, [2, 1]),
    "HIP": ({"HIP_VISIBLE_DEVICES": "3"}, [3]),
    "CUDA's variable, which HIP reads too": ({"CUDA_VISIBLE_DEVICES": "1,0"}, [1, 0]),
    "HIP's before CUDA's": ({"CUDA_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, [0]),
    "HIP's index is among those that ROCr shows": (
        {"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"},
        [3],
    ),
    "none": ({"HIP_VISIBLE_DEVICES": "-1"}, []),
}


@pytest.mark.parametrize(("environment", "expected"), ROCM.values(), ids=ROCM)
def test_amd_gpus_in_the_order_of_their_variables(machine: Machine, environment, expected) -> None:
    found = gpus(machine, *AMD, **environment)
    assert (places(found), found.notes) == (expected, ())


def test_no_accelerator_at_all(tree: Tree) -> None:
    assert read_accelerators(tree({}), {}) == Found()


SENSELESS = {
    "not JSON": "{",
    "a list": "[]",
    "no GPUs": "{}",
    "GPUs that are none": '{"gpus": [1]}',
    "an address that is none": '{"gpus": [{"index": 0, "pci": "here"}]}',
    "an address that is a number": '{"gpus": [{"index": 0, "pci": 5}]}',
    "CPUs that are none": '{"gpus": [{"index": 0, "cpus": "all"}]}',
    "a UUID that is a number": '{"gpus": [{"index": 0, "uuid": 5}]}',
    "a UUID that is a list": '{"gpus": [{"index": 0, "uuid": ["GPU-0"]}]}',
    "a MIG that is a number": '{"gpus": [{"index": 0, "migs": [1]}]}',
    "MIGs that are one text": '{"gpus": [{"index": 0, "migs": "MIG-1"}]}',
    "an index without an end": '{"gpus": [{"index": Infinity}]}',
    "a number of 5000 digits": f'{{"gpus": [{{"index": {"9" * 5000}}}]}}',
    "deep": "[" * 100_000,
    "a failure that is no text": '{"gpus": [], "failure": ["x"]}',
}


@pytest.mark.parametrize("text", SENSELESS.values(), ids=SENSELESS)
def test_a_record_of_nvml_that_makes_no_sense_is_named(machine: Machine, text: str) -> None:
    root = machine(*TWO_NODES, files={"/numapin/nvml.json": text})
    with pytest.raises(Exception, match=r"^/numapin/nvml\.json cannot be understood: "):
        read_accelerators(root, {"CUDA_VISIBLE_DEVICES": "GPU-0"})
