"""Which threads a glob means: names are cut, inherited, and change."""

import pytest

from numapin.engine import HotRule
from numapin.placement.matching import fits, matches
from tests.keeper.trees import process


@pytest.mark.parametrize(
    ("glob", "name", "expected"),
    [
        ("NCCL Progress*", "NCCL Progress 0", True),
        ("NCCL Progress*", "NCCL Service  0", False),
        # The kernel cut both names at 15 characters.
        ("VLLM::EngineCore", "VLLM::EngineCor", True),
        ("VLLM::EngineCore*", "VLLM::EngineCor", True),
        ("VLLM::EngineCore_DP?", "VLLM::EngineCor", True),
        ("NCCL UDS Service 3", "NCCL UDS Servic", True),
        # Not cut: a shorter name is whole.
        ("VLLM::EngineCore", "VLLM::Engine", False),
        # A star that took the whole name leaves nothing of which the rest could have been cut off.
        ("*Service", "VLLM::EngineCor", False),
        ("*", "anything", True),
        ("pt_nccl_[wh]*", "pt_nccl_watchdg", True),
        ("[", "[", True),
        ("", "", True),
        ("é" * 8, "é" * 7, False),
        ("ZMQBG/IO/0", "ZMQbg/IO/0", False),
    ],
)
def test_a_glob_means_what_the_kernel_left_of_a_name(glob, name, expected):
    assert fits(glob, name) is expected


WORKER = process(10, "VLLM::Worker_TP0", "VLLM::Worker_TP", "NCCL Progress 0", "VLLM::Worker", "VLLM::Worker_TP", "vt")


def hot(glob: str, one=WORKER, title: str = "*") -> list[int]:
    return [thread.tid for thread in one.threads if matches(HotRule(glob, title), one, thread)]


def test_an_inherited_name_means_the_main_thread_alone():
    """Threads made before the rename are called VLLM::Worker, later ones as the main thread is."""
    assert hot("VLLM::Worker*") == [10]
    assert hot("VLLM::Worker") == []
    assert hot("VLLM*") == [10]


def test_a_main_thread_is_called_what_its_process_is():
    """Its own name is cut: TP0 and TP1 are one name to the kernel."""
    assert hot("VLLM::Worker_TP0") == [10]
    assert hot("VLLM::Worker_TP1") == []


def test_a_thread_with_a_name_of_its_own_is_meant_by_it():
    assert hot("NCCL*") == [11]
    assert hot("*") == [10, 11, 14]


def test_a_name_that_the_main_thread_had_before_is_inherited_too():
    one = process(10, "trainer", "trainer", "pt_main_thread")
    renamed = type(one)(10, 1, "trainer", one.threads, names=frozenset({"trainer", "pt_main_thread"}))
    assert hot("pt_main_thread", one) == [11]
    assert hot("pt_main_thread", renamed) == []


def test_a_rule_may_be_for_some_processes_only():
    assert hot("NCCL*", title="VLLM::Worker*") == [11]
    assert hot("NCCL*", title="sglang*") == []


def test_without_a_main_thread_the_others_go_on():
    """pthread_exit(3) in main: the others live on, and their names are still what they were given."""
    one = process(10, "VLLM::Worker_TP0", "x", "NCCL Progress 0")
    assert hot("NCCL*", type(one)(10, 1, one.title, one.threads[1:])) == [11]
