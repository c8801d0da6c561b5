"""csrc/numapin.c against the kernel that runs these tests: what was set is read back, in a child that then ends."""

import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from numapin._native import ffi, lib

MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND = 0, 1, 2
MPOL_F_STATIC_NODES = 1 << 15
SCHED_OTHER, SCHED_FIFO = 0, 1
RESET_ON_FORK = 1
CAP_SYS_NICE = 23

WORD = 64
MASK_BITS = 4096  # more than any kernel has nodes (MAX_NUMNODES is 1024), and a length it takes


def in_child(action: Callable[[], object]) -> str:
    """Run action in a fork and return what it returned, as text: no test changes the process of the others."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.write(writing, repr(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        answer = answers.read()
    os.waitpid(pid, 0)
    return answer


def set_mempolicy(mode: int, nodes: set[int], bits: int = MASK_BITS) -> int:
    words = ffi.new("unsigned long[]", MASK_BITS // WORD)
    for node in nodes:
        words[node // WORD] |= 1 << node % WORD
    return lib.numapin_set_mempolicy(mode, words, bits)


def get_mempolicy(bits: int = MASK_BITS) -> tuple[int, int, set[int]]:
    """What the call returned, the mode with its flags, and the nodes of the mask."""
    mode, words = ffi.new("int *"), ffi.new("unsigned long[]", bits // WORD)
    returned = lib.numapin_get_mempolicy(mode, words, bits)
    nodes = {WORD * word + bit for word in range(len(words)) for bit in range(WORD) if words[word] >> bit & 1}
    return returned, mode[0], nodes


def get_scheduler(tid: int = 0) -> tuple[int, int, int, int]:
    return get_all(tid)[:4]


def get_all(tid: int = 0) -> tuple[int, int, int, int, int]:
    policy, priority, flags = ffi.new("unsigned int *"), ffi.new("unsigned int *"), ffi.new("unsigned long long *")
    nice = ffi.new("int *")
    returned = lib.numapin_sched_getattr(tid, policy, priority, flags, nice)
    return returned, policy[0], priority[0], flags[0], nice[0]


def nodes_with_memory() -> set[int]:
    """Nodes of /sys/devices/system/node/has_memory (a list such as 0-1,4) that this process may use."""
    return _listed(Path("/sys/devices/system/node/has_memory").read_text()) & _listed(_status("Mems_allowed_list"))


def _listed(text: str) -> set[int]:
    ends = [part.split("-") for part in text.split(",")]
    return {node for end in ends for node in range(int(end[0]), int(end[-1]) + 1)}


def _status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith(f"{field}:"))


@pytest.fixture
def node() -> int:
    return min(nodes_with_memory())


def test_a_policy_that_was_set_is_the_policy_that_is_read(node):
    """BIND with STATIC_NODES comes back whole: mode, flag and mask."""

    def bind():
        return set_mempolicy(MPOL_BIND | MPOL_F_STATIC_NODES, {node}), get_mempolicy()

    assert in_child(bind) == repr((0, (0, MPOL_BIND | MPOL_F_STATIC_NODES, {node})))


def test_the_kernel_shows_the_policy_to_others(node):
    """/proc/self/numa_maps, which the kernel writes, names it too: not only our own reading does."""

    def bind():
        set_mempolicy(MPOL_BIND | MPOL_F_STATIC_NODES, {node})
        return {line.split()[1] for line in Path("/proc/self/numa_maps").read_text().splitlines()}

    assert in_child(bind) == repr({f"bind=static:{node}"})


def test_the_last_bit_of_a_mask_counts(node):
    """A mask just long enough for the node binds it: the kernel's maxnode is one more, and the C side adds it."""

    def bind():
        return set_mempolicy(MPOL_BIND, {node}, node + 1), get_mempolicy()

    assert in_child(bind) == repr((0, (0, MPOL_BIND, {node})))


def test_the_bit_after_the_last_does_not_count(node):
    """One bit less than the node needs leaves the mask empty, which BIND refuses."""
    assert in_child(lambda: set_mempolicy(MPOL_BIND, {node}, node)) == repr(-errno.EINVAL)


def test_a_node_without_memory_here_is_refused():
    """A node that this machine has not, and one that no kernel can have, are EINVAL: the policy stays as it was."""
    absent = max(nodes_with_memory()) + 1

    def bind():
        return [set_mempolicy(MPOL_BIND, {node}) for node in (absent, MASK_BITS - 1)], get_mempolicy()

    assert in_child(bind) == repr(([-errno.EINVAL] * 2, (0, MPOL_DEFAULT, set())))


def test_absent_nodes_beside_a_present_one_are_dropped_without_an_error(node):
    """Why numapin reads back: the kernel takes such a mask and answers 0. STATIC_NODES remembers what was asked."""
    absent = max(nodes_with_memory()) + 1

    def bind():
        return set_mempolicy(MPOL_BIND, {node, absent}), get_mempolicy()

    assert in_child(bind) == repr((0, (0, MPOL_BIND, {node})))


def test_no_mask_goes_back_to_the_default(node):
    """NULL and 0 bits are how MPOL_DEFAULT is said."""

    def bind_and_undo():
        set_mempolicy(MPOL_BIND, {node})
        return lib.numapin_set_mempolicy(MPOL_DEFAULT, ffi.NULL, 0), get_mempolicy()

    assert in_child(bind_and_undo) == repr((0, (0, MPOL_DEFAULT, set())))


def test_a_policy_outlives_exec(node):
    """What numapin rests on: the program that the process becomes has the policy still."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            set_mempolicy(MPOL_BIND | MPOL_F_STATIC_NODES, {node})
            os.dup2(writing, 1)
            os.execv("/bin/cat", ["cat", "/proc/self/numa_maps"])
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as maps:
        policies = {line.split()[1] for line in maps}
    assert os.waitpid(pid, 0)[1] == 0
    assert policies == {f"bind=static:{node}"}


def may_use_fifo() -> bool:
    """sched(7): CAP_SYS_NICE, or a soft RLIMIT_RTPRIO of at least the priority, which is 1 here."""
    capable = int(_status("CapEff"), 16) >> CAP_SYS_NICE & 1
    limit, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    return bool(capable) or limit != 0


def rt_runtime() -> int | None:
    """cpu.rt_runtime_us of this process's cgroup v1, in microseconds; None where no cgroup has such a knob."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        knob = Path(f"/sys/fs/cgroup/cpu{path}/cpu.rt_runtime_us")
        if "cpu" in controllers.split(",") and knob.exists():
            return int(knob.read_text())
    return None


def test_fifo_with_reset_on_fork_is_set_and_read_back_where_it_may_be():
    """FIFO 1 with RESET_ON_FORK comes back whole; without capability, limit or cgroup runtime it is EPERM."""
    allowed = may_use_fifo() and rt_runtime() != 0

    def realtime():
        return lib.numapin_sched_setattr(0, SCHED_FIFO, 1, RESET_ON_FORK, 0), get_scheduler()

    expected = (0, (0, SCHED_FIFO, 1, RESET_ON_FORK)) if allowed else (-errno.EPERM, (0, SCHED_OTHER, 0, 0))
    assert in_child(realtime) == repr(expected)


def test_fifo_is_refused_without_the_capability():
    """Whoever runs the tests: a child that gave up its user and its limit gets EPERM, and keeps what it had."""

    def realtime():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        if os.getuid() == 0:
            os.setuid(65534)
        return lib.numapin_sched_setattr(0, SCHED_FIFO, 1, RESET_ON_FORK, 0), get_scheduler()

    assert in_child(realtime) == repr((-errno.EPERM, (0, SCHED_OTHER, 0, 0)))


def test_a_priority_that_the_policy_does_not_have_is_refused():
    """SCHED_OTHER has priority 0 only, FIFO none above 99."""

    def absurd():
        other = lib.numapin_sched_setattr(0, SCHED_OTHER, 1, 0, 0)
        return other, lib.numapin_sched_setattr(0, SCHED_FIFO, 100, 0, 0)

    assert in_child(absurd) == repr((-errno.EINVAL, -errno.EINVAL))


def test_a_thread_that_is_not_there_is_esrch():
    """A tid beyond pid_max can be nobody's."""
    nobody = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert lib.numapin_sched_setattr(nobody, SCHED_OTHER, 0, 0, 0) == -errno.ESRCH
    assert get_scheduler(nobody)[0] == -errno.ESRCH


def test_a_niceness_is_set_and_read_back():
    """Upwards anybody may; it is the niceness that getpriority(2) sees."""

    def nicer():
        returned = lib.numapin_sched_setattr(0, SCHED_OTHER, 0, 0, 7)
        return returned, get_all(), os.getpriority(os.PRIO_PROCESS, 0)

    assert in_child(nicer) == repr((0, (0, SCHED_OTHER, 0, 0, 7), 7))


def affinity(tid: int, bits: int) -> tuple[int, set[int]]:
    """What the call returned, and the CPUs of the mask; the mask is full of ones before."""
    words = ffi.new("unsigned long[]", [2**WORD - 1] * (bits // WORD))
    returned = lib.numapin_sched_getaffinity(tid, words, bits)
    return returned, {WORD * word + bit for word in range(len(words)) for bit in range(WORD) if words[word] >> bit & 1}


def test_an_affinity_is_read_whole_and_nothing_else_is_left_in_the_mask():
    """As os.sched_getaffinity reads it; what is beyond the kernel's own mask is cleared."""
    assert affinity(0, 1 << 16) == (0, os.sched_getaffinity(0))
    assert affinity(os.getpid(), 8192) == (0, os.sched_getaffinity(0))


def test_an_affinity_of_nobody_is_esrch():
    nobody = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert affinity(nobody, 8192)[0] == -errno.ESRCH
