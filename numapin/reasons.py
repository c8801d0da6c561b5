"""The reason codes: the one table of what each means and what it does to the verdict."""

from typing import Literal

from numapin.values import value

Weight = Literal["misaligned", "unknown", "notice"]
Severity = Literal["error", "warning"]


@value
class Reason:
    """Why a verdict is what it is, or what the operator should know beside it."""

    code: str
    severity: Severity
    subject: str
    """The device, CPUs or nodes it is about."""
    message: str
    """A sentence: which piece is where, and where it should be."""
    hint: str
    """What to do; may be empty."""

    @property
    def weight(self) -> Weight:
        """What the reason does to the verdict when it is an error."""
        return WEIGHTS[self.code]


MEANINGS: dict[str, tuple[Weight, str]] = {
    "SANDBOXED": ("unknown", "a sandbox (gVisor, Kata) shows a topology that is not the host's"),
    "TOPOLOGY_HIDDEN": ("unknown", "the kernel shows no NUMA nodes or no allowed CPU here"),
    "GPUS_SPAN_NODES": ("misaligned", "the accelerators are on more than one node"),
    "GPUS_SPREAD": ("misaligned", "the accelerators are on more nodes than their number needs on this machine"),
    "CPUS_SPAN_NODES": ("misaligned", "the allowed CPUs are on more nodes than the container may use"),
    "CPUS_REMOTE": ("misaligned", "no allowed CPU is on a device's node"),
    "MEMS_SPAN_NODES": ("misaligned", "the allowed memory is on more nodes than the container may use (--no-narrow)"),
    "MEMS_REMOTE": ("misaligned", "the allowed memory nodes exclude a device's node"),
    "RDMA_REMOTE": ("misaligned", "an RDMA device is on another node than the accelerators"),
    "NIC_REMOTE": ("misaligned", "a network interface is on another node than the accelerators"),
    "POD_SPANS_NODES": ("misaligned", "another process of the pod may run on another node (--scope pod)"),
    "POD_HIDDEN": ("unknown", "the processes of this pod cannot be told from others (--scope pod)"),
    "CPUSET_CHANGED": ("misaligned", "the cpuset of a running server lost CPUs or memory nodes of its plan (`verify`)"),
    "THREADS_ASTRAY": ("misaligned", "threads of a running server may run elsewhere than it was bound (`verify`)"),
    "POLICY_ASTRAY": (
        "misaligned",
        "threads of a running server have another memory policy than the plan's (`verify`)",
    ),
    "PAGES_REMOTE": ("misaligned", "anonymous memory of a running server lies on other nodes than its own (`verify`)"),
    "IRQ_ASTRAY": (
        "misaligned",
        "interrupts of a running server's devices may go to other nodes (`verify --irq require`; else a warning)",
    ),
    "SERVER_HIDDEN": ("unknown", "a running server's memory may not be looked at (`verify`)"),
    "NODE_UNKNOWN": ("unknown", "nobody can say on which node a device is"),
    "GPU_HIDDEN": ("unknown", "an assigned GPU cannot be looked at"),
    "DEVICE_MISSING": ("unknown", "fewer or more devices are visible than --expect-gpus or --expect-rdma says"),
    "DEVICE_ABSENT": ("notice", "the environment names a device that is not on this machine"),
    "NODE_WITHOUT_MEMORY": ("notice", "a node has no memory of its own: the nearest that has serves it"),
    "MEMORY_TIGHT": ("notice", "the bound nodes have less memory available than the container may use"),
    "HUGEPAGES_REMOTE": ("notice", "the cgroup grants huge pages, the bound nodes have too few free"),
    "QUOTA_EXCEEDS_CPUS": ("notice", "cpu.max allows more CPU time than the bound CPUs can give"),
    "CORES_SHARED": ("notice", "the other hardware thread of a core belongs to others"),
    "NOT_GUARANTEED": ("notice", "the pod is not of QoS class Guaranteed: its CPUs are not exclusive"),
    "AFFINITY_NARROWER": ("notice", "the inherited affinity mask is smaller than the cpuset"),
    "OTHER_BINDER": ("notice", "an environment variable makes the engine rebind itself"),
    "IRQ_READ_ONLY": ("notice", "/proc/irq cannot be written here"),
    "IRQ_MANAGED": ("notice", "the kernel manages interrupts of a device itself"),
    "IRQ_BALANCER": ("notice", "irqbalance runs and may move the interrupts again"),
    "RT_NOT_PERMITTED": ("notice", "SCHED_FIFO was asked for and the kernel will refuse it"),
    "RT_UNSAFE": ("notice", "SCHED_FIFO was asked for where it can hang the server or the host"),
}
"""What each code does to the verdict as an error, and what it means. In the order in which a report lists them."""

WEIGHTS: dict[str, Weight] = {code: weight for code, (weight, _) in MEANINGS.items()}

ORDER: dict[str, int] = {code: position for position, code in enumerate(MEANINGS)}
