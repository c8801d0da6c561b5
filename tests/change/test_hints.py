"""Why a step was refused and what to do: the pure table over (step, errno) and what is known of the container."""

import errno
import itertools

import pytest

from numapin.assignment import Container, Permissions, Realtime
from numapin.hints import CONFLICT, Refusal, for_refusal
from numapin.steps import TRUNCATED

NICE = 1 << 23
ROOT = Permissions(uid=0, cap_effective=NICE, cap_bounding=NICE)
BARE = Permissions(uid=0)
BOUNDED = Permissions(uid=1000, cap_bounding=NICE)
MAPPED = Permissions(uid=0, cap_effective=NICE, cap_bounding=NICE, user_namespace=True)
READ_ONLY = Permissions(uid=0, proc_irq_read_only=True)
GVISOR = Container(sandbox="gVisor")
BROKE = Realtime(group_runtime_us=0)

TABLE = [
    # step, errno, what is known, words of the hint, words that must not be in it
    ("affinity", errno.EINVAL, {}, ["cpuset"], ["seccomp"]),
    ("affinity", errno.EPERM, {}, ["seccomp", "--cpu off"], []),
    ("mempolicy", errno.EPERM, {"permissions": BARE}, ["seccomp", "SYS_NICE", "--cap-add", "--memory try"], []),
    ("mempolicy", errno.EPERM, {"permissions": ROOT}, ["seccomp", "rule", "--memory try"], ["--cap-add"]),
    ("mempolicy", errno.EPERM, {"permissions": BOUNDED}, ["seccomp"], ["--cap-add"]),
    ("mempolicy", errno.ENOSYS, {}, ["NUMA", "seccomp", "--memory off"], []),
    ("mempolicy", errno.ENOSYS, {"container": GVISOR}, ["gVisor", "--memory off"], ["seccomp"]),
    ("mempolicy", errno.EINVAL, {}, ["cpuset.mems"], []),
    ("scheduler", errno.EPERM, {"permissions": BARE}, ["SYS_NICE", "rtprio"], ["rt_runtime"]),
    ("scheduler", errno.EPERM, {"permissions": BOUNDED}, ["bounding", "root", "rtprio"], []),
    ("scheduler", errno.EPERM, {"permissions": MAPPED}, ["user namespace", "rtprio"], []),
    ("scheduler", errno.EPERM, {"permissions": ROOT, "realtime": BROKE}, ["cpu.rt_runtime_us", "even root"], ["Add"]),
    ("scheduler", errno.EINVAL, {"container": GVISOR}, ["gVisor"], []),
    ("irq", errno.EROFS, {}, ["host"], []),
    ("irq", errno.EACCES, {"permissions": READ_ONLY}, ["host"], ["manages"]),
    ("irq", errno.EACCES, {}, ["root", "host"], []),
    ("irq", errno.ENOSPC, {}, ["vector", "--irq-cpus"], []),
    ("irq", errno.EINVAL, {}, ["online"], []),
    ("irq", errno.EOVERFLOW, {}, ["online"], []),
    ("irq", errno.ERANGE, {}, ["online"], []),
    ("irq", errno.ENOENT, {}, ["gave the interrupt back"], []),
]


def hint(kind: str, code: int | None, why: str = "", got: str = "", **known) -> str:
    known = {"permissions": Permissions(), "container": Container(), "realtime": Realtime()} | known
    return for_refusal(Refusal(kind, code, why, got), **known)


@pytest.mark.parametrize(("kind", "code", "known", "words", "never"), TABLE)
def test_a_refusal_says_why_and_what_to_do(kind, code, known, words, never):
    """Each row of the table."""
    told = hint(kind, code, **known)
    assert [word for word in words if word not in told] == []
    assert [word for word in never if word in told] == []


def test_a_missing_native_module_is_named():
    """ENOSYS of our own making says what is missing."""
    got = "the native module cannot be loaded: libnuma.so.1: cannot open shared object file"
    assert "libnuma.so.1" in hint("mempolicy", errno.ENOSYS, "Function not implemented", got)


@pytest.mark.parametrize("kind", ["affinity", "mempolicy", "scheduler", "irq"])
def test_less_than_asked_names_what_was_kept(kind):
    """No errno, and yet a refusal."""
    assert "kept only 0-1" in hint(kind, None, TRUNCATED, "0-1")


def test_somebody_elses_policy_is_named_with_who_may_have_set_it():
    """No errno either: numapin would not overwrite it."""
    told = hint("mempolicy", None, CONFLICT, "MPOL_BIND nodes=1")
    assert all(word in told for word in ("MPOL_BIND nodes=1", "numactl", "linux.memoryPolicy", "--memory off"))


KNOWN = tuple(
    itertools.product(
        [Permissions(), ROOT, BARE, BOUNDED, MAPPED, READ_ONLY],
        [Container(), GVISOR, Container(in_pod=True)],
        [Realtime(), BROKE, Realtime(runtime_us=-1)],
    )
)


@pytest.mark.parametrize("kind", ["affinity", "mempolicy", "scheduler", "irq", "exec"])
def test_no_errno_surprises_the_table(kind):
    """Every errno there is, in every container: a sentence or nothing, never an exception."""
    for permissions, container, realtime in KNOWN:
        for code in errno.errorcode:
            told = for_refusal(Refusal(kind, code), permissions, container, realtime)
            assert told == "" or (told[0].isupper() or told.startswith(("gVisor", "/proc"))), told
            assert not told or told.endswith("."), told
