"""What a thread shows against where it belongs: what it should be set to, and who probably moved it."""

from collections.abc import Collection

from numapin.ids import CpuSet, NodeSet
from numapin.orders import Orders
from numapin.placement import Placement, Remark
from numapin.tree import Tree

KEPT_SINCE = (6, 2)
"""From this kernel on a thread's affinity survives a write to its cpuset (user_cpus_ptr, kernel/sched/core.c)."""


def wanted(shown: CpuSet, placement: Placement, ours: Collection[CpuSet]) -> CpuSet:
    """The CPUs that a thread should have, given those that it shows.

    A thread that shows fewer than its share was bound by the engine (OpenMP, one thread to a CPU) and is left there;
    one that shows a set that the keeper itself gave out before, perhaps to the thread that made it, is not.
    """
    if placement.own or shown == placement.cpus or shown in ours:
        return placement.cpus
    inside = shown & placement.cpus
    return inside or placement.cpus


def culprit(shown: CpuSet, allowed: CpuSet, orders: Orders, *, cpuset_changed: bool) -> str:
    """Who probably moved a thread, for the message."""
    if shown == allowed and (orders.kernel is None or orders.kernel < KEPT_SINCE):
        return "a write to its cpuset, by the kubelet or the runtime, which erases affinities before Linux 6.2"
    if cpuset_changed:
        return f"its cpuset, which is now {allowed}"
    if orders.binders:
        return f"probably {' or '.join(orders.binders)}"
    return "somebody in the container"


def strays(tree: Tree) -> list[Remark]:
    """Processes whose memory policy is not the server's, nor one of fewer nodes: nobody but they can set it."""
    server = tree[0].memory_policy if tree else None
    if not server or server == "default":
        return []
    nodes = _nodes(server)
    return [
        Remark(
            ("policy", process.pid),
            f"{process.label} has the memory policy {process.memory_policy}, not the server's {server}",
            "Only a process itself can set it: look what rebinds it (a numactl in front, an option of the engine).",
        )
        for process in tree[1:]
        if process.memory_policy not in (None, server) and not _within(process.memory_policy or "", nodes)
    ]


def _within(policy: str, nodes: NodeSet) -> bool:
    found = _nodes(policy)
    return bool(found) and found <= nodes


def _nodes(policy: str) -> NodeSet:
    try:
        return NodeSet.parse(policy.rpartition(":")[2]) if ":" in policy else NodeSet()
    except ValueError:
        return NodeSet()
