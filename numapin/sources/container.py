"""The container around this process: Kubernetes, QoS class, sandbox, limits, network namespace, irqbalance."""

import re
from collections.abc import Mapping

from numapin.assignment import Container, Realtime
from numapin.ids import CpuSet
from numapin.marker import MARKER
from numapin.sources.cgroup import Limits
from numapin.sources.environment import binders
from numapin.sources.parsing import number, read
from numapin.sources.root import Root

GUARANTEED, BEST_EFFORT = -997, 1000
"""oom_score_adj that the kubelet gives these classes (pkg/kubelet/qos/policy.go); Burstable lies between 3 and 999."""

_VERSION = re.compile(r"Linux version (\d{1,3})\.(\d{1,4})", re.ASCII)


def read_container(root: Root, limits: Limits, environment: Mapping[str, str]) -> Container:
    """All that is known of the container."""
    in_pod = "KUBERNETES_SERVICE_HOST" in environment
    score = read(root, "/proc/self/oom_score_adj", number)
    qos = qos_class(score)
    return Container(
        in_pod=in_pod or score == GUARANTEED,
        qos=qos if in_pod or score == GUARANTEED else None,
        sandbox=_sandbox(root),
        cpu_quota=limits.cpu_quota,
        memory_max=limits.memory_max,
        huge_page_limits=limits.huge_pages,
        host_network=_is_host_network(root),
        default_irq_cpus=read(root, "/proc/irq/default_smp_affinity", CpuSet.parse_mask),
        housekeeping_cpus=_housekeeping(environment),
        irq_balancer=_irq_balancer(root),
        binders=binders(environment),
        applied=environment.get(MARKER),
    )


def qos_class(score: int | None) -> str | None:
    """The pod's QoS class by its oom_score_adj; None for a score that the kubelet does not give."""
    if score == GUARANTEED:
        return "Guaranteed"
    if score == BEST_EFFORT:
        return "BestEffort"
    return "Burstable" if score is not None and 3 <= score < BEST_EFFORT else None


def read_realtime(root: Root, limits: Limits) -> Realtime:
    """What decides about SCHED_FIFO: sched_rt_runtime_us, the cgroup's budget, the kernel's version."""
    version = _VERSION.match(root.read("/proc/version") or "")
    return Realtime(
        runtime_us=read(root, "/proc/sys/kernel/sched_rt_runtime_us", number),
        group_runtime_us=limits.rt_runtime_us,
        kernel=(int(version[1]), int(version[2])) if version else None,
    )


def _sandbox(root: Root) -> str | None:
    """gVisor by its version, with one build date in all releases; Kata by its agent's options on the command line."""
    release = root.read("/proc/sys/kernel/osrelease") or ""
    version = root.read("/proc/version") or ""
    if "gvisor" in release.lower() or "Sun Jan 10 15:06:54 PST 2016" in version:
        return "gVisor"
    arguments = (root.read("/proc/cmdline") or "").split()
    if any(word.startswith(("agent.log", "systemd.unit=kata")) for word in arguments):
        return "Kata"
    return None


def _is_host_network(root: Root) -> bool:
    """Whether this is the first network namespace.

    Most of /proc/sys/net/core is registered for that one alone (net_core_table, net/core/sysctl_net_core.c), and
    /proc/sys/net shows what the reader's own namespace has. Namespace inode numbers would not tell.
    """
    return root.read("/proc/sys/net/core/netdev_budget") is not None


def _housekeeping(environment: Mapping[str, str]) -> CpuSet | None:
    text = environment.get("OPENSHIFT_HOUSEKEEPING_CPUS")
    if not text:
        return None
    try:
        return CpuSet.parse(text)
    except ValueError:
        return None


def _irq_balancer(root: Root) -> str | None:
    """irqbalance's socket, as a file or an abstract name (its init_socket); a pod sees neither, a host both."""
    for name in root.names("/run/irqbalance"):
        if name.endswith(".sock"):
            return f"/run/irqbalance/{name}"
    found = re.search(r"@irqbalance(\d{1,7})\.sock", root.read("/proc/net/unix") or "", re.ASCII)
    return f"process {found[1]}" if found else None
