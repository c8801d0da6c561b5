"""SCHED_FIFO for real: set, or refused exactly where it was foretold, with the reason why."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

from tests.change.launch import numapin
from tests.change.seccomp import deny

JUDGED = ("--policy", "best-effort", "--irq", "off")
"""Judged so that a machine of several nodes passes: what is tested here comes after the verdict."""


def run(*words: str, **options) -> subprocess.CompletedProcess[bytes]:
    return numapin("run", *JUDGED, *words, **options)


@pytest.fixture
def no_budget():
    """A cgroup without real-time budget (cgroup v1, CONFIG_RT_GROUP_SCHED): its tasks file."""
    above = Path("/sys/fs/cgroup/cpu")
    if not (above / "cpu.rt_runtime_us").exists() or not os.access(above, os.W_OK):
        pytest.skip("the kernel has no real-time budgets (CONFIG_RT_GROUP_SCHED with cgroup v1), or not for us")
    group = above / f"numapin-test-{os.getpid()}"
    group.mkdir()
    yield group / "tasks"
    group.rmdir()


FIFO = ("--memory", "off", "--rt-main", "1", "--rt-unsafe")


def foretold(*words: str, **options) -> bool:
    """Whether the report of a dry run says that SCHED_FIFO will be refused."""
    report = json.loads(numapin("plan", *JUDGED, *words, "--format", "json", **options).stdout)
    return "RT_NOT_PERMITTED" in [reason["code"] for reason in report["reasons"]]


def test_scheduling_is_refused_exactly_where_it_was_foretold():
    """With all rights that these tests have: either way, and never the one said and the other done."""
    done = run(*FIFO, "--rt", "require", "--", "chrt", "-p", "0")
    assert (done.returncode == 77) == foretold(*FIFO)
    if done.returncode != 77:
        assert b"SCHED_FIFO|SCHED_RESET_ON_FORK" in done.stdout


def test_scheduling_without_capability_and_limit_is_refused_as_foretold():
    """EPERM, and the hint says what would permit it."""

    def give_up() -> None:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        deny([], drop_sys_nice=True)()

    assert foretold(*FIFO, preexec_fn=give_up)
    done = run(*FIFO, "--rt", "require", "--", "true", preexec_fn=give_up)
    assert done.returncode == 77
    assert "SYS_NICE" in done.stderr.decode()
    assert "rtprio" in done.stderr.decode()
    assert run(*FIFO, "--rt", "try", "--", "sh", "-c", "exit 6", preexec_fn=give_up).returncode == 6


def test_a_cgroup_without_real_time_budget_is_told_of(no_budget):
    """Even root is refused there, and the capability would not help."""

    def move() -> None:
        no_budget.write_text(str(os.getpid()))

    assert foretold(*FIFO, preexec_fn=move)
    done = run(*FIFO, "--rt", "require", "--", "true", preexec_fn=move)
    assert done.returncode == 77
    assert "hint: This cgroup has no real-time budget (cpu.rt_runtime_us is 0" in done.stderr.decode()
    assert run(*FIFO, "--rt", "try", "--", "sh", "-c", "exit 6", preexec_fn=move).returncode == 6
