"""What to do about it: pure tables from a reason, or from a refused step, to a sentence."""

import errno

from numapin.assignment import Container, Permissions, Realtime
from numapin.steps import CONFLICT
from numapin.values import value

_ANEW = "A container restart gets the same CPUs and devices: delete the pod, so that the kubelet places it anew. "

_IN_POD = {
    "CPUS_REMOTE": "The kubelet aligns CPUs with devices only for Guaranteed pods with whole CPUs, under "
    "cpuManagerPolicy: static and topologyManagerPolicy: single-numa-node.",
    "CPUS_SPAN_NODES": "The kubelet keeps CPUs on one node only for Guaranteed pods with whole CPUs, under "
    "cpuManagerPolicy: static and topologyManagerPolicy: single-numa-node.",
    "MEMS_REMOTE": "The kubelet aligns memory only for Guaranteed pods, under memoryManagerPolicy: Static.",
    "MEMS_SPAN_NODES": "The kubelet narrows memory only for Guaranteed pods, under memoryManagerPolicy: Static; "
    "or leave out --no-narrow.",
    "GPUS_SPAN_NODES": "The kubelet keeps GPUs on one node under topologyManagerPolicy: single-numa-node, and only if "
    "their device plugin reports topology (DRA and CDI devices have none). A server that needs several nodes wants "
    "--policy restricted.",
    "GPUS_SPREAD": "The kubelet packs GPUs under topologyManagerPolicy: restricted, and only if their device plugin "
    "reports topology (DRA and CDI devices have none).",
    "RDMA_REMOTE": "The kubelet aligns only devices whose plugin reports topology: rdma-shared, DRA and CDI devices "
    "have none and are admitted anywhere; use SR-IOV devices under topologyManagerPolicy: single-numa-node.",
    "NIC_REMOTE": "The kubelet aligns only devices whose plugin reports topology: interfaces of a CNI plugin alone and "
    "DRA devices have none; use SR-IOV devices under topologyManagerPolicy: single-numa-node.",
    "POD_SPANS_NODES": "The kubelet places the containers of a pod on one node under topologyManagerScope: pod.",
}

_OUTSIDE = {
    "CPUS_REMOTE": "Start the container with {place}.",
    "CPUS_SPAN_NODES": "Start the container with the CPUs of one node ({place}), or {wider}.",
    "MEMS_REMOTE": "Start the container with {place}.",
    "MEMS_SPAN_NODES": "Start the container with {place}, or leave out --no-narrow.",
    "GPUS_SPAN_NODES": "Give the container GPUs of one node, or use --policy restricted for a server that needs more.",
    "GPUS_SPREAD": "Give the container GPUs of fewer nodes.",
    "RDMA_REMOTE": "Give the container an RDMA device of {beside} node.",
    "NIC_REMOTE": "Give the container an interface of {beside} node.",
    "POD_SPANS_NODES": "Give all containers of the pod CPUs of the same node.",
}

MANAGED = "the kernel manages this interrupt itself"
UNSAFE = "Give the container one more CPU, or force it with --rt-unsafe."

_ANYWHERE = {
    "SANDBOXED": "Run the server outside the sandbox, or with --policy none, which judges and binds nothing.",
    "TOPOLOGY_HIDDEN": "Mount /sys if it is not there (a kernel without NUMA shows no node), or use --policy none.",
    "POD_HIDDEN": "Use --scope container, or run in a pod with shareProcessNamespace and without hostPID.",
    "NODE_UNKNOWN": "Say where it is with --home {subject}=NODE{onward}.",
    "GPU_HIDDEN": "Give the container the driver's utility capability (NVIDIA_DRIVER_CAPABILITIES=compute,utility) and "
    "restart it if the driver was upgraded{onward}.",
    "DEVICE_MISSING": "Look whether the device plugin gave the container all its devices and whether they are healthy.",
    "DEVICE_ABSENT": "Look where the variable is set: the server will not find the device either.",
    "NODE_WITHOUT_MEMORY": "Memory bandwidth is that of the other node; fill this node's memory slots.",
    "MEMORY_TIGHT": "Use --memory-policy preferred, which spills over instead of ending in an out-of-memory kill.",
    "HUGEPAGES_REMOTE": "Reserve huge pages on the node (/sys/devices/system/node/node*/hugepages), or the server's "
    "mmap fails.",
    "QUOTA_EXCEEDS_CPUS": "Lower the CPU limit to the CPUs of one node, or spread the server with --policy restricted.",
    "CORES_SHARED": "Under the kubelet, cpuManagerPolicyOptions full-pcpus-only gives whole cores.",
    "NOT_GUARANTEED": "Give all containers of the pod, sidecars too, whole CPUs, and requests equal to limits.",
    "AFFINITY_NARROWER": "numapin widens it. Look who starts the container with a mask (an old runc inherits "
    "containerd's CPUAffinity, a taskset or numactl in front).",
    "OTHER_BINDER": "Unset it, or let it agree with the plan: the later binder wins.",
    "IRQ_READ_ONLY": "Interrupts stay where they are. Pin them from the host (an agent there), or run privileged.",
    "IRQ_MANAGED": "They cannot be moved, and already follow the CPUs that submit to them.",
    "IRQ_BALANCER": "Ban them there (irqbalance --banirq=N or --banmod=DRIVER), or it moves them again within seconds.",
    "RT_UNSAFE": UNSAFE,
    "CPUSET_CHANGED": "Somebody rewrote the cpuset: the kubelet where CPUs went to another pod, or an update of the "
    "container. Restart the server, so that it is placed anew.",
    "THREADS_ASTRAY": "numapin run --keep puts back what moves; numapin keep --pid N does so for this server. Where a "
    "variable is named, take it away.",
    "POLICY_ASTRAY": "Only a thread itself can set its memory policy: restart the server. Where a variable is named, "
    "take it away.",
    "PAGES_REMOTE": "Memory stays where it was touched first. Restart the server; until then, migratepages(8) moves it "
    "from the host while the server waits.",
    "SERVER_HIDDEN": "Look as the server's own user, or with CAP_SYS_PTRACE.",
    "IRQ_ASTRAY": "numapin run --irq require pins them; tell irqbalance to leave them alone (--banirq, --banmod).",
}


@value
class Setting:
    """What a reason's hint depends on, beside the reason itself."""

    in_pod: bool
    place: str
    """The container options that would put it right: `--cpuset-cpus 0-15 --cpuset-mems 0`."""
    cost: str
    """What remote access costs here, as a sentence; empty where nobody can say."""
    beside: str
    """Whose node the other devices should be on: `the accelerators'`."""
    narrow: bool
    """More than is needed is narrowed, and not wrong in itself."""
    lenient: bool
    """What nobody can say only warns already."""


def for_reason(code: str, subject: str, setting: Setting) -> str:
    """The hint of a reason; empty where there is nothing to do."""
    if code not in _OUTSIDE:
        onward = "" if setting.lenient else ", or go on without it with --unknown warn"
        return _ANYWHERE.get(code, "").format(subject=subject, onward=onward)
    if setting.in_pod:
        remedy = _ANEW + _IN_POD[code]
    else:
        wider = "use --policy restricted" if setting.narrow else "leave out --no-narrow"
        remedy = _OUTSIDE[code].format(place=setting.place, wider=wider, beside=setting.beside)
    return f"{setting.cost} {remedy}".strip()


def for_drift(code: str) -> str:
    """The hint of a drift of a running server."""
    return _ANYWHERE[code]


def for_rt(permissions: Permissions, realtime: Realtime) -> str:
    """How SCHED_FIFO would be permitted here."""
    if realtime.group_runtime_us == 0:
        return (
            "This cgroup has no real-time budget (cpu.rt_runtime_us is 0, CONFIG_RT_GROUP_SCHED): "
            "even root is refused until the host grants one."
        )
    if permissions.user_namespace:
        return (
            "CAP_SYS_NICE of a user namespace does not count for SCHED_FIFO: raise RLIMIT_RTPRIO (--ulimit rtprio=N)."
        )
    if permissions.may_have_sys_nice and not permissions.has_sys_nice:
        return (
            "CAP_SYS_NICE is in the bounding set only, as always for a user that is not root: "
            "run as root, or raise RLIMIT_RTPRIO (--ulimit rtprio=N)."
        )
    return "Add the capability SYS_NICE (and run as root), or raise RLIMIT_RTPRIO (--ulimit rtprio=N)."


@value
class Refusal:
    """A step that the kernel or the runtime refused."""

    kind: str
    """The step's kind."""
    code: int | None
    """errno; None where no call failed, but what is there is not what was asked for."""
    why: str = ""
    """The cause in a few words: the errno's own, or ours."""
    got: str = ""
    """What is there instead; or what is to be said beyond the errno."""


def for_refusal(refusal: Refusal, permissions: Permissions, container: Container, realtime: Realtime) -> str:
    """Why a step was refused and what to do, from the errno and what is known of this container."""
    if refusal.code is None:
        return _not_as_asked(refusal)
    match refusal.kind:
        case "affinity":
            return _affinity_denied(refusal.code)
        case "mempolicy":
            return _memory_denied(refusal, permissions, container)
        case "scheduler":
            return _scheduling_denied(refusal.code, permissions, container, realtime)
        case "irq":
            return _interrupt_denied(refusal.code, permissions)
        case _:
            return ""


def _not_as_asked(refusal: Refusal) -> str:
    if refusal.why == CONFLICT:
        return (
            "Somebody in front of numapin (numactl, or the runtime's linux.memoryPolicy) already chose "
            f"{refusal.got}. Take that away, or go on with it by --memory off."
        )
    return f"The kernel kept only {refusal.got}: the cpuset changed meanwhile, or grants less than it shows."


def _affinity_denied(code: int) -> str:
    match code:
        case errno.EINVAL:
            return "None of these CPUs is in this container's cpuset any more."
        case errno.EPERM | errno.ENOSYS:
            return "The runtime's seccomp profile denies sched_setaffinity. Use --cpu off to start without it."
        case _:
            return ""


def _memory_denied(refusal: Refusal, permissions: Permissions, container: Container) -> str:
    match refusal.code:
        case errno.EPERM:
            return _seccomp_denied(permissions)
        case errno.ENOSYS if container.sandbox:
            return f"{container.sandbox} has no memory policy. Use --memory off."
        case errno.ENOSYS if refusal.got:
            return f"{refusal.got}. Use --memory off to start without it."
        case errno.ENOSYS:
            return "The kernel is built without NUMA, or a seccomp profile hides the call. Use --memory off."
        case errno.EINVAL:
            return "None of these nodes is in this container's cpuset.mems any more, or a node has no memory."
        case _:
            return ""


def _scheduling_denied(code: int, permissions: Permissions, container: Container, realtime: Realtime) -> str:
    match code:
        case errno.EPERM:
            return for_rt(permissions, realtime)
        case errno.EINVAL if container.sandbox:
            return f"{container.sandbox} has no real-time scheduling."
        case _:
            return ""


def _seccomp_denied(permissions: Permissions) -> str:
    # The kernel itself never answers EPERM here: only a seccomp filter does.
    if permissions.may_have_sys_nice:
        return (
            "The seccomp profile denies set_mempolicy although SYS_NICE is there: the profile needs a rule for it. "
            "Use --memory try to start without it."
        )
    return (
        "The seccomp profile of Docker and containerd allows set_mempolicy only with the capability SYS_NICE: "
        "add it (--cap-add SYS_NICE; capabilities.add: [SYS_NICE]), or use --memory try to start without it."
    )


def is_managed(refusal: Refusal, permissions: Permissions) -> bool:
    """Whether an interrupt cannot be moved because the kernel manages it itself: EIO before Linux 6.12, EPERM since."""
    denied = refusal.kind == "irq" and refusal.code in (errno.EIO, errno.EPERM)
    return denied and not permissions.proc_irq_read_only


def _interrupt_denied(code: int, permissions: Permissions) -> str:
    if permissions.proc_irq_read_only or code == errno.EROFS:
        return _ANYWHERE["IRQ_READ_ONLY"]
    if code == errno.EACCES:
        return "Only the host's root may write there. Pin interrupts from the host."
    if code == errno.ENOSPC:
        return "These CPUs have no interrupt vector free. Give --irq-cpus more CPUs."
    if code in (errno.EINVAL, errno.EOVERFLOW, errno.ERANGE):
        return "None of these CPUs is online any more."
    if code == errno.ENOENT:
        return "The device gave the interrupt back meanwhile."
    return ""
