"""The keeper: workers beside their accelerators with their memory, hot threads alone, what moves is put back."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("keeper",)),)
NODES = {"VLLM::Worker_TP0": ("0-3", "0"), "VLLM::Worker_TP1": ("4-7", "1")}
"""CPUs and node that each worker belongs on."""
GROWN = 20 * 256


@pytest.mark.parametrize("title", NODES)
def test_a_worker_is_narrowed_to_its_accelerators_node(seen, title):
    cpus, node = NODES[title]
    before, after = seen["workers"]["before"][title], seen["workers"]["after"][title]
    assert {thread["cpus"] for thread in before["threads"]} == {cpus}
    assert after["policies"] == ["bind=static:0-1"]
    more = {where: count - before["pages"].get(where, 0) for where, count in after["pages"].items()}
    assert {where: count for where, count in more.items() if count > 256} == {node: more[node]}
    assert more[node] >= GROWN


def test_the_rest_of_the_server_stays_on_both_nodes(seen):
    for name in ("server", "VLLM::EngineCore"):
        assert {thread["cpus"] for thread in seen["workers"]["before"][name]["threads"]} == {"0-7"}


def test_what_was_done_is_said_and_counted(seen):
    said = seen["workers"]["said"]
    assert "start keeper: workers GPU 0 cpus=0-3, GPU 1 cpus=4-7" in said
    for index, (cpus, node) in enumerate(NODES.values()):
        # Under its first title, VLLM::Worker, where the device that it holds open told it before its rank did.
        (line,) = [line for line in said.splitlines() if f" has GPU {index} (" in line]
        assert "keeper: VLLM::Worker" in line
        assert line.endswith(f"it belongs on CPUs {cpus} of node {node}")
    assert "numapin_keeper_workers 2\n" in seen["workers"]["metrics"]


def test_a_rank_in_the_environment_tells_as_well(seen):
    workers = seen["by_variable"]["workers"]
    assert [{thread["cpus"] for thread in worker["threads"]} for worker in workers] == [{"0-3"}, {"4-7"}]


def test_a_worker_that_holds_another_accelerator_stays_on_both_nodes(seen):
    for title in NODES:
        assert {thread["cpus"] for thread in seen["contradicted"][title]["threads"]} == {"0-7"}


@pytest.mark.parametrize("title", NODES)
def test_a_hot_thread_has_a_cpu_of_its_own(seen, title):
    processes = seen["hot"]["seen"]
    own = {name: threads_of(processes[name], "NCCL Progress 0") for name in NODES}
    (hot,) = own[title]
    assert (hot["scheduler"], hot["priority"], hot["reset_on_fork"]) == ("SCHED_FIFO", 1, True)
    assert hot["cpus"] in set("0123" if title.endswith("0") else "4567")
    others = [thread for one in processes.values() for thread in one["threads"] if thread["name"] != "NCCL Progress 0"]
    assert len(others) > 15
    assert all(hot["cpus"] not in expand(thread["cpus"]) for thread in others)
    assert {thread["scheduler"] for thread in others} == {"SCHED_OTHER"}


def threads_of(process: dict, name: str) -> list[dict]:
    return [thread for thread in process["threads"] if thread["name"] == name]


def expand(cpus: str) -> set[str]:
    ends = [part.split("-") for part in cpus.split(",")]
    return {str(cpu) for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def test_another_binder_is_put_back_and_named_once(seen):
    case = seen["workers"]["another binder"]
    assert (case["away"], case["back"]) == ("4-7", "0-3")
    lines = [line for line in case["said"].splitlines() if "was put back" in line]
    assert len(lines) == 1
    assert "VLLM::Worker_TP0" in lines[0]
    assert "had CPUs 4-7 and was put back on 0-3" in lines[0]


def test_an_interrupt_that_was_moved_is_put_back(seen):
    case = seen["interrupt"]
    assert case["after"] == case["before"] != "0"
    assert "had CPUs 0 and was put back on" in case["said"]


def test_a_server_that_runs_already_is_kept(seen):
    case = seen["a_running_server"]
    for title, (cpus, _) in NODES.items():
        assert {thread["cpus"] for thread in case["seen"][title]["threads"]} == {cpus}
    assert case["status"] == 0
    assert "has ended, and so does its keeper" in case["said"]
    assert case["second"][0] == 2
    assert "has a keeper already" in case["second"][1]


def test_the_keeper_ends_with_the_server_and_changes_nothing_of_its_end(seen):
    assert seen["ending"] == {"keepers": 1, "status": 0, "gone": True}
