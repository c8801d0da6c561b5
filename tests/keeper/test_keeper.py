"""What the keeper does to threads, and what it says: on a kernel that remembers, with a clock that is told."""

import errno

import pytest

from numapin.keeper.interrupts import Interrupts
from numapin.keeper.metrics import Counts, write
from numapin.keeper.telling import PATIENCE
from numapin.orders import Pinned
from numapin.policies import Scheduling
from tests.keeper.scene import ALL, OTHER, FakeThreads, Scene
from tests.keeper.trees import TWO, VLLM, cpus, hot, process, tree

FIFO = Scheduling(fifo=True, priority=1, reset_on_fork=True)
NAMED = "NCCL Progress 0 (thread 11 of VLLM::Worker_TP0 (process 10))"
NCCL = process(10, "VLLM::Worker_TP0", "VLLM::Worker_TP", "NCCL Progress 0", "other")


def test_a_hot_thread_gets_its_cpu_and_its_scheduling_and_the_others_leave():
    scene = Scene(hot("NCCL*"))
    scene.tend(NCCL)
    assert (str(scene.kernel.cpus[11]), scene.kernel.how) == ("7", {11: FIFO})
    assert {str(scene.kernel.cpus[tid]) for tid in (1, 2, 10, 12)} == {"0-6"}
    assert (scene.counts.threads, scene.counts.hot, scene.counts.placed) == (5, 1, 5)
    assert scene.said == [
        ("info", f"{NAMED} is hot: SCHED_FIFO priority=1, CPU 7 is its own", ""),
        ("info", "kept for hot threads: CPU 7; all others belong on CPUs 0-6", ""),
    ]


def test_nothing_is_done_or_said_twice():
    scene = Scene(hot("NCCL*"))
    scene.tend(NCCL)
    calls, said = list(scene.kernel.calls), list(scene.said)
    scene.tend(NCCL)
    scene.check()
    assert (scene.kernel.calls, scene.said) == (calls, said)


def test_a_thread_that_is_renamed_loses_what_it_had_and_gets_back_what_it_was():
    scene = Scene(hot("NCCL*", nice=-5))
    scene.kernel.how[11] = Scheduling(fifo=False, priority=0, reset_on_fork=False, nice=3)
    scene.tend(NCCL)
    assert scene.kernel.how[11].nice == -5
    scene.tend(process(10, "VLLM::Worker_TP0", "VLLM::Worker_TP", "idle", "other"))
    assert (scene.kernel.how[11].nice, str(scene.kernel.cpus[11])) == (3, "0-7")
    assert scene.counts.hot == 0


@pytest.mark.parametrize("moved", ["0-7", "3", "0-6"])
def test_a_hot_thread_that_was_moved_is_put_back_and_said_once(moved):
    scene = Scene(hot("NCCL*"), kernel=(6, 12))
    scene.tend(NCCL)
    for _ in range(3):
        scene.kernel.cpus[11] = cpus(moved)
        scene.check()
        assert str(scene.kernel.cpus[11]) == "7"
    (warning,) = scene.warnings()
    assert warning == f"{NAMED} had CPUs {moved} and was put back on 7; moved by somebody in the container"
    assert scene.counts.repaired["affinity"] == 3


def test_a_scheduling_that_was_lost_is_put_back():
    scene = Scene(hot("NCCL*"))
    scene.tend(NCCL)
    scene.kernel.how[11] = OTHER
    scene.check()
    assert scene.kernel.how[11] == FIFO
    assert scene.counts.repaired["scheduling"] == 1


def test_a_cpuset_that_changes_places_all_anew():
    scene = Scene(workers=VLLM, shares=TWO, kernel=(6, 1))
    worker = process(10, "VLLM::Worker_TP1")
    scene.tend(worker)
    assert str(scene.kernel.cpus[10]) == "4-7"
    scene.kernel.cpus = dict.fromkeys((1, 2, 10), cpus("0-6"))
    scene.tend(worker, allowed="0-6")
    assert str(scene.kernel.cpus[10]) == "4-6"
    assert scene.warnings() == []


def test_an_erased_affinity_is_put_back_and_the_cpuset_is_named():
    scene = Scene(workers=VLLM, shares=TWO, kernel=(6, 1))
    scene.tend(process(10, "VLLM::Worker_TP1"))
    scene.kernel.cpus[10] = ALL
    scene.check()
    assert str(scene.kernel.cpus[10]) == "4-7"
    assert "a write to its cpuset" in scene.warnings()[0]


def test_threads_that_the_engine_binds_itself_are_left_alone():
    scene = Scene(workers=VLLM, shares=TWO)
    scene.kernel.cpus[10] = cpus("5")
    scene.tend(process(10, "VLLM::Worker_TP1"))
    scene.check()
    assert str(scene.kernel.cpus[10]) == "5"


def test_a_refusal_is_said_once_with_what_to_do_and_not_tried_again():
    scene = Scene(hot("NCCL*"), rt_hint="Add the capability SYS_NICE.")
    scene.kernel.refuses["set_scheduling"] = errno.EPERM
    scene.tend(NCCL)
    scene.check()
    assert scene.said[0] == (
        "warning",
        f"the scheduling of {NAMED} cannot be set: Operation not permitted",
        "Add the capability SYS_NICE.",
    )
    assert [call[0] for call in scene.kernel.calls].count("set_scheduling") == 1
    assert (scene.counts.refused, str(scene.kernel.cpus[11])) == (1, "7")


def test_threads_that_end_meanwhile_are_nobodys_fault():
    scene = Scene(hot("NCCL*"))
    scene.kernel.gone = {1, 2, 10, 11, 12}
    scene.tend(NCCL)
    scene.check()
    assert (scene.kernel.calls, scene.warnings(), scene.counts.refused) == ([], [], 0)


def test_without_scheduling_the_cpu_is_all_that_a_hot_thread_gets():
    scene = Scene(hot("NCCL*"), scheduling=False)
    scene.tend(NCCL)
    assert (str(scene.kernel.cpus[11]), scene.kernel.how) == ("7", {})
    assert "its scheduling left as it is" in scene.said[0][1]


def test_a_pattern_that_matched_nothing_is_said_after_a_minute_once():
    scene = Scene(hot("NCCL*"), hot("typo*"))
    scene.tend(NCCL)
    scene.teller.wait(tree(NCCL), PATIENCE - 1)
    assert scene.warnings() == []
    for _ in range(2):
        scene.teller.wait(tree(NCCL), PATIENCE)
    (warning,) = scene.warnings()
    assert warning.startswith("'typo*' matched no thread in a minute; there are 'NCCL Progress 0', 'VLLM::Worker_TP', ")


def test_a_worker_that_cannot_be_told_is_named_after_a_minute_once():
    scene = Scene(workers=VLLM, shares=TWO)
    worker = process(10, "VLLM::Worker", devices=frozenset())
    scene.tend(worker, now=100)
    scene.teller.wait(tree(worker), 100 + PATIENCE - 1)
    assert (scene.warnings(), scene.counts.untold) == ([], 1)
    for _ in range(2):
        scene.teller.wait(tree(worker), 100 + PATIENCE)
    (warning,) = scene.warnings()
    why = "neither its title nor its environment says which accelerator it has"
    assert warning == f"VLLM::Worker (process 10) stays on CPUs 0-7: {why}"


def test_the_keeper_leaves_the_cpus_that_are_somebodys_own():
    scene = Scene(hot("NCCL*"))
    scene.tend(NCCL)
    scene.keeper.step_aside([99])
    assert str(scene.kernel.cpus[99]) == "0-6"


def interrupts(kernel: FakeThreads, scene: Scene, *pinned: Pinned) -> Interrupts:
    return Interrupts(pinned, kernel, scene.teller, scene.counts)


def test_an_interrupt_is_kept_where_it_was_seen_and_said_once_for_its_device():
    scene = Scene(irq_balancer="process 7")
    kernel = scene.kernel
    kernel.irqs = {100: cpus("0-3"), 101: cpus("0-3"), 102: cpus("9")}
    kept = interrupts(kernel, scene, *(Pinned(irq, cpus("0-3"), "mlx5_0") for irq in kernel.irqs))
    kept.check()
    kernel.irqs |= {100: cpus("7"), 101: cpus("7")}
    kept.check()
    # 102 never was where it belongs: `run` was refused, and so would this be.
    assert kernel.irqs == {100: cpus("0-3"), 101: cpus("0-3"), 102: cpus("9")}
    assert scene.warnings() == [
        "interrupt 100 of mlx5_0 had CPUs 7 and was put back on 0-3; moved by irqbalance (process 7)"
    ]
    assert scene.counts.repaired["interrupt"] == 2


def test_an_interrupt_that_cannot_be_written_any_more_is_let_go():
    scene = Scene()
    scene.kernel.irqs = {100: cpus("0-3")}
    kept = interrupts(scene.kernel, scene, Pinned(100, cpus("0-3"), "mlx5_0"))
    kept.check()
    scene.kernel.irqs[100] = cpus("7")
    scene.kernel.refuses["set_interrupt_affinity"] = errno.EROFS
    kept.check()
    kept.check()
    assert len(scene.kernel.calls) == 1
    interrupts(scene.kernel, scene).check()


def test_the_metrics_are_prometheus_text(tmp_path):
    """Each metric has its help and its type; the file is there at once, and nothing is left beside it."""
    counts = Counts()
    counts.repaired["affinity"] += 2
    lines = counts.text().splitlines()
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert [line.split()[2] for line in lines if line.startswith("# HELP")] == names
    assert {line.split("{")[0].split()[0] for line in lines if not line.startswith("#")} == set(names)
    assert 'numapin_keeper_repaired_total{what="affinity"} 2' in lines
    write(str(tmp_path / "numapin.prom"), counts.text())
    write(str(tmp_path / "numapin.prom"), counts.text())
    assert [one.name for one in tmp_path.iterdir()] == ["numapin.prom"]
    assert (tmp_path / "numapin.prom").read_text() == counts.text()
