"""GPUs through the command line: the real pynvml, and a driver library that tells what the test wants it to."""

from pathlib import Path

import pytest

from tests.nvml.driver import Error, Mig, answers
from tests.sources.nvml_runs import Driver, Run, gpu

EIGHT = answers([gpu(index) for index in range(8)])
LETTERS = "abcdefgh"
CODES = (1, 2, 3, 4, 7, 9, 12, 13, 15, 18, 999)


@pytest.fixture
def driver(library: Path, tmp_path: Path) -> Driver:
    return Driver(library, tmp_path / "answers")


def letters(run: Run) -> str:
    """Which of EIGHT the report shows, in its order."""
    return "".join(one["uuid"][4] for one in run.gpus)


def test_one_gpu(driver: Driver) -> None:
    run = driver.check(answers([gpu(0)]))
    (found,) = run.gpus
    source = found.pop("source")
    assert source in ("nvml", "only-node")
    assert (found.pop("node"), run.exit, run.report["verdict"]) == (run.report["nodes"][0], 0, "aligned")
    assert found == {"index": 0, "vendor": "nvidia", "uuid": "GPU-aaaaaaaa-0000", "mig": None, "pci": "0009:03:00.0"}


def test_eight_gpus_in_the_order_of_the_bus(driver: Driver) -> None:
    run = driver.check(EIGHT)
    assert [(one["index"], one["uuid"], one["pci"]) for one in run.gpus] == [
        (index, f"GPU-{letter * 8}-0000", f"0009:{index + 3:02x}:00.0") for index, letter in enumerate(LETTERS)
    ]
    assert run.exit == 0


def test_a_domain_of_more_than_four_digits(driver: Driver) -> None:
    """NVML writes eight digits, of which pynvml's text keeps all; sysfs has as many as there are."""
    assert driver.check(answers([gpu(0, pci="0001ABCD:C1:1F.0")])).gpus[0]["pci"] == "1abcd:c1:1f.0"


VISIBLE = {
    "0": "a",
    "7,0,3": "had",
    "GPU-cccccccc-0000": "c",
    "GPU-h,GPU-b": "hb",
    "2,GPU-a": "ca",
    "": "",
    "-1": "",
    "4,-1,5": "e",
}


@pytest.mark.parametrize("value", VISIBLE)
def test_cuda_visible_devices_by_index_uuid_and_prefix(driver: Driver, value: str) -> None:
    run = driver.check(EIGHT, CUDA_VISIBLE_DEVICES=value)
    assert (letters(run), run.exit, run.messages("DEVICE_ABSENT")) == (VISIBLE[value], 0, [])
    assert [one["index"] for one in run.gpus] == list(range(len(VISIBLE[value])))


ENDS = {
    "1,8,2": ("b", "CUDA_VISIBLE_DEVICES=1,8,2 names 8, which is no device of this container"),
    "GPU-z,0": ("", "CUDA_VISIBLE_DEVICES=GPU-z,0 names GPU-z, which is no device of this container"),
    "0,GPU-,1": ("a", "CUDA_VISIBLE_DEVICES=0,GPU-,1 names GPU-, which is several devices (8)"),
    "0,MIG-1": ("a", "CUDA_VISIBLE_DEVICES=0,MIG-1 names MIG-1, which is no device of this container"),
    "3,x": ("d", "CUDA_VISIBLE_DEVICES=3,x names x, which is no device of this container"),
}


@pytest.mark.parametrize("value", ENDS)
def test_an_invalid_name_ends_the_list_and_is_told(driver: Driver, value: str) -> None:
    run = driver.check(EIGHT, CUDA_VISIBLE_DEVICES=value)
    seen, sentence = ENDS[value]
    (message,) = run.messages("DEVICE_ABSENT")
    assert (letters(run), run.exit, message.startswith(sentence)) == (seen, 0, True)


@pytest.mark.parametrize("value", ["void", "all", "none", "", "5", "GPU-aaaaaaaa-0000,GPU-bbbbbbbb-0000"])
def test_nvidia_visible_devices_hides_nothing_that_is_there(driver: Driver, value: str) -> None:
    run = driver.check(EIGHT, NVIDIA_VISIBLE_DEVICES=value)
    assert (letters(run), run.messages("DEVICE_ABSENT"), run.exit) == (LETTERS, [], 0)


def test_a_uuid_that_the_runtime_did_not_give_is_told(driver: Driver) -> None:
    run = driver.check(EIGHT, NVIDIA_VISIBLE_DEVICES="GPU-aaaaaaaa-0000,GPU-zzzz")
    assert run.messages("DEVICE_ABSENT") == [
        "NVIDIA_VISIBLE_DEVICES names GPU-zzzz, which is no device of this container"
    ]
    assert (letters(run), run.exit) == (LETTERS, 0)


OPTIONS = {"0": "a", "7,GPU-b": "hb", "0009:05:00.0": "c", "00000009:05:00.0": "c", "none": "", "auto": LETTERS}


@pytest.mark.parametrize("names", OPTIONS)
def test_gpus_takes_index_uuid_prefix_and_address(driver: Driver, names: str) -> None:
    run = driver.check(EIGHT, "--gpus", names)
    assert (letters(run), run.exit) == (OPTIONS[names], 0)


@pytest.mark.parametrize("names", ["8", "GPU-z", "GPU-", "0009:99:00.0", "MIG-1"])
def test_gpus_names_what_is_not_here(driver: Driver, names: str) -> None:
    run = driver.check(EIGHT, "--gpus", names)
    assert (run.exit, run.report) == (2, {})
    assert run.err.startswith(f"numapin: --gpus {names}")


@pytest.mark.parametrize(("expected", "status"), [("8", 0), ("7", 69), ("9", 69)])
def test_as_many_gpus_as_expected(driver: Driver, expected: str, status: int) -> None:
    assert driver.check(EIGHT, "--expect-gpus", expected).exit == status


MIGS = answers([gpu(0), gpu(1)], [Mig(gpu=1, uuid="MIG-x1", index=2), Mig(gpu=1, uuid="MIG-y2")])
MIG_ORDERS = {
    None: [None, "MIG-y2", "MIG-x1"],
    "MIG-x1": ["MIG-x1"],
    "MIG-y,MIG-x": ["MIG-y2", "MIG-x1"],
    "GPU-a": [None],
    "2,0": ["MIG-x1", None],
}


@pytest.mark.parametrize("value", MIG_ORDERS)
def test_mig_devices_stand_for_their_gpu(driver: Driver, value: str | None) -> None:
    run = driver.check(MIGS, **({} if value is None else {"CUDA_VISIBLE_DEVICES": value}))
    assert [one["mig"] for one in run.gpus] == MIG_ORDERS[value]
    assert {one["pci"] for one in run.gpus if one["mig"]} <= {"0009:04:00.0"}
    assert run.exit == 0


WHOLE = ("nvmlInitWithFlags", "nvmlDeviceGetCount_v2")
DETAILS = (
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetCpuAffinityWithinScope",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlShutdown",
)
ONE_OF_EACH = [gpu(0)], [Mig(gpu=0, uuid="MIG-0")]


@pytest.mark.parametrize("function", WHOLE)
def test_a_library_that_does_not_answer_is_told_with_the_call(driver: Driver, function: str) -> None:
    """69 for every code: nobody can say which GPUs are here."""
    for code in CODES:
        run = driver.check(answers(*ONE_OF_EACH, [Error(function, code)]))
        (message,) = run.messages("GPU_HIDDEN")
        call = function.removesuffix("WithFlags").removesuffix("_v2")
        assert (code, run.exit, run.gpus, call in message) == (code, 69, [], True)


def test_a_gpu_that_cannot_be_looked_at_is_told_by_its_index(driver: Driver) -> None:
    for code in CODES:
        run = driver.check(answers([gpu(0), gpu(1)], errors=[Error("nvmlDeviceGetHandleByIndex_v2", code, gpu=1)]))
        (message,) = run.messages("GPU_HIDDEN")
        assert (code, run.exit, letters(run)) == (code, 69, "a")
        assert message.startswith("GPU 1 cannot be looked at: ")


@pytest.mark.parametrize("function", DETAILS)
def test_a_detail_that_is_not_answered_is_unknown_and_no_more(driver: Driver, function: str) -> None:
    for code in CODES:
        run = driver.check(answers(*ONE_OF_EACH, [Error(function, code)]), "--unknown", "warn")
        assert (code, run.exit, len(run.gpus)) == (code, 0, 1)
        assert (run.gpus[0]["uuid"] is None) == (function == "nvmlDeviceGetUUID")
        assert (run.gpus[0]["pci"] is None) == (function == "nvmlDeviceGetPciInfo_v3")


def test_a_lost_gpu_among_eight_is_the_only_one_missing(driver: Driver) -> None:
    told = answers([gpu(i) for i in range(8)], errors=[Error("nvmlDeviceGetHandleByIndex_v2", 15, gpu=3)])
    run = driver.check(told)
    assert (letters(run), run.exit, len(run.messages("GPU_HIDDEN"))) == ("abcefgh", 69, 1)


def test_an_answer_that_is_no_text_is_unknown(driver: Driver) -> None:
    run = driver.check(answers([gpu(0)]).encode().replace(b"GPU-aaaaaaaa", b"GPU-\xff\xff"))
    assert (run.exit, run.gpus[0]["uuid"]) == (0, None)


def test_without_a_driver_there_is_no_gpu_and_nothing_to_tell(driver: Driver, tmp_path: Path) -> None:
    run = driver.check(EIGHT, LD_LIBRARY_PATH=str(tmp_path))
    assert (run.exit, run.gpus, run.report["reasons"]) == (0, [], [])


def test_a_library_that_does_not_load_is_told(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    run = driver.check(EIGHT, LD_LIBRARY_PATH=str(tmp_path))
    assert (run.exit, run.gpus) == (69, [])
    assert "nvmlInit: NVML Shared Library Not Found" in run.messages("GPU_HIDDEN")[0]


MODULES = {
    "it cannot be imported": "raise ImportError('not today')",
    "another package of that name, years old": "class NVMLError(Exception): pass\ndef nvmlInit(): pass\n",
    "it fails in its own way": "raise RuntimeError('not today')",
}


@pytest.mark.parametrize("source", MODULES.values(), ids=MODULES)
def test_a_pynvml_that_is_of_no_use_is_told(driver: Driver, tmp_path: Path, source: str) -> None:
    (tmp_path / "pynvml.py").write_text(source)
    run = driver.check(EIGHT, PYTHONPATH=str(tmp_path))
    assert (run.exit, run.gpus) == (69, [])
    assert "pynvml" in run.messages("GPU_HIDDEN")[0]
