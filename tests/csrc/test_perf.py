"""perf_event_open through the C module: its errors as the kernel gives them, and a real count where there is one."""

import errno
import os
import struct
import time

import pytest

from numapin.counters import Opening
from numapin.kernel import calls, perf
from numapin.kernel.perf import EVENTS, Counters, of_threads

SOFTWARE, CPU_CLOCK, TASK_CLOCK = 1, 0, 1


def opened(kind: int, config: int, tid: int = 0, cpu: int = -1) -> int:
    return int(calls.load().lib.numapin_perf_open(kind, config, tid, cpu))


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
    counters = Counters(of_threads([os.getpid()]))
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
    counters = Counters(of_threads([1 << 22]))
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
    assert {why in event.why for event in Counters(of_threads([1])).read().values()} == {True}


def test_the_kernels_turns_are_made_up_for():
    assert perf._scaled(struct.pack("QQQ", 100, 1000, 250), 1) == 400
    assert perf._scaled(struct.pack("QQQ", 9, 1000, 1000), 64 / 9) == 64
    assert perf._scaled(struct.pack("QQQ", 0, 1000, 0), 1) is None


def test_what_is_counted_of_whole_cpus_is_added_up_in_its_size():
    """As of the links between sockets, for which no machine of these tests has counters: a clock stands in."""
    (cpu, *_) = os.sched_getaffinity(0)
    one = Opening(SOFTWARE, CPU_CLOCK, cpu=cpu, size=64)
    counters = Counters({"links": (one, one)})
    try:
        time.sleep(0.02)
        found = counters.read()["links"]
    finally:
        counters.close()
    if found.count is None:
        assert "CAP_PERFMON" in found.why
        pytest.skip(found.why)
    assert found.count > 2 * 64 * 10_000_000  # nanoseconds of two clocks, each at least half of the sleep
    assert found.count % 64 == 0


def test_where_there_is_nothing_to_count_that_is_said():
    assert "no such counter" in Counters({"links": ()}).read()["links"].why
