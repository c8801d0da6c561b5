"""The one door to effects: system calls, writes to /proc/irq, fork, exec. Nothing else in numapin changes anything."""

import errno
import os
import signal
from typing import TYPE_CHECKING, Final

from numapin.ids import CpuSet, NodeSet
from numapin.kernel import calls
from numapin.kernel.environment import initial_environment
from numapin.marker import MARKER
from numapin.policies import MODE_MASK, MemoryPolicy, Scheduling
from numapin.steps import Done

if TYPE_CHECKING:
    from numapin.orders import Orders

NODE_BITS: Final = 1024
"""Nodes that a mask holds (CONFIG_NODES_SHIFT is at most 10): get_mempolicy refuses masks shorter than nr_node_ids."""
WORD: Final = 64

RESTORED = tuple(signal.Signals[name] for name in ("SIGPIPE", "SIGXFSZ") if name in signal.Signals.__members__)
"""Signals that Python ignores from its start on; execve(2) would hand that on to the server."""


class LinuxKernel:
    """The kernel of this machine, for this thread. Every method raises OSError with the kernel's errno."""

    def __init__(self) -> None:
        self._environment = initial_environment()

    def affinity(self) -> CpuSet:
        """sched_getaffinity(2)."""
        return CpuSet.of(os.sched_getaffinity(0))

    def set_affinity(self, cpus: CpuSet) -> None:
        """sched_setaffinity(2). The kernel keeps what of it the cpuset allows, silently: read it back."""
        os.sched_setaffinity(0, cpus)

    def memory_policy(self) -> MemoryPolicy:
        """get_mempolicy(2)."""
        module = calls.load()
        mode = module.ffi.new("int *")
        words = module.ffi.new("unsigned long[]", NODE_BITS // WORD + 1)
        calls.check(module.lib.numapin_get_mempolicy(mode, words, NODE_BITS))
        nodes = sum(int(word) << WORD * place for place, word in enumerate(words))
        return MemoryPolicy(mode[0] & MODE_MASK, mode[0] & ~MODE_MASK, NodeSet(nodes))

    def set_memory_policy(self, policy: MemoryPolicy) -> None:
        """set_mempolicy(2): inherited by threads, fork and exec; for pages that are allocated from now on."""
        module = calls.load()
        words = module.ffi.new("unsigned long[]", NODE_BITS // WORD + 1)
        for place in range(NODE_BITS // WORD):
            words[place] = policy.nodes.mask >> WORD * place & (1 << WORD) - 1
        calls.check(module.lib.numapin_set_mempolicy(policy.mode | policy.flags, words, NODE_BITS))

    def allowed_memory(self) -> NodeSet:
        """Mems_allowed_list of /proc/thread-self/status: told also where seccomp denies get_mempolicy."""
        for line in _read("/proc/thread-self/status").splitlines():
            if line.startswith("Mems_allowed_list:"):
                return NodeSet.parse(line.partition(":")[2])
        raise OSError(errno.ENODATA, "Mems_allowed_list is not in /proc/thread-self/status")

    def scheduling(self) -> Scheduling:
        """sched_getattr(2)."""
        return calls.scheduling(0)

    def set_scheduling(self, scheduling: Scheduling) -> None:
        """sched_setattr(2)."""
        calls.set_scheduling(0, scheduling)

    def interrupt_affinity(self, irq: int) -> CpuSet:
        """/proc/irq/<irq>/smp_affinity_list."""
        return calls.interrupt_affinity(irq)

    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None:
        """Write /proc/irq/<irq>/smp_affinity_list."""
        calls.set_interrupt_affinity(irq, cpus)

    def start_keeper(self, orders: "Orders") -> Done:
        """Start the process that stays beside the server; `already` where this process has one from before."""
        from numapin.kernel.starting import keeper_of, start_keeper  # noqa: PLC0415 -- few servers have a keeper

        if keeper_of(os.getpid()):
            return "already"
        start_keeper(orders, os.getpid())
        return "done"

    def variable(self, name: str) -> str | None:
        """What the environment that numapin got says; None where it does not have it."""
        content = self._environment.get(name.encode())
        return None if content is None else os.fsdecode(content)

    def set_variable(self, name: str, content: str) -> None:
        """Add a variable to the environment that `execute` hands on."""
        self._environment = self._environment.marked(name.encode(), content.encode())

    def execute(self, path: str, arguments: tuple[str, ...], applied: str) -> None:
        """execve(2) with the environment that numapin was started with, and the marker.

        os.environ would not do: Python adds LC_CTYPE to it (PEP 538). SIGINT needs nothing: a handler falls back to
        the default at exec, and Python installs one only where the signal was not ignored.
        """
        if applied:
            self.set_variable(MARKER, applied)
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        os.execve(path, arguments, self._environment)  # noqa: S606 -- no shell is wanted: this is the point of it all


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()
