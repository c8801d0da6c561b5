"""One machine for each reason code: what differs from two ordinary nodes with one GPU, and what is to be said."""

from dataclasses import dataclass, field
from typing import Any

from numapin.reasons import Severity

NODES = """
    node 0 cpus=0-31 memory=64G distances=10,21 package=0
    node 1 cpus=32-63 memory=64G distances=21,10 package=1
"""
GPU = "gpu 0000:3b:00.0 node=0\n"
CONTAINER = "container cpus=0-15 mems=0"
MACHINE = f"{NODES}{GPU}{CONTAINER}"
NIC = f"{NODES}{GPU}nic eth1 pci=0000:5e:00.1 node=0 irqs=100-101\n"
IN_POD = "env=KUBERNETES_SERVICE_HOST=10.96.0.1"
GIB = 1 << 30

WARNING: Severity = "warning"
ERROR: Severity = "error"


@dataclass(frozen=True)
class Case:
    """A machine, what the operator asked, and the one reason of this code that must come of it."""

    code: str
    severity: Severity
    subject: str
    message: str
    hint: str
    """What the hint says to do, in part."""
    machine: str = MACHINE
    files: dict[str, str] = field(default_factory=dict)
    """Written over the machine's, by path."""
    read_only: str = ""
    """A file that nobody may write."""
    settings: dict[str, Any] = field(default_factory=dict)


MISALIGNED = (
    Case(
        "CPUS_SPAN_NODES",
        ERROR,
        "CPUs 24-39",
        "CPUs 24-31 are on node 0, CPUs 32-39 are on node 1",
        "--policy restricted",
        NODES + "container cpus=24-39 mems=0-1",
    ),
    Case(
        "CPUS_SPAN_NODES",
        ERROR,
        "CPUs 32-39",
        "CPUs 32-39 are on node 1, only node 0 should be allowed",
        "Start the container with the CPUs of one node (--cpuset-cpus 0-31 --cpuset-mems 0)",
        f"{NODES}{GPU}container cpus=0-15,32-39 mems=0",
        settings={"narrow": False},
    ),
    Case(
        "POD_SPANS_NODES",
        ERROR,
        "process 41",
        "process 41 (sidecar) may run on CPUs 30-40 of nodes 0-1, this container belongs on node 0",
        "Give all containers of the pod CPUs of the same node",
        files={"/proc/41/status": "Name:\tsidecar\nCpus_allowed_list:\t30-40\n"},
        settings={"scope": "pod"},
    ),
    Case(
        "CPUS_REMOTE",
        ERROR,
        "CPUs 32-47",
        "GPU 0 (0000:3b:00.0) is on node 0, CPUs 32-47 are on node 1",
        "Start the container with --cpuset-cpus 0-31 --cpuset-mems 0.",
        f"{NODES}{GPU}container cpus=32-47 mems=0-1",
    ),
    Case(
        "MEMS_REMOTE",
        ERROR,
        "memory node 1",
        "GPU 0 (0000:3b:00.0) is on node 0, allowed memory is on node 1",
        "Start the container with --cpuset-cpus 0-31 --cpuset-mems 0.",
        f"{NODES}{GPU}container cpus=0-15 mems=1",
    ),
    Case(
        "MEMS_SPAN_NODES",
        ERROR,
        "memory node 1",
        "memory of node 1 is allowed, only node 0 is needed",
        "leave out --no-narrow",
        f"{NODES}{GPU}container cpus=0-15 mems=0-1",
        settings={"narrow": False},
    ),
    Case(
        "GPUS_SPAN_NODES",
        ERROR,
        "accelerators",
        "GPU 0 (0000:3b:00.0) is on node 0, GPU 1 (0000:9b:00.0) is on node 1",
        "--policy restricted",
        f"{NODES}{GPU}gpu 0000:9b:00.0 node=1\ncontainer cpus=0-63 mems=0-1",
    ),
    Case(
        "GPUS_SPREAD",
        ERROR,
        "accelerators",
        "GPU 0 (0000:3b:00.0) is on node 0, GPU 1 (0000:9b:00.0) is on node 1; 1 node of this machine holds 2",
        "GPUs of fewer nodes",
        f"{NODES}{GPU}gpu 0000:9b:00.0 node=1\ngpu 0000:9c:00.0 node=1 foreign\ncontainer cpus=0-63 mems=0-1",
        settings={"policy": "restricted"},
    ),
    Case(
        "RDMA_REMOTE",
        ERROR,
        "mlx5_0",
        "mlx5_0 (0000:9b:00.0) is on node 1, GPU 0 (0000:3b:00.0) and CPUs 0-15 are on node 0",
        "Give the container an RDMA device of the accelerators' node",
        f"{NODES}{GPU}rdma mlx5_0 pci=0000:9b:00.0 node=1\n{CONTAINER}",
    ),
    Case(
        "NIC_REMOTE",
        ERROR,
        "eth1",
        "eth1 (0000:9c:00.1) is on node 1, GPU 0 (0000:3b:00.0) and CPUs 0-15 are on node 0",
        "Give the container an interface of the accelerators' node",
        f"{NODES}{GPU}nic eth1 pci=0000:9c:00.1 node=1\n{CONTAINER}",
    ),
)

UNKNOWN = (
    Case(
        "NODE_UNKNOWN",
        ERROR,
        "0000:3b:00.0",
        "GPU 0 (0000:3b:00.0) is on an unknown node: neither firmware nor driver says on which of nodes 0-1",
        "--home 0000:3b:00.0=NODE",
        f"{NODES}gpu 0000:3b:00.0\n{CONTAINER}",
    ),
    Case(
        "NODE_UNKNOWN",
        WARNING,
        "mlx5_0",
        "mlx5_0 (0000:9b:00.0) is on an unknown node: neither firmware nor driver says on which of nodes 0-1",
        "--home mlx5_0=NODE",
        f"{NODES}{GPU}rdma mlx5_0 pci=0000:9b:00.0\n{CONTAINER}",
        settings={"unknown": "warn"},
    ),
    Case(
        "TOPOLOGY_HIDDEN",
        ERROR,
        "topology",
        "/sys/devices/system/node shows no NUMA node with CPUs here",
        "Mount /sys",
        "container cpus=0-3 mems=0",
        files={"/sys/devices/system/cpu/online": "0-3\n"},
    ),
    Case(
        "SANDBOXED",
        ERROR,
        "gVisor",
        "this container runs in a gVisor sandbox, which does not show the host's nodes",
        "Run the server outside the sandbox",
        files={"/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"},
    ),
    Case(
        "SANDBOXED",
        WARNING,
        "Kata",
        "this container runs in a Kata guest: its nodes are the guest's, not the host's",
        "Run the server outside the sandbox",
        NODES + "container cpus=16-39 mems=0-1",
        files={"/proc/cmdline": "systemd.unit=kata-containers.target\n"},
        settings={"policy": "best-effort"},
    ),
    Case(
        "GPU_HIDDEN",
        ERROR,
        "GPUs",
        "1 of the /dev/nvidia* devices cannot be looked at: neither NVML nor /proc/driver/nvidia/gpus says where they "
        "are",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        files={"/dev/nvidia1": ""},
    ),
    Case(
        "DEVICE_MISSING",
        ERROR,
        "GPUs",
        "1 GPU is visible, --expect-gpus says 2",
        "Look whether the device plugin gave the container all its devices",
        settings={"expect_gpus": 2},
    ),
    Case(
        "DEVICE_MISSING",
        ERROR,
        "RDMA devices",
        "0 RDMA devices are visible, --expect-rdma says 1",
        "Look whether the device plugin gave the container all its devices",
        settings={"expect_rdma": 1},
    ),
    Case(
        "POD_HIDDEN",
        ERROR,
        "pod",
        "--scope pod cannot be judged: this is the host's process namespace, which shows every pod's processes",
        "Use --scope container",
        files={"/proc/2/comm": "kthreadd\n"},
        settings={"scope": "pod"},
    ),
)
