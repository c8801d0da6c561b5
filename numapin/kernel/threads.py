"""The kernel of this machine, for the threads of other processes: what the keeper changes."""

import errno
import os
from typing import Final

from numapin.ids import CpuSet
from numapin.kernel import calls
from numapin.policies import Scheduling

MOST_BITS: Final = 1 << 16


class LinuxThreads:
    """Every method raises OSError with the kernel's errno: ESRCH for a thread that ended, EPERM for another user's.

    Raises OSError itself where the C module is not there.
    """

    def __init__(self) -> None:
        module = calls.load()
        self._get = module.lib.numapin_sched_getaffinity
        self._bits = 1024
        # The kernel refuses a mask shorter than its own nr_cpu_ids, and glibc's cpu_set_t is 1,024 bits.
        while True:
            words = module.ffi.new("unsigned long[]", self._bits // 64)
            result = self._get(0, words, self._bits)
            if result != -errno.EINVAL or self._bits >= MOST_BITS:
                break
            self._bits *= 2
        calls.check(result)
        self._words = words
        self._sets: dict[int, CpuSet] = {}
        """Nearly all threads have one of a few sets."""
        self._buffer = module.ffi.buffer(words)

    def affinity(self, tid: int) -> CpuSet:
        """sched_getaffinity(2). Half the cost of os.sched_getaffinity, which makes a set of Python's."""
        calls.check(self._get(tid, self._words, self._bits))
        mask = int.from_bytes(self._buffer, "little")
        found = self._sets.get(mask)
        if found is None:
            found = self._sets[mask] = CpuSet(mask)
        return found

    def set_affinity(self, tid: int, cpus: CpuSet) -> None:
        """sched_setaffinity(2). The kernel keeps what of it the cpuset allows, silently: read it back."""
        os.sched_setaffinity(tid, cpus)

    def scheduling(self, tid: int) -> Scheduling:
        """sched_getattr(2)."""
        return calls.scheduling(tid)

    def set_scheduling(self, tid: int, scheduling: Scheduling) -> None:
        """sched_setattr(2)."""
        calls.set_scheduling(tid, scheduling)

    def interrupt_affinity(self, irq: int) -> CpuSet:
        """/proc/irq/<irq>/smp_affinity_list."""
        return calls.interrupt_affinity(irq)

    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None:
        """Write /proc/irq/<irq>/smp_affinity_list."""
        calls.set_interrupt_affinity(irq, cpus)
