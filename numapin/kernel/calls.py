"""The calls that this thread and the threads of others have in common, and the C module that makes some of them."""

import errno
import importlib
import os
from typing import Any, Final

from numapin.ids import CpuSet
from numapin.policies import Scheduling

SCHED_OTHER: Final = 0
SCHED_FIFO: Final = 1
SCHED_FLAG_RESET_ON_FORK: Final = 1


def load() -> Any:
    """The C module, loaded by the first step that needs it: `check` and `plan` work without libnuma.

    Raises OSError with ENOSYS where it, or libnuma, is not there.
    """
    try:
        return importlib.import_module("numapin._native")
    except ImportError as error:
        raise OSError(errno.ENOSYS, f"the native module cannot be loaded: {error}") from None


def check(result: int) -> None:
    """Raise OSError for what a function of the C module returned, unless it is 0."""
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def scheduling(tid: int) -> Scheduling:
    """sched_getattr(2) of a thread; 0 is the caller."""
    module = load()
    policy, priority, nice = module.ffi.new("unsigned *"), module.ffi.new("unsigned *"), module.ffi.new("int *")
    flags = module.ffi.new("unsigned long long *")
    check(module.lib.numapin_sched_getattr(tid, policy, priority, flags, nice))
    reset_on_fork = bool(flags[0] & SCHED_FLAG_RESET_ON_FORK)
    return Scheduling(policy[0] == SCHED_FIFO, int(priority[0]), reset_on_fork, int(nice[0]))


def set_scheduling(tid: int, wanted: Scheduling) -> None:
    """sched_setattr(2) of a thread; 0 is the caller."""
    policy = SCHED_FIFO if wanted.fifo else SCHED_OTHER
    flags = SCHED_FLAG_RESET_ON_FORK if wanted.reset_on_fork else 0
    check(load().lib.numapin_sched_setattr(tid, policy, wanted.priority, flags, wanted.nice))


def interrupt_affinity(irq: int) -> CpuSet:
    """The CPUs to which an interrupt may come: /proc/irq/<irq>/smp_affinity_list."""
    with open(_path(irq), encoding="ascii", errors="replace") as file:
        return CpuSet.parse(file.read())


def set_interrupt_affinity(irq: int, cpus: CpuSet) -> None:
    """One write(2) of the list: a mask's width would depend on the machine. Errors show in write or close."""
    descriptor = os.open(_path(irq), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(cpus).encode())
    finally:
        os.close(descriptor)


def _path(irq: int) -> str:
    return f"/proc/irq/{irq}/smp_affinity_list"
