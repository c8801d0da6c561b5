"""The one door to effects, against the kernel that runs these tests: each change in a child, read back there."""

import ast
import errno
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numapin.ids import CpuSet, NodeSet
from numapin.kernel import LinuxKernel
from numapin.policies import (
    MODE_MASK,
    MPOL_BIND,
    MPOL_DEFAULT,
    MPOL_F_STATIC_NODES,
    MPOL_PREFERRED_MANY,
    MemoryPolicy,
    Scheduling,
)
from numapin.steps import TRUNCATED, Refused, SetAffinity, SetMemoryPolicy
from tests.change.seccomp import MEMORY, deny

KERNEL = LinuxKernel()
ABSENT_CPU, ABSENT_NODE = 8000, 900
"""Beyond every machine that runs tests, within what the masks hold."""


def in_child(action: Callable[[], Any]) -> str:
    """Run in a fork, so that no test changes the process of the others; the repr of what it returned comes back.

    An OSError or Refused that it raised is raised again.
    """
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            answer = ("", repr(action()))
        except OSError as error:
            answer = ("OSError", error.args)
        except Refused as refused:
            answer = ("Refused", refused.args)
        except BaseException as error:  # noqa: BLE001 -- the child must end here, whatever happens
            answer = ("AssertionError", (repr(error),))
        os.write(writing, repr(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        kind, told = ast.literal_eval(answers.read())
    os.waitpid(pid, 0)
    if kind:
        raise {"OSError": OSError, "Refused": Refused, "AssertionError": AssertionError}[kind](*told)
    return told


def status(name: str) -> str:
    """A line of this thread's status, as the kernel tells it."""
    lines = Path("/proc/thread-self/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))


@pytest.fixture
def node() -> int:
    """A node that this process may use, where its memory policy may be changed at all."""
    try:
        in_child(lambda: KERNEL.set_memory_policy(KERNEL.memory_policy()))
    except OSError as error:
        pytest.skip(f"memory policies cannot be set where these tests run: {error.strerror}")
    return next(iter(NodeSet.parse(status("Mems_allowed_list"))))


def test_affinity_is_what_the_kernel_tells():
    """sched_getaffinity and Cpus_allowed_list are one truth."""
    assert str(KERNEL.affinity()) == status("Cpus_allowed_list")


@pytest.mark.parametrize("cpu", sorted(os.sched_getaffinity(0)))
def test_affinity_is_set_and_inherited_over_exec(cpu):
    """One CPU at a time, of those that are allowed."""
    only = CpuSet.of([cpu])

    def bind():
        KERNEL.set_affinity(only)
        return (
            KERNEL.affinity(),
            status("Cpus_allowed_list"),
            os.popen("grep Cpus_allowed_list /proc/self/status").read(),
        )

    assert in_child(bind) == repr((only, str(cpu), f"Cpus_allowed_list:\t{cpu}\n"))


def test_the_kernel_truncates_an_affinity_silently_and_the_step_says_so():
    """No errno: only the comparison shows it."""
    allowed = KERNEL.affinity()
    wide = allowed | CpuSet.of([ABSENT_CPU])

    def bind():
        KERNEL.set_affinity(wide)
        return KERNEL.affinity()

    assert in_child(bind) == repr(allowed)
    with pytest.raises(Refused) as refused:
        in_child(lambda: SetAffinity(wide).perform(KERNEL))
    assert (refused.value.why, refused.value.got) == (TRUNCATED, str(allowed))


def test_an_affinity_without_any_allowed_cpu_is_einval():
    """The kernel's own answer, at the second try too."""
    with pytest.raises(OSError, match="Invalid argument") as error:
        in_child(lambda: SetAffinity(CpuSet.of([ABSENT_CPU])).perform(KERNEL))
    assert error.value.errno == errno.EINVAL


def test_a_process_starts_without_a_memory_policy():
    """What the tests below rest on: whatever ran them set none."""
    assert KERNEL.memory_policy().mode == MPOL_DEFAULT


@pytest.mark.parametrize(("word", "mode"), [("bind", MPOL_BIND), ("preferred", MPOL_PREFERRED_MANY)])
def test_a_memory_policy_is_set_and_read_back(node, word, mode):
    """With STATIC_NODES, so that a later write to cpuset.mems does not renumber it."""
    step = SetMemoryPolicy(word, NodeSet.of([node]))
    told = in_child(lambda: (step.perform(KERNEL), KERNEL.memory_policy()))
    assert told == repr(("done", MemoryPolicy(mode, MPOL_F_STATIC_NODES, NodeSet.of([node]))))


def test_a_second_step_finds_the_first_ones_policy(node):
    """And changes nothing."""
    step = SetMemoryPolicy("bind", NodeSet.of([node]))
    assert in_child(lambda: (step.perform(KERNEL), step.perform(KERNEL))) == repr(("done", "already"))


def test_the_kernel_keeps_absent_nodes_in_a_static_policy_and_the_step_sees_through_it(node):
    """With STATIC_NODES get_mempolicy tells what was asked: what counts is what of it is allowed."""
    wide = NodeSet.of([node, ABSENT_NODE])
    with pytest.raises(Refused) as refused:
        in_child(lambda: SetMemoryPolicy("bind", wide).perform(KERNEL))
    assert refused.value.why == TRUNCATED
    assert refused.value.got in (str(node), f"MPOL_BIND nodes={node}")


def test_a_policy_without_any_allowed_node_is_einval(node):
    """Also where the man page says that it reverts to local."""
    assert node != ABSENT_NODE
    with pytest.raises(OSError, match="Invalid argument"):
        in_child(lambda: SetMemoryPolicy("bind", NodeSet.of([ABSENT_NODE])).perform(KERNEL))


@pytest.mark.parametrize("mode", [0, 1, 2, 4, 5])
def test_modes_and_flags_are_told_apart(node, mode):
    """What get_mempolicy returns is one word: the mode in its low bits, flags above them."""
    nodes = NodeSet() if mode in (0, 4) else NodeSet.of([node])
    flags = 0 if mode in (0, 4) else MPOL_F_STATIC_NODES
    wanted = MemoryPolicy(mode, flags, nodes)
    assert in_child(lambda: (KERNEL.set_memory_policy(wanted), KERNEL.memory_policy())[1]) == repr(wanted)
    assert (mode | flags) & MODE_MASK == mode


def test_allowed_memory_is_told_where_a_filter_denies_the_calls():
    """It comes from the status file, which no seccomp profile hides."""

    def behind_a_filter():
        deny(MEMORY)()
        return KERNEL.allowed_memory()

    assert in_child(behind_a_filter) == repr(NodeSet.parse(status("Mems_allowed_list")))


def test_a_denied_call_is_the_kernels_errno(node):
    """Whatever the filter answers."""
    for code in (errno.EPERM, errno.ENOSYS):

        def behind_a_filter(code: int = code):
            deny(["set_mempolicy"], code)()
            KERNEL.set_memory_policy(MemoryPolicy(MPOL_BIND, 0, NodeSet.of([node])))

        with pytest.raises(OSError, match=os.strerror(code)) as error:
            in_child(behind_a_filter)
        assert error.value.errno == code


def test_scheduling_is_what_the_kernel_tells():
    """The tests run under SCHED_OTHER."""
    assert KERNEL.scheduling() == Scheduling(fifo=False, priority=0, reset_on_fork=False)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_fifo_is_set_whole_or_refused_whole():
    """Priority and RESET_ON_FORK come back; where it is not permitted, EPERM and nothing changed."""
    wanted = Scheduling(fifo=True, priority=1, reset_on_fork=True)

    def realtime():
        try:
            KERNEL.set_scheduling(wanted)
        except PermissionError as error:
            return error.errno, KERNEL.scheduling(), os.sched_getscheduler(0)
        return 0, KERNEL.scheduling(), os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK

    unchanged = Scheduling(fifo=False, priority=0, reset_on_fork=False)
    assert in_child(realtime) in map(repr, [(0, wanted, os.SCHED_FIFO), (errno.EPERM, unchanged, os.SCHED_OTHER)])


def interrupts() -> list[int]:
    """Interrupts of this machine that can be written to: those that tell an affinity and have a mode that lets it."""
    found = sorted(int(name) for name in os.listdir("/proc/irq") if name.isdecimal())
    return [irq for irq in found if os.access(f"/proc/irq/{irq}/smp_affinity_list", os.W_OK)]


def test_interrupts_are_read_and_written_in_the_list_format():
    """The present list is written again: the interrupt stays where it is."""
    for irq in interrupts()[:3]:
        cpus = KERNEL.interrupt_affinity(irq)
        assert str(cpus) == Path(f"/proc/irq/{irq}/smp_affinity_list").read_text().strip()
        try:
            KERNEL.set_interrupt_affinity(irq, cpus)
        except OSError as error:
            code = error.errno
        else:
            code = 0
        assert code in (0, errno.EIO, errno.EPERM, errno.EROFS)
        assert KERNEL.interrupt_affinity(irq) == cpus


def test_an_interrupt_that_is_not_there_is_enoent():
    """The device may have given it back meanwhile."""
    for call in (KERNEL.interrupt_affinity, lambda irq: KERNEL.set_interrupt_affinity(irq, CpuSet.of([0]))):
        with pytest.raises(FileNotFoundError):
            call(10_000_000)


def test_without_the_native_module_it_is_enosys(monkeypatch):
    """An image without libnuma: the step is refused with a sentence, affinity still works."""
    importlib.import_module("numapin")
    monkeypatch.setitem(sys.modules, "numapin._native", None)
    with pytest.raises(OSError, match="native module") as error:
        KERNEL.memory_policy()
    assert error.value.errno == errno.ENOSYS
    assert KERNEL.affinity()
