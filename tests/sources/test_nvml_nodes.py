"""The library's GPUs on a machine of two nodes: another machine's files under the live library."""

from pathlib import Path

import pytest

from tests.nvml.driver import Error, answers
from tests.sources.nvml_runs import Driver, Run, gpu
from tests.sources.trees import TWO_NODES, build

LETTERS = "abcdefgh"


@pytest.fixture
def driver(library: Path, tmp_path: Path) -> Driver:
    return Driver(library, tmp_path / "answers")


def letters(run: Run) -> str:
    return "".join(one["uuid"][4] for one in run.gpus)


def two_nodes(tmp_path: Path) -> Path:
    """The files of a machine of two nodes with eight GPUs, four beside each."""
    lines = [f"gpu 0009:{i + 3:02x}:00.0 node={i // 4} uuid=GPU-{c * 8}-0000" for i, c in enumerate(LETTERS)]
    root = tmp_path / "root"
    build(root, *TWO_NODES, *lines, "container cpus=0-15 mems=0-1")
    return root


TWO = answers([gpu(index, cpus=("0-7", "8-15")[index // 4]) for index in range(8)])


def test_eight_gpus_on_two_nodes(driver: Driver, tmp_path: Path) -> None:
    run = driver.standing(two_nodes(tmp_path), TWO)
    assert [(one["node"], one["source"]) for one in run.gpus] == [(0, "sysfs")] * 4 + [(1, "sysfs")] * 4
    assert (run.report["verdict"], len(run.messages("GPUS_SPAN_NODES"))) == ("misaligned", 1)


@pytest.mark.parametrize(("value", "node"), [("0,1,2,3", 0), ("7,GPU-e", 1)])
def test_gpus_of_one_node_are_aligned(driver: Driver, tmp_path: Path, value: str, node: int) -> None:
    run = driver.standing(two_nodes(tmp_path), TWO, CUDA_VISIBLE_DEVICES=value)
    assert (run.report["verdict"], run.report["nodes"]) == ("aligned", [node])


def test_where_sysfs_is_silent_the_library_says_which_cpus_are_near(driver: Driver, tmp_path: Path) -> None:
    """GPUs that the bus does not show, as in some virtual machines."""
    build(tmp_path / "root", *TWO_NODES, "container cpus=0-15 mems=0-1", files={"/dev/nvidiactl": ""})
    told = answers([gpu(0, cpus="8-15"), gpu(1, cpus="0-15"), gpu(2, cpus=None)])
    run = driver.standing(tmp_path / "root", told)
    assert [(one["node"], one["source"]) for one in run.gpus] == [(1, "nvml"), (None, None), (None, None)]
    assert run.report["verdict"] == "unknown"


def test_a_driver_that_was_upgraded_under_the_container_falls_back_to_its_files(driver: Driver, tmp_path: Path) -> None:
    """NVML_ERROR_LIB_RM_VERSION_MISMATCH."""
    told = answers([gpu(0)], errors=[Error("nvmlInitWithFlags", 18)])
    run = driver.standing(two_nodes(tmp_path), told, CUDA_VISIBLE_DEVICES="5,4")
    (message,) = run.messages("GPU_HIDDEN")
    assert "RM has detected an NVML/RM version mismatch" in message
    assert "the driver's files were read instead" in message
    assert (letters(run), run.report["verdict"], run.report["nodes"]) == ("fe", "aligned", [1])
