"""What this container was given, and what the kernel and the runtime let it do: values, filled by `sources`."""

from collections.abc import Mapping

from numapin.ids import CpuSet, NodeSet, PciAddress
from numapin.values import field, value

CAP_SYS_NICE = 23
"""Bit of CAP_SYS_NICE in the capability masks (linux/capability.h)."""


@value
class Accelerator:
    """A GPU (or Gaudi) that the server will see."""

    pci: PciAddress | None
    """None where the driver did not say."""
    index: int
    """The position in what the server sees: the ordinal that CUDA, HIP or Gaudi software uses in this container."""
    vendor: str
    """`nvidia`, `amd` or `gaudi`."""
    uuid: str | None = None
    mig: str | None = None
    """UUID of the MIG device, where a part of a GPU was assigned."""
    cpu_affinity: CpuSet | None = None
    """NVML's CPU affinity, host-wide; None where NVML did not answer."""
    device: str | None = None
    """Its device file, `/dev/nvidia3`; None where the driver did not say which is its."""
    position: int | None = None
    """Its ordinal in what the driver enumerates, before a variable narrows that; None: the same as `index`."""

    @property
    def label(self) -> str:
        """How messages call it: `GPU 0 (0000:3b:00.0)`."""
        kind = "Gaudi" if self.vendor == "gaudi" else "GPU"
        return f"{kind} {self.index} ({self.pci or 'PCI address unknown'})"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names under which options may speak of it."""
        return tuple(str(key) for key in (self.pci, self.uuid, self.mig) if key)


@value
class RdmaDevice:
    """An RDMA device that this container can open: it has /dev/infiniband/uverbs<N>."""

    name: str
    pci: PciAddress | None
    """None for software RDMA (rxe, siw) over an interface without a PCI function."""
    netdevs: tuple[str, ...] = ()
    """Network interfaces of its ports that are in this network namespace."""

    @property
    def label(self) -> str:
        """How messages call it: `mlx5_0 (0000:3c:00.0)`."""
        return f"{self.name} ({self.pci or 'no PCI function'})"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names under which options may speak of it."""
        return (self.name, *([str(self.pci)] if self.pci else []))


@value
class NetworkInterface:
    """A network interface of this container, or a PCI function that a device plugin named for it."""

    name: str
    """The interface's name; the PCI address for a function without one (vfio, or moved to user space)."""
    pci: PciAddress | None
    """The PCI function under it, through VLANs, bonds and the like; None where it is in another namespace."""

    @property
    def label(self) -> str:
        """How messages call it: `eth1 (0000:5e:00.1)`."""
        return self.name if self.name == str(self.pci) else f"{self.name} ({self.pci or 'PCI function not visible'})"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names under which options may speak of it."""
        return (self.name, *([str(self.pci)] if self.pci else []))


Device = Accelerator | RdmaDevice | NetworkInterface


@value
class Interrupt:
    """One interrupt of a device, as /proc/irq/<irq>/ shows it."""

    irq: int
    device: str
    """Name of the RDMA device or interface."""
    pci: PciAddress
    managed: bool = False
    """The kernel manages it itself (IRQD_AFFINITY_MANAGED): its affinity file is read-only from 6.12 on."""


@value
class Permissions:
    """What the kernel and the runtime let this process do (/proc/self/{status,limits,uid_map}, mountinfo)."""

    uid: int | None = None
    """Effective user id in this user namespace."""
    cap_effective: int = 0
    cap_bounding: int = 0
    seccomp_filter: bool = False
    no_new_privs: bool = False
    user_namespace: bool = False
    """The uid map is not the identity: root here is not the host's root."""
    rtprio_limit: int = 0
    """RLIMIT_RTPRIO."""
    proc_irq_read_only: bool = False

    @property
    def has_sys_nice(self) -> bool:
        """CAP_SYS_NICE is effective."""
        return bool(self.cap_effective >> CAP_SYS_NICE & 1)

    @property
    def may_have_sys_nice(self) -> bool:
        """CAP_SYS_NICE is in the bounding set: what a seccomp profile tests."""
        return bool(self.cap_bounding >> CAP_SYS_NICE & 1)


@value
class Realtime:
    """What decides whether SCHED_FIFO is possible and safe here."""

    runtime_us: int | None = None
    """/proc/sys/kernel/sched_rt_runtime_us; -1 is no throttling."""
    group_runtime_us: int | None = None
    """cpu.rt_runtime_us of this cgroup: there only on CONFIG_RT_GROUP_SCHED kernels with cgroup v1."""
    kernel: tuple[int, int] | None = None
    """Major and minor version."""


@value
class Container:
    """The container around this process: limits, runtime, neighbours. None stands for "nobody says"."""

    in_pod: bool = False
    qos: str | None = None
    """`Guaranteed`, `Burstable` or `BestEffort`, from oom_score_adj; None outside Kubernetes."""
    sandbox: str | None = None
    """`gVisor` or `Kata`: the topology in sight is not the host's."""
    cpu_quota: float | None = None
    """CPUs' worth of time that cpu.max allows."""
    memory_max: int | None = None
    """Bytes that memory.max allows."""
    huge_page_limits: Mapping[str, int] = field(default_factory=dict)
    """Bytes of huge pages that the cgroup allows, by page size (`2MB`); unlimited sizes are not in it."""
    host_network: bool = False
    """This is the host's own network namespace."""
    default_irq_cpus: CpuSet | None = None
    """/proc/irq/default_smp_affinity: CPUs missing here were taken out to keep interrupts away from them."""
    housekeeping_cpus: CpuSet | None = None
    """OPENSHIFT_HOUSEKEEPING_CPUS: the CPUs of this container that CRI-O leaves open to interrupts."""
    irq_balancer: str | None = None
    """How irqbalance was seen running; None where it was not seen."""
    binders: tuple[str, ...] = ()
    """Environment variables, as NAME=value, by which the engine or a library rebinds itself."""
    applied: str | None = None
    """The marker that an earlier numapin in this chain left in the environment."""


@value
class PodProcess:
    """Another process that a shared PID namespace shows."""

    pid: int
    name: str
    cpus: CpuSet


@value
class Note:
    """Something that a reader saw on the way and that the report should say."""

    code: str
    subject: str
    message: str
    warns: bool = True
    """It is only ever a warning, whatever the options say."""


@value
class Assignment:
    """What this container was given."""

    cpus: CpuSet
    """Allowed CPUs: the effective cpuset, online ones only."""
    mems: NodeSet
    """Allowed memory nodes: the effective cpuset's, those that hold host memory only."""
    affinity: CpuSet | None = None
    """The inherited affinity mask; None where nobody says."""
    accelerators: tuple[Accelerator, ...] = ()
    rdma: tuple[RdmaDevice, ...] = ()
    nics: tuple[NetworkInterface, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    permissions: Permissions = field(default_factory=Permissions)
    realtime: Realtime = field(default_factory=Realtime)
    container: Container = field(default_factory=Container)
    pod: tuple[PodProcess, ...] = ()
    notes: tuple[Note, ...] = ()
    nccl_nodes: Mapping[PciAddress, int] = field(default_factory=dict)
    """Node by PCI function, from the file that NCCL_TOPO_FILE names."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """All assigned devices: accelerators, then RDMA devices, then network interfaces."""
        return (*self.accelerators, *self.rdma, *self.nics)
