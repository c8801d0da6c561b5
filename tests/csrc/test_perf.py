"""perf_event_open through the C module: its errors as the kernel gives them, and a real count where there is one."""

import errno
import os
import struct

import pytest

from numapin.kernel import calls, perf
from numapin.kernel.perf import EVENTS, Counters

SOFTWARE, TASK_CLOCK = 1, 1


def opened(kind: int, config: int, tid: int = 0) -> int:
    return int(calls.load().lib.numapin_perf_open(kind, config, tid))


def test_an_event_that_is_none_is_refused():
    assert opened(999, 0) in (-errno.ENOENT, -errno.EINVAL, -errno.EACCES, -errno.EPERM)
    assert opened(SOFTWARE, TASK_CLOCK, 1 << 22) in (-errno.ESRCH, -errno.EINVAL)


def test_a_thread_is_counted_while_it_runs():
    """A software event: every machine has it. The descriptor gives count, enabled, running."""
    descriptor = opened(SOFTWARE, TASK_CLOCK)
    if descriptor in (-errno.EACCES, -errno.EPERM):
        pytest.skip("perf_event_open is not allowed here")
    try:
        assert not os.get_inheritable(descriptor)
        sum(range(1_000_000))
        first = struct.unpack("QQQ", os.read(descriptor, 24))
        sum(range(1_000_000))
        second = struct.unpack("QQQ", os.read(descriptor, 24))
    finally:
        os.close(descriptor)
    assert 0 < first[0] < second[0]
    assert first[2] <= first[1]


def test_every_event_has_a_count_or_a_reason():
    counters = Counters([os.getpid()])
    try:
        sum(range(100_000))
        found = counters.read()
    finally:
        counters.close()
    assert set(found) == set(EVENTS)
    assert all((event.count is None) == bool(event.why) for event in found.values())
    counters.close()


def test_a_thread_that_is_gone_is_passed_over_and_nothing_stays_open():
    before = set(os.listdir("/proc/self/fd"))
    counters = Counters([1 << 22])
    assert all(event.count is None and event.why for event in counters.read().values())
    counters.close()
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (errno.ENOENT, "no such counter"),
        (errno.EACCES, "perf_event_paranoid"),
        (errno.EPERM, "CAP_PERFMON"),
        (errno.EMFILE, "RLIMIT_NOFILE"),
        (errno.ENOSYS, "Function not implemented"),
    ],
)
def test_a_refusal_is_told_in_words(monkeypatch, code, why):
    """What this machine's kernel does not answer: a stand-in for the module."""

    class Module:
        class lib:  # noqa: N801 -- as cffi calls it
            numapin_perf_open = staticmethod(lambda *_: -code)

    monkeypatch.setattr(perf.calls, "load", lambda: Module)
    assert {why in event.why for event in Counters([1]).read().values()} == {True}


def test_the_kernels_turns_are_made_up_for():
    assert perf._scaled(struct.pack("QQQ", 100, 1000, 250)) == 400
    assert perf._scaled(struct.pack("QQQ", 0, 1000, 0)) is None
