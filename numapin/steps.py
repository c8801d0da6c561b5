"""The steps: each is one change that can say what it is, do itself, and check what came of it.

A step's text is its line in a dry run and in a run alike. Steps reach the kernel only through the `Kernel`
that they are handed; a plan is made without one.
"""

import errno
import shlex
from typing import TYPE_CHECKING, Literal, Protocol

from numapin.ids import CpuSet, NodeSet, printable
from numapin.marker import Marker
from numapin.policies import (
    MODES,
    MPOL_BIND,
    MPOL_DEFAULT,
    MPOL_F_RELATIVE_NODES,
    MPOL_F_STATIC_NODES,
    MPOL_LOCAL,
    MPOL_PREFERRED,
    MPOL_PREFERRED_MANY,
    MemoryPolicy,
    Scheduling,
)
from numapin.values import replace, value

if TYPE_CHECKING:
    # Few servers have a keeper: what describes one is loaded with the first that does.
    from numapin.orders import Orders

Done = Literal["done", "already"]

TRUNCATED, CONFLICT = "less was kept than asked", "another policy is set already"
"""The two ways in which a step fails without an errno."""


class Kernel(Protocol):
    """The only door to changes. Every method raises OSError with the kernel's errno."""

    def affinity(self) -> CpuSet: ...
    def set_affinity(self, cpus: CpuSet) -> None: ...
    def memory_policy(self) -> MemoryPolicy: ...
    def set_memory_policy(self, policy: MemoryPolicy) -> None: ...
    def allowed_memory(self) -> NodeSet: ...
    def scheduling(self) -> Scheduling: ...
    def set_scheduling(self, scheduling: Scheduling) -> None: ...
    def interrupt_affinity(self, irq: int) -> CpuSet: ...
    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None: ...
    def start_keeper(self, orders: "Orders") -> Done: ...
    def variable(self, name: str) -> str | None: ...
    def set_variable(self, name: str, content: str) -> None: ...
    def execute(self, path: str, arguments: tuple[str, ...], applied: str) -> None: ...


class Refused(Exception):
    """A step that did not come to pass although no call failed."""

    def __init__(self, why: str, got: str) -> None:
        super().__init__(why, got)
        self.why = why
        self.got = got


def compare(asked: object, got: object) -> None:
    """The kernel truncates masks silently: what was asked and what is there must be the same."""
    if asked != got:
        raise Refused(TRUNCATED, str(got) or "nothing")


@value
class SetAffinity:
    """Allow this thread, and all that it becomes or starts, only these CPUs: sched_setaffinity(2)."""

    cpus: CpuSet
    kind = "affinity"

    def __str__(self) -> str:
        return f"sched_setaffinity cpus={self.cpus}"

    def perform(self, kernel: Kernel) -> Done:
        """Set it and read it back; also where it is so: what was asked for, Linux 6.2 keeps when a cpuset grows."""
        before = kernel.affinity()
        try:
            kernel.set_affinity(self.cpus)
        except OSError as error:
            if before == self.cpus:
                return "already"
            if error.errno != errno.EINVAL:
                raise
            # A cpuset write that runs at the same moment makes a valid mask fail once (sched_setaffinity(2)).
            kernel.set_affinity(self.cpus)
        compare(self.cpus, kernel.affinity())
        return "already" if before == self.cpus else "done"


@value
class SetMemoryPolicy:
    """Let this thread, and all that it becomes or starts, allocate memory from these nodes: set_mempolicy(2)."""

    mode: Literal["bind", "preferred"]
    nodes: NodeSet
    ours: bool = False
    """An earlier numapin in this chain set the present policy: it may be replaced."""
    kind = "mempolicy"

    @property
    def policy(self) -> MemoryPolicy:
        """The policy as the system call takes it."""
        mode = MPOL_BIND if self.mode == "bind" else MPOL_PREFERRED_MANY
        return MemoryPolicy(mode, MPOL_F_STATIC_NODES, self.nodes)

    def __str__(self) -> str:
        return f"set_mempolicy {MODES[self.policy.mode]}|MPOL_F_STATIC_NODES nodes={self.nodes}"

    def perform(self, kernel: Kernel) -> Done:
        """Set it, unless somebody already did, and read it back against what is allowed."""
        present = self._present(kernel)
        if present == self.policy or (present and self._agrees(present)):
            compare(self.nodes, self.nodes & kernel.allowed_memory())
            return "already"
        if present and present.mode not in (MPOL_DEFAULT, MPOL_LOCAL) and not self.ours:
            raise Refused(CONFLICT, str(present))
        kernel.set_memory_policy(self.policy)
        # With STATIC_NODES get_mempolicy returns the nodes as asked: what counts is what of them is allowed.
        compare(self.policy, kernel.memory_policy())
        compare(self.nodes, self.nodes & kernel.allowed_memory())
        return "done"

    def _present(self, kernel: Kernel) -> MemoryPolicy | None:
        """The policy of now; None where a filter hides it, which says nothing about whether it may be set."""
        try:
            return kernel.memory_policy()
        except OSError:
            return None

    def _agrees(self, present: MemoryPolicy) -> bool:
        """The runtime (OCI linux.memoryPolicy) or a numactl in front chose these very nodes: theirs is kept."""
        modes = (MPOL_BIND,) if self.mode == "bind" else (MPOL_BIND, MPOL_PREFERRED, MPOL_PREFERRED_MANY)
        relative = present.flags & MPOL_F_RELATIVE_NODES
        return not self.ours and present.mode in modes and not relative and present.nodes == self.nodes


@value
class SetScheduling:
    """Put the main thread, and nothing that it starts, under SCHED_FIFO: sched_setattr(2)."""

    priority: int
    kind = "scheduler"

    @property
    def scheduling(self) -> Scheduling:
        """Without RESET_ON_FORK every thread of the server would inherit it."""
        return Scheduling(fifo=True, priority=self.priority, reset_on_fork=True)

    def __str__(self) -> str:
        return f"sched_setattr {self.scheduling}"

    def perform(self, kernel: Kernel) -> Done:
        """Set it and read it back."""
        before = kernel.scheduling()
        # A real-time thread keeps its niceness for later, and some kernels show it.
        if replace(before, nice=0) == self.scheduling:
            return "already"
        kernel.set_scheduling(self.scheduling)
        compare(self.scheduling, replace(kernel.scheduling(), nice=0))
        return "done"


@value
class StartKeeper:
    """Start the process that stays beside the server, for threads that do not exist before exec."""

    orders: "Orders"
    probe: bool = False
    """SCHED_FIFO is required: find out now whether it will be permitted, on this thread."""
    kind = "keeper"

    def __str__(self) -> str:
        return printable(f"start keeper: {self.orders}")

    def perform(self, kernel: Kernel) -> Done:
        """Try what it will do, where that must not fail later; then start it. It watches this very process."""
        if self.probe and self.orders.fifo:
            before = kernel.scheduling()
            kernel.set_scheduling(Scheduling(fifo=True, priority=self.orders.fifo, reset_on_fork=True))
            kernel.set_scheduling(before)
        return kernel.start_keeper(self.orders)


@value
class SetVariable:
    """Add a variable to the server's environment, unless it is there: setenv(3)."""

    name: str
    content: str
    kind = "environment"

    def __str__(self) -> str:
        return f"setenv {self.name}={self.content}"

    def perform(self, kernel: Kernel) -> Done:
        """Add it to what exec hands on; what the operator set is left as it is."""
        if kernel.variable(self.name) is not None:
            return "already"
        kernel.set_variable(self.name, self.content)
        return "done"


@value
class PinInterrupt:
    """Let an interrupt come only to these CPUs: /proc/irq/<irq>/smp_affinity_list (Documentation/core-api/irq)."""

    irq: int
    cpus: CpuSet
    device: str
    kind = "irq"

    def __str__(self) -> str:
        return f"write /proc/irq/{self.irq}/smp_affinity_list {self.cpus}  # {self.device}"

    def perform(self, kernel: Kernel) -> Done:
        """Write it and read it back. effective_affinity_list is no proof: it lags until the next interrupt."""
        if kernel.interrupt_affinity(self.irq) == self.cpus:
            return "already"
        kernel.set_interrupt_affinity(self.irq, self.cpus)
        compare(self.cpus, kernel.interrupt_affinity(self.irq))
        return "done"


@value
class Execute:
    """Become the server: execve(2). There is no coming back from this step."""

    path: str
    arguments: tuple[str, ...]
    """argv, the name by which it was called first."""
    applied: Marker
    """What the server's environment says of it."""
    kind = "exec"

    def __str__(self) -> str:
        return printable(shlex.join(["execve", self.path, *self.arguments[1:]]))

    def perform(self, kernel: Kernel) -> Done:
        """Replace this process."""
        kernel.execute(self.path, self.arguments, str(self.applied))
        return "done"


Step = SetAffinity | SetMemoryPolicy | SetScheduling | StartKeeper | PinInterrupt | SetVariable | Execute
