"""The measurements of csrc/bench.h: each pins threads of its own, and leaves this one as it is."""

import importlib
import os
from collections.abc import Iterable
from typing import Any, Final

from numapin.kernel.calls import check

READ, WRITE, COPY = range(3)
_MOST_WHY: Final = 256


def _load() -> Any:
    """The C module. Raises OSError where it, or libnuma, is not there."""
    try:
        return importlib.import_module("numapin._bench")
    except ImportError as error:
        raise OSError(f"the module that measures cannot be loaded: {error}") from None


def latency(cpu: int, node: int, size: int, seconds: float) -> float:
    """Nanoseconds of one dependent load from a CPU to a node's memory, on huge pages where there are some."""
    module = _load()
    nanoseconds, huge = module.ffi.new("double *"), module.ffi.new("int *")
    check(module.lib.numapin_bench_latency(cpu, node, size, seconds, nanoseconds, huge))
    return float(nanoseconds[0])


def bandwidth(cpus: Iterable[int], node: int, size: int, seconds: float, kind: int) -> float:
    """Bytes per second between all of these CPUs together and a node's memory; kind is READ, WRITE or COPY."""
    module, chosen = _load(), list(cpus)
    rate = module.ffi.new("double *")
    check(module.lib.numapin_bench_bandwidth(chosen, len(chosen), node, size, seconds, kind, rate))
    return float(rate[0])


def wakeup(waker: int, sleeper: int, seconds: float) -> tuple[float, float]:
    """Nanoseconds, median and P99, from waking a thread on another CPU until it runs."""
    module = _load()
    median, p99 = module.ffi.new("double *"), module.ffi.new("double *")
    check(module.lib.numapin_bench_wakeup(waker, sleeper, seconds, median, p99))
    return median[0], p99[0]


def copies(pci: str, cpu: int, node: int, size: int, seconds: float) -> tuple[float, float]:
    """Bytes per second from a node's pinned memory to a GPU, and back. The OSError says what the driver said."""
    module = _load()
    to_device, from_device = module.ffi.new("double *"), module.ffi.new("double *")
    why = module.ffi.new("char[]", _MOST_WHY)
    code = module.lib.numapin_bench_copies(
        pci.encode(), cpu, node, size, seconds, to_device, from_device, why, _MOST_WHY
    )
    if code:
        raise OSError(-code, module.ffi.string(why).decode(errors="replace") or os.strerror(-code))
    return to_device[0], from_device[0]
