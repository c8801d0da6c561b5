"""The one door to effects: system calls, writes to /proc/irq, and exec. Nothing else in numapin changes anything."""

import errno
import importlib
import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any, Final

from numapin.assignment import MARKER
from numapin.ids import CpuSet, NodeSet
from numapin.steps import MODE_MASK, MemoryPolicy, Scheduling

NODE_BITS: Final = 1024
"""Nodes that a mask holds (CONFIG_NODES_SHIFT is at most 10): get_mempolicy refuses masks shorter than nr_node_ids."""
WORD: Final = 64

SCHED_OTHER: Final = 0
SCHED_FIFO: Final = 1
SCHED_FLAG_RESET_ON_FORK: Final = 1

RESTORED = tuple(signal.Signals[name] for name in ("SIGPIPE", "SIGXFSZ") if name in signal.Signals.__members__)
"""Signals that Python ignores from its start on; execve(2) would hand that on to the server."""


class LinuxKernel:
    """The kernel of this machine, for this thread. Every method raises OSError with the kernel's errno."""

    def affinity(self) -> CpuSet:
        """sched_getaffinity(2)."""
        return CpuSet.of(os.sched_getaffinity(0))

    def set_affinity(self, cpus: CpuSet) -> None:
        """sched_setaffinity(2). The kernel keeps what of it the cpuset allows, silently: read it back."""
        os.sched_setaffinity(0, cpus)

    def memory_policy(self) -> MemoryPolicy:
        """get_mempolicy(2)."""
        native = _native()
        mode = native.ffi.new("int *")
        words = native.ffi.new("unsigned long[]", NODE_BITS // WORD + 1)
        _check(native.lib.numapin_get_mempolicy(mode, words, NODE_BITS))
        nodes = sum(int(word) << WORD * place for place, word in enumerate(words))
        return MemoryPolicy(mode[0] & MODE_MASK, mode[0] & ~MODE_MASK, NodeSet(nodes))

    def set_memory_policy(self, policy: MemoryPolicy) -> None:
        """set_mempolicy(2): inherited by threads, fork and exec; for pages that are allocated from now on."""
        native = _native()
        words = native.ffi.new("unsigned long[]", NODE_BITS // WORD + 1)
        for place in range(NODE_BITS // WORD):
            words[place] = policy.nodes.mask >> WORD * place & (1 << WORD) - 1
        _check(native.lib.numapin_set_mempolicy(policy.mode | policy.flags, words, NODE_BITS))

    def allowed_memory(self) -> NodeSet:
        """Mems_allowed_list of /proc/thread-self/status: told also where seccomp denies get_mempolicy."""
        for line in _read("/proc/thread-self/status").splitlines():
            if line.startswith("Mems_allowed_list:"):
                return NodeSet.parse(line.partition(":")[2])
        raise OSError(errno.ENODATA, "Mems_allowed_list is not in /proc/thread-self/status")

    def scheduling(self) -> Scheduling:
        """sched_getattr(2)."""
        native = _native()
        policy, priority = native.ffi.new("unsigned *"), native.ffi.new("unsigned *")
        flags = native.ffi.new("unsigned long long *")
        _check(native.lib.numapin_sched_getattr(0, policy, priority, flags))
        return Scheduling(policy[0] == SCHED_FIFO, int(priority[0]), bool(flags[0] & SCHED_FLAG_RESET_ON_FORK))

    def set_scheduling(self, scheduling: Scheduling) -> None:
        """sched_setattr(2)."""
        policy = SCHED_FIFO if scheduling.fifo else SCHED_OTHER
        flags = SCHED_FLAG_RESET_ON_FORK if scheduling.reset_on_fork else 0
        _check(_native().lib.numapin_sched_setattr(0, policy, scheduling.priority, flags))

    def interrupt_affinity(self, irq: int) -> CpuSet:
        """/proc/irq/<irq>/smp_affinity_list."""
        return CpuSet.parse(_read(f"/proc/irq/{irq}/smp_affinity_list"))

    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None:
        """One write(2) of the list: a mask's width would depend on the machine. Errors show in write or close."""
        descriptor = os.open(f"/proc/irq/{irq}/smp_affinity_list", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, str(cpus).encode())
        finally:
            os.close(descriptor)

    def execute(self, path: str, arguments: tuple[str, ...], applied: str) -> None:
        """execve(2) with the environment that numapin was started with, and the marker.

        os.environ would not do: Python adds LC_CTYPE to it (PEP 538). SIGINT needs nothing: a handler falls back to
        the default at exec, and Python installs one only where the signal was not ignored.
        """
        environment = initial_environment()
        if applied:
            environment = environment.marked(MARKER.encode(), applied.encode())
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        os.execve(path, arguments, environment)  # noqa: S606 -- no shell is wanted: this is the point of it all


class Environment(Mapping[bytes, bytes]):
    """An environment as execve(2) has it: entries in their order, a name perhaps twice.

    Container runtimes do hand on a name twice (NVIDIA_VISIBLE_DEVICES, under CDI), and which of the two counts is the
    server's business. os.execve asks a mapping for keys() and values(): one that answers with lists keeps both.
    """

    def __init__(self, entries: list[tuple[bytes, bytes]]) -> None:
        self._entries = entries

    def __getitem__(self, name: bytes) -> bytes:
        return dict(reversed(self._entries))[name]

    def __iter__(self) -> Iterator[bytes]:
        return (name for name, _ in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Any:
        """The values, one for each entry."""
        return [content for _, content in self._entries]

    def marked(self, name: bytes, content: bytes) -> "Environment":
        """The same environment with this one variable set."""
        return Environment([*(entry for entry in self._entries if entry[0] != name), (name, content)])


def initial_environment() -> Environment:
    """The environment at the start of this process, byte for byte: /proc/self/environ."""
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return Environment(list(os.environb.items()))
    pairs = (entry.partition(b"=") for entry in entries)
    return Environment([(name, content) for name, equals, content in pairs if equals and name])


def _native() -> Any:
    """The C module, loaded by the first step that needs it: `check` and `plan` work without libnuma."""
    try:
        return importlib.import_module("numapin._native")
    except ImportError as error:
        raise OSError(errno.ENOSYS, f"the native module cannot be loaded: {error}") from None


def _check(result: int) -> None:
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()
