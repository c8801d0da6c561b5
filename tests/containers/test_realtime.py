"""SCHED_FIFO for the server's main thread, in a container that may have it and in one that may not."""

import pytest

from tests.containers.runtime import run

REFUSED = 77
FIFO, PRIORITY = 1, 1
WANTED = ("--env", f"NUMAPIN_RT_MAIN={PRIORITY}", "--env", "NUMAPIN_RT=require")
CPUS = ("--cpuset-cpus", "0-1")  # one for the FIFO thread, one that stays free


@pytest.fixture(scope="module")
def no_budget(image) -> bool:
    """Whether the kernel gives the container's cgroup no real-time budget: v1 and CONFIG_RT_GROUP_SCHED."""
    knob = run(image, "/bin/cat", "/sys/fs/cgroup/cpu/cpu.rt_runtime_us", options=("--env", "NUMAPIN_DISABLE=1"))
    return knob.out.strip() == "0"


def test_without_the_capability_it_is_refused(image, no_budget):
    """77 before the server runs, and the remedy for the cause that this kernel has."""
    done = run(image, "/bin/echo", "the server", options=(*CPUS, *WANTED))

    assert done.status == REFUSED
    assert "the server" not in done.out
    assert ("cpu.rt_runtime_us" if no_budget else "SYS_NICE") in done.err


def test_with_the_capability_the_kernel_decides(image, no_budget):
    """FIFO in /proc/self/stat; or, without a budget, a refusal that does not ask for the capability again."""
    done = run(image, "/bin/cat", "/proc/self/stat", options=(*CPUS, *WANTED, "--cap-add", "SYS_NICE"))

    if no_budget:
        assert done.status == REFUSED
        assert "cpu.rt_runtime_us" in done.err
        assert "SYS_NICE" not in done.err
    else:
        assert done.status == 0
        assert _priority_and_policy(done.out) == (PRIORITY, FIFO)


def test_as_a_wish_it_never_stops_the_server(image):
    """--rt try is the default: the server runs, and the log says what it went without."""
    done = run(image, "/bin/cat", "/proc/self/stat", options=(*CPUS, *WANTED[:2]))

    assert done.status == 0
    assert "SCHED_FIFO" in done.err
    assert _priority_and_policy(done.out) == (0, 0)


def _priority_and_policy(text: str) -> tuple[int, int]:
    """Fields 40 and 41 of proc_pid_stat(5), counted from field 3, which follows the name in parentheses."""
    fields = text.splitlines()[-1].rpartition(")")[2].split()
    return int(fields[37]), int(fields[38])
