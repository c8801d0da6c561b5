"""Where threads belong: hot ones alone, workers on their share, one CPU always free."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numapin.ids import CpuSet
from numapin.placement import place
from tests.keeper.trees import TWO, VLLM, cpus, hot, orders, process, tree

ALL = cpus("0-7")
NCCL = process(10, "VLLM::Worker_TP0", "VLLM::Worker_TP", "NCCL Progress 0", "NCCL Progress 1", "other")


def placed(wanted, *others, allowed=ALL, taken=None):
    return place(wanted, allowed, tree(*others), taken or {})


def own(placing) -> dict[int, str]:
    return {tid: str(one.cpus) for tid, one in placing.threads.items() if one.own}


def test_without_hot_threads_or_workers_all_belong_where_the_server_is():
    found = placed(orders(), NCCL)
    assert {str(one.cpus) for one in found.threads.values()} == {"0-7"}
    assert found.free == ALL


def test_hot_threads_have_a_cpu_each_and_nobody_else_is_on_it():
    found = placed(orders(hot("NCCL*")), NCCL)
    assert own(found) == {11: "7", 12: "6"}
    assert {str(one.cpus) for tid, one in found.threads.items() if tid not in (11, 12)} == {"0-5"}


def test_a_hot_thread_keeps_its_cpu():
    first = placed(orders(hot("NCCL*")), NCCL)
    without = process(10, "VLLM::Worker_TP0", "VLLM::Worker_TP", "gone", "NCCL Progress 1", "NCCL Progress 9")
    assert own(placed(orders(hot("NCCL*")), without, taken=first.taken)) == {12: "6", 13: "7"}


def test_hot_threads_are_spread_over_cores():
    cores = {cpu: CpuSet.of([cpu, cpu ^ 4]) for cpu in range(8)}
    assert own(placed(orders(hot("NCCL*"), cores=cores), NCCL)) == {11: "7", 12: "6"}
    assert own(placed(orders(hot("NCCL*"), hot("other"), on="3,6-7", cores=cores), NCCL)) == {11: "7", 12: "6"}
    assert own(placed(orders(hot("NCCL*"), on="3,7,2", cores=cores), NCCL)) == {11: "7", 12: "2"}


def test_one_cpu_stays_free():
    found = placed(orders(hot("NCCL*"), on="0-1"), NCCL, allowed=cpus("0-1"))
    assert own(found) == {11: "1"}
    (remark,) = found.remarks
    assert remark.message.startswith("NCCL Progress 1 (thread 12 of VLLM::Worker_TP0 (process 10)) stays as it is: ")
    assert remark.message.endswith("a CPU of its own would leave no other of CPUs 0-1 free")
    assert found.threads[12].order is None


def test_forced_it_is_hot_all_the_same():
    found = placed(orders(hot("NCCL*"), on="0-1", unsafe=True), NCCL, allowed=cpus("0-1"))
    assert (found.threads[12].order, str(found.threads[12].cpus)) == (hot("NCCL*"), "0")
    assert found.remarks == ()


def test_a_niceness_hangs_nobody_and_needs_no_cpu():
    found = placed(orders(hot("NCCL*", nice=-10), on="0-1"), NCCL, allowed=cpus("0-1"))
    assert (found.threads[12].order, found.threads[12].own) == (hot("NCCL*", nice=-10), False)


def test_the_first_order_counts_where_cpus_are_few():
    """Also for a thread that comes later: one that comes after it has to give its CPU up."""
    wanted = orders(hot("other"), hot("NCCL*"), on="0-1")
    assert own(placed(wanted, NCCL, allowed=cpus("0-1"), taken={11: 1})) == {13: "0"}
    assert own(placed(orders(hot("other"), hot("NCCL*"), on="0-2"), NCCL, taken={11: 2})) == {13: "1", 11: "2"}


@pytest.mark.parametrize("rt", [True, False])
def test_workers_have_their_share_and_the_rest_the_union(rt):
    workers = [process(pid, f"VLLM::Worker_TP{rank}", "w", "NCCL Progress 0") for rank, pid in ((0, 10), (1, 20))]
    found = placed(orders(hot("NCCL*"), workers=VLLM, shares=TWO, scheduling=rt), *workers)
    assert own(found) == {11: "3", 21: "7"}
    assert [str(found.threads[tid].cpus) for tid in (10, 20, 1)] == ["0-2", "4-6", "0-2,4-6"]


def test_a_worker_of_one_cpu_keeps_it():
    """Nobody's last CPU is taken, also not by a process that is on the union."""
    found = placed(orders(hot("ZMQ*"), on="0-1", workers=VLLM, shares=(share_of("0", 0), share_of("1", 1))), NCCL)
    assert own(found) == {}


def share_of(where: str, index: int):
    return type(TWO[0])(f"GPU {index}", index, (str(index),), None, index, cpus(where))


def test_a_cpuset_that_shrank_is_respected():
    worker = process(10, "VLLM::Worker_TP1", "w")
    found = placed(orders(workers=VLLM, shares=TWO), worker, allowed=cpus("0-5"))
    assert (str(found.threads[10].cpus), str(found.threads[1].cpus)) == ("4-5", "0-5")
    gone = placed(orders(workers=VLLM, shares=TWO), worker, allowed=cpus("0-2"))
    assert str(gone.threads[10].cpus) == "0-2"
    moved = placed(orders(on="0-3"), worker, allowed=cpus("8-9"))
    assert str(moved.threads[10].cpus) == "8-9"


@settings(max_examples=300, deadline=None)
@given(
    on=st.sets(st.integers(0, 9), min_size=1),
    names=st.lists(st.sampled_from(["NCCL Progress 0", "ZMQbg/IO/0", "x"]), max_size=12),
    taken=st.dictionaries(st.integers(10, 22), st.integers(0, 9)),
    unsafe=st.booleans(),
)
def test_never_as_many_hot_threads_as_cpus(on, names, taken, unsafe):
    """Whatever there is: own CPUs are distinct, within the server's, and one is left that all others share."""
    everything = CpuSet.of(on)
    wanted = orders(hot("NCCL*"), hot("ZMQ*", nice=-5), on=str(everything), unsafe=unsafe)
    found = placed(wanted, process(10, "w", "w", *names), allowed=everything, taken=taken)
    alone = [one.cpus for one in found.threads.values() if one.own]
    assert len(alone) == len(set(alone)) < max(len(on), 1) or alone == []
    reserved = CpuSet.of(cpu for one in alone for cpu in one)
    assert found.free == everything - reserved
    assert found.free
    for one in found.threads.values():
        assert one.own or one.cpus == found.free
        assert unsafe or one.own or one.order is None or one.order.nice
