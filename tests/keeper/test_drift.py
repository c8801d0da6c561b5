"""What a thread shows against where it belongs, and who moved it."""

import pytest

from numapin.placement import Placement
from numapin.placement.drift import culprit, strays, wanted
from tests.keeper.trees import cpus, orders, process, tree


@pytest.mark.parametrize(
    ("shown", "placement", "ours", "expected"),
    [
        ("0-5", "0-5", [], "0-5"),
        # The whole cpuset again, or the mask of a thread that made this one.
        ("0-7", "0-5", [], "0-5"),
        ("7", "0-5", [], "0-5"),
        # Bound by the engine to less: left there.
        ("3", "0-5", [], "3"),
        # Partly on somebody's own CPU: only that is taken away.
        ("5-6", "0-5", [], "5"),
        # A set that the keeper gave out before, when more CPUs were taken.
        ("0-4", "0-5", ["0-4"], "0-5"),
        ("0-4", "0-5", ["0-3"], "0-4"),
    ],
)
def test_where_a_thread_in_common_belongs(shown, placement, ours, expected):
    assert str(wanted(cpus(shown), Placement(cpus(placement)), [cpus(one) for one in ours])) == expected


@pytest.mark.parametrize("shown", ["0-7", "3", "6-7"])
def test_a_hot_thread_belongs_on_its_cpu_alone(shown):
    assert str(wanted(cpus(shown), Placement(cpus("7"), own=True), [])) == "7"


def test_the_culprit():
    old, new, bound = orders(kernel=(6, 1)), orders(kernel=(6, 2)), orders(kernel=(6, 8), binders=("OMP_PROC_BIND=1",))
    assert "before Linux 6.2" in culprit(cpus("0-7"), cpus("0-7"), old, cpuset_changed=False)
    assert "its cpuset, which is now 0-7" in culprit(cpus("0-7"), cpus("0-7"), new, cpuset_changed=True)
    assert culprit(cpus("0-7"), cpus("0-7"), new, cpuset_changed=False) == "somebody in the container"
    assert culprit(cpus("4"), cpus("0-7"), bound, cpuset_changed=False) == "probably OMP_PROC_BIND=1"


@pytest.mark.parametrize(
    ("server", "other", "strayed"),
    [
        ("bind=static:0", "bind=static:0", False),
        ("bind=static:0", "default", True),
        ("bind=static:0", "bind:1", True),
        ("bind=static:0-1", "bind:1", False),
        ("bind=static:0", "local", True),
        ("prefer (many)=static:0", "prefer (many)=static:0", False),
        ("default", "bind:1", False),
        (None, "bind:1", False),
        ("bind=static:0", None, False),
        ("bind=static:0", "nonsense:x", True),
    ],
)
def test_a_memory_policy_that_is_another_is_said(server, other, strayed):
    first, *_ = tree()
    first = type(first)(1, 0, first.title, first.threads, memory_policy=server)
    found = strays((first, process(10, "VLLM::Worker", memory_policy=other)))
    assert bool(found) is strayed
    for remark in found:
        assert "VLLM::Worker (process 10) has the memory policy" in remark.message
