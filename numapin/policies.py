"""How memory is allocated and threads are scheduled, as the system calls have it: values."""

from numapin.ids import NodeSet
from numapin.values import value

MODES = {0: "MPOL_DEFAULT", 1: "MPOL_PREFERRED", 2: "MPOL_BIND", 3: "MPOL_INTERLEAVE", 4: "MPOL_LOCAL"} | {
    5: "MPOL_PREFERRED_MANY",
    6: "MPOL_WEIGHTED_INTERLEAVE",
}
"""Memory policy modes (linux/mempolicy.h). Debian's numaif.h of libnuma 2.0.16 lacks the later ones."""
MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_LOCAL, MPOL_PREFERRED_MANY = 0, 1, 2, 4, 5
MPOL_F_STATIC_NODES, MPOL_F_RELATIVE_NODES = 1 << 15, 1 << 14
"""Without STATIC, a later write to cpuset.mems renumbers the policy to another node [measured on 6.1 and 6.12]; under
RELATIVE the nodes are positions in the allowed ones."""

MODE_MASK = 0x1FFF
"""The mode without its flags (bits 13 to 15)."""


@value
class MemoryPolicy:
    """The memory policy of a thread, as get_mempolicy(2) tells it."""

    mode: int
    """One of `MODES`."""
    flags: int
    nodes: NodeSet

    def __str__(self) -> str:
        return f"{MODES.get(self.mode, self.mode)} nodes={self.nodes}"


@value
class Scheduling:
    """The scheduling of a thread, as sched_getattr(2) tells it."""

    fifo: bool
    priority: int
    reset_on_fork: bool
    nice: int = 0
    """Counts under SCHED_OTHER only."""

    def __str__(self) -> str:
        reset = " reset_on_fork" if self.reset_on_fork else ""
        return f"SCHED_FIFO priority={self.priority}{reset}" if self.fifo else "SCHED_OTHER"
