"""Which worker has which accelerator: by rank, checked against what it holds open; never guessed."""

import pytest

from numapin.engine import Workers
from numapin.placement.workers import tell
from tests.keeper.trees import TWO, VLLM, orders, process, share, tree

FOUR = tuple(share(index, f"{2 * index}-{2 * index + 1}", index // 2) for index in range(4))


def told(*workers, shares=TWO, how=VLLM) -> dict[int, int]:
    """Index of the accelerator by process."""
    found = tell(tree(*workers), orders(workers=how, shares=shares))
    return {pid: one.index for pid, one in found.shares.items()}


def untold(*workers, shares=TWO, how=VLLM) -> dict[int, str]:
    return dict(tell(tree(*workers), orders(workers=how, shares=shares)).untold)


def worker(pid: int, title: str, held: str | None = "", **variables: str):
    devices = None if held is None else frozenset(f"/dev/nvidia{number}" for number in held)
    return process(pid, title, variables=variables, devices=devices)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ("TP0 TP1 TP2 TP3", [0, 1, 2, 3]),
        ("TP3 TP0", [3, 0]),
        ("PP0_TP0 PP0_TP1 PP1_TP0 PP1_TP1", [0, 1, 2, 3]),
        ("PP1 PP0", [1, 0]),
        ("DP0_TP0_EP0 DP0_TP1_EP1 DP1_TP0_EP2 DP1_TP1_EP3", [0, 1, 2, 3]),
        # The second host of two.
        ("TP5 TP4 TP6 TP7", [1, 0, 2, 3]),
    ],
)
def test_ranks_in_titles(ranks, expected):
    found = told(*(worker(10 + place, f"VLLM::Worker_{rank}") for place, rank in enumerate(ranks.split())), shares=FOUR)
    assert found == {10 + place: index for place, index in enumerate(expected)}


def test_a_grid_that_is_not_complete_says_nothing_yet():
    """PP1_TP0 alone may be the second or the fourth."""
    titles = ["VLLM::Worker_PP1_TP0", "VLLM::Worker_PP0_TP0"]
    reasons = untold(*(worker(10 + place, title) for place, title in enumerate(titles)), shares=FOUR)
    assert set(reasons) == {10, 11}
    assert "neither" in reasons[10]
    # One of them holds its accelerator open.
    assert told(worker(10, titles[0], "2"), worker(11, titles[1]), shares=FOUR) == {10: 2}


def test_four_of_eight_are_no_grid_although_they_look_like_one():
    """PP1_TP0 is the fifth of PP2 TP4, not the third."""
    eight = tuple(share(index, str(index), index // 4) for index in range(8))
    early = [worker(10 + 2 * pp + tp, f"VLLM::Worker_PP{pp}_TP{tp}") for pp in (0, 1) for tp in (0, 1)]
    assert told(*early, shares=eight) == {}
    late = [worker(10 + 4 * pp + tp, f"VLLM::Worker_PP{pp}_TP{tp}") for pp in (0, 1) for tp in range(4)]
    assert told(*late, shares=eight) == {10 + index: index for index in range(8)}


def test_a_worker_without_a_rank_is_told_by_the_only_device_that_it_holds():
    assert told(worker(10, "VLLM::Worker", "1")) == {10: 1}
    assert untold(worker(10, "VLLM::Worker", "01")) != {}
    assert untold(worker(10, "VLLM::Worker", "")) != {}
    assert untold(worker(10, "VLLM::Worker", None)) != {}


def test_cuda_opens_all_devices_and_that_contradicts_nothing():
    assert told(worker(10, "VLLM::Worker_TP0", "01"), worker(11, "VLLM::Worker_TP1", "01")) == {10: 0, 11: 1}


def test_a_rank_that_the_open_devices_contradict_is_none():
    reasons = untold(worker(10, "VLLM::Worker_TP0", "1"))
    assert reasons == {10: "its rank 0 stands for GPU 0, but it holds GPU 1 open"}


def test_a_rank_that_several_have_is_nobodys():
    """A variable that the whole container has says nothing of its workers."""
    workers = [worker(pid, "VLLM::Worker", LOCAL_RANK="0") for pid in (10, 11)]
    assert untold(*workers) == {10: "several workers have the rank 0", 11: "several workers have the rank 0"}


@pytest.mark.parametrize("expression", [r"_TP(\w+)", r"_TP(\d*)", r"(?:_TP(\d+))?", r"_TP(\D*)"])
def test_an_expression_of_an_operator_may_match_what_is_no_number(expression):
    how = Workers("^w", (expression,))
    assert untold(worker(10, "w_TPx"), worker(11, "w"), worker(12, "w_TP"), how=how) != {}
    assert told(worker(10, "w_TP" + "9" * 5000), how=how) == {}


def test_a_rank_beyond_the_accelerators_is_none():
    assert "its rank is 7" in untold(worker(10, "VLLM::Worker_TP7"))[10]


def test_the_environment_goes_before_the_title():
    """It is there from birth."""
    assert told(worker(10, "VLLM::Worker", LOCAL_RANK="1")) == {10: 1}
    assert told(worker(10, "VLLM::Worker_TP0", LOCAL_RANK="1")) == {10: 1}
    assert untold(worker(10, "VLLM::Worker", LOCAL_RANK="one")) != {}


def test_a_worker_sees_what_its_own_variable_names():
    """Data parallel ranks: both have TP0, each with another part of the accelerators."""
    groups = [("2,3", 10), ("0,1", 20)]
    workers = [
        worker(pid + rank, f"VLLM::Worker_DP{pid // 20}_TP{rank}", CUDA_VISIBLE_DEVICES=visible)
        for visible, pid in groups
        for rank in (0, 1)
    ]
    assert told(*workers, shares=FOUR) == {10: 2, 11: 3, 20: 0, 21: 1}
    assert told(worker(10, "VLLM::Worker_TP0", CUDA_VISIBLE_DEVICES="GPU-1"), shares=FOUR) == {10: 1}
    assert untold(worker(10, "VLLM::Worker_TP0", CUDA_VISIBLE_DEVICES="GPU-none"), shares=FOUR) != {}


def test_what_a_worker_started_goes_with_it():
    child = process(50, "python3 -c from multiprocessing", parent=11)
    assert told(worker(10, "VLLM::Worker_TP0"), worker(11, "VLLM::Worker_TP1"), child) == {10: 0, 11: 1, 50: 1}


def test_no_other_process_is_a_worker():
    """EngineCore and the server stay on the union, also with a rank in their environment."""
    assert told(process(9, "VLLM::EngineCore", variables={"LOCAL_RANK": "0"})) == {}


def test_an_engine_without_titles_is_known_by_its_variable():
    how = Workers("", (), ("OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK"))
    rank = {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "LOCAL_RANK": "0"}
    assert told(process(10, "python3 x.py", variables=rank), process(11, "python3 y.py"), how=how) == {10: 1}


def test_mig_devices_of_one_gpu_have_one_device_file():
    parts = (share(0, "0-1", 0, "/dev/nvidia0"), share(1, "2-3", 0, "/dev/nvidia0"), share(2, "4-7", 1))
    assert told(worker(10, "VLLM::Worker_TP1", "0"), shares=parts) == {10: 1}
    assert untold(worker(10, "VLLM::Worker", "0"), shares=parts) != {}
