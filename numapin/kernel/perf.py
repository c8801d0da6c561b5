"""Hardware counters of another process's threads, and of what CPUs share: perf_event_open(2)."""

import errno
import os
import resource
import struct
from collections.abc import Mapping, Sequence
from typing import Final

from numapin.counters import Event, Opening
from numapin.kernel import calls

_HARDWARE_CACHE: Final = 3
"""PERF_TYPE_HW_CACHE; its events are a cache, a kind of access and a result, a byte each (linux/perf_event.h)."""
_LAST_LEVEL, _NODE, _MISS = 2, 6, 1 << 16
EVENTS: Final = {
    "llc_loads": _LAST_LEVEL,
    "llc_misses": _LAST_LEVEL | _MISS,
    "node_loads": _NODE,
    "node_misses": _NODE | _MISS,
}
"""Reads: those that reached the last-level cache, those that missed it, those that memory served, and of these those of
another node."""

SPARE: Final = 64
"""File descriptors that are left for everything else."""
_READING = struct.Struct("QQQ")

_WHY = {
    errno.ENOENT: "this CPU, or this virtual machine, has no such counter",
    errno.EACCES: "kernel.perf_event_paranoid does not allow it, and CAP_PERFMON is not there",
    errno.EPERM: "the seccomp profile or kernel.perf_event_paranoid does not allow it, and CAP_PERFMON is not there",
    errno.EMFILE: "there are too few file descriptors (RLIMIT_NOFILE)",
}
_WHY |= dict.fromkeys((errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV), _WHY[errno.ENOENT])


def of_threads(threads: Sequence[int]) -> dict[str, tuple[Opening, ...]]:
    """EVENTS of these threads; of the first alone, where there are too few file descriptors for all."""
    chosen = threads[: max(1, (_raise_limit() - SPARE) // len(EVENTS))]
    return {name: tuple(Opening(_HARDWARE_CACHE, config, tid) for tid in chosen) for name, config in EVENTS.items()}


class Counters:
    """Counts from when it is made until `close`. Threads that are made meanwhile are counted with their makers."""

    def __init__(self, events: Mapping[str, Sequence[Opening]]) -> None:
        self._open: dict[str, list[tuple[int, float]]] = {name: [] for name in events}
        self._why: dict[str, str] = {}
        for name, openings in events.items():
            self._begin(name, openings)

    def _begin(self, name: str, openings: Sequence[Opening]) -> None:
        if not openings:
            self._why[name] = _WHY[errno.ENOENT]
        for one in openings:
            try:
                opened = calls.load().lib.numapin_perf_open(one.kind, one.config, one.thread, one.cpu)
                calls.check(opened)
            except OSError as error:
                if error.errno == errno.ESRCH:
                    continue
                code = error.errno or 0
                self._why[name] = _WHY.get(code, error.strerror or os.strerror(code))
                return
            self._open[name].append((opened, one.size))

    def read(self) -> dict[str, Event]:
        """What was counted so far, by event."""
        return {name: self._event(name) for name in self._open}

    def _event(self, name: str) -> Event:
        if name in self._why:
            return Event(why=self._why[name])
        counts = [_scaled(os.read(opened, _READING.size), size) for opened, size in self._open[name]]
        known = [count for count in counts if count is not None]
        return Event(sum(known)) if known else Event(why="the counters of this CPU were busy, or nothing ran")

    def close(self) -> None:
        """Stop counting."""
        for descriptors in self._open.values():
            while descriptors:
                os.close(descriptors.pop()[0])


def _scaled(content: bytes, size: float) -> float | None:
    """So many times the count, as if it had been counted all the time; None where it never was."""
    count, enabled, running = _READING.unpack(content)
    return count * size * enabled / running if running else None


def _raise_limit() -> int:
    """As many files as this process may open, now at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
