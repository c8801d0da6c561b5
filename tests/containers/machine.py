"""A machine of two nodes for a container to see: a tree of our own over /sys, a driver of our own, device files.

The kernel below stays this machine's, and so do cgroups, CPUs and memory: the node of the container's CPU has the
kernel's number, the other node exists in the tree only. So what numapin reads may be misaligned, and what it binds to
is real.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.containers.runtime import Cpu
from tests.nvml.driver import VARIABLE, Gpu, answers, build

GPU, NIC = "0000:3b:00.0", "0000:9b:00.0"
_DRIVER = "/usr/local/nvidia/lib64"


@dataclass(frozen=True)
class Machine:
    """Where its GPU and its RDMA NIC are; with no NIC, it has none."""

    cpu: Cpu
    gpu: int
    nic: int | None = None

    @property
    def nodes(self) -> dict[int, list[int]]:
        """CPUs by node: the container's on its own, all others on the node after it."""
        others = [number for number in range(os.cpu_count() or 1) if number != self.cpu.number]
        return {self.cpu.node: [self.cpu.number], self.cpu.node + 1: others}

    def options(self, directory: Path) -> tuple[str, ...]:
        """Write the machine into directory, and return the options that lay it over a container's own."""
        tree = directory / "sys"
        self._write_cpus_and_nodes(tree)
        _write_device(tree, GPU, self.gpu, {"class": "0x030200", "vendor": "0x10de"})
        mounts = [f"{tree}:/sys:ro", *self._driver(directory)]
        if self.nic is not None:
            _write_device(tree, NIC, self.nic, {"class": "0x020700", "vendor": "0x15b3"})
            _write_rdma(tree)
            mounts.append("/dev/null:/dev/infiniband/uverbs0")
        variables = (f"LD_LIBRARY_PATH={_DRIVER}", f"{VARIABLE}=/answers")
        volumes = tuple(word for mount in mounts for word in ("--volume", mount))
        return (*self.cpu.only, *volumes, *(word for variable in variables for word in ("--env", variable)))

    def _driver(self, directory: Path) -> list[str]:
        library = build(directory / "driver")
        cpus = _list(self.nodes[self.gpu])
        (directory / "answers").write_text(answers([Gpu(uuid="GPU-1", pci=GPU, cpus=cpus, nodes=str(self.gpu))]))
        devices = [f"/dev/null:/dev/{name}" for name in ("nvidiactl", "nvidia0")]
        return [f"{library.parent}:{_DRIVER}:ro", f"{directory / 'answers'}:/answers:ro", *devices]

    def _write_cpus_and_nodes(self, tree: Path) -> None:
        nodes = _list(list(self.nodes))
        online = _list(sorted(cpu for cpus in self.nodes.values() for cpu in cpus))
        for name in ("online", "possible", "has_cpu", "has_memory", "has_normal_memory"):
            _write(tree / "devices/system/node" / name, nodes)
        for name in ("online", "possible", "present"):
            _write(tree / "devices/system/cpu" / name, online)
        for node, cpus in self.nodes.items():
            folder = tree / f"devices/system/node/node{node}"
            _write(folder / "cpulist", _list(cpus))
            _write(folder / "distance", " ".join("10" if other == node else "21" for other in self.nodes))
            _write(folder / "meminfo", f"Node {node} MemTotal: 8388608 kB\nNode {node} MemFree: 4194304 kB")
            for cpu in cpus:
                _write_cpu(tree / f"devices/system/cpu/cpu{cpu}", cpu, node)
        (tree / "fs/cgroup").mkdir(parents=True)  # the runtime mounts the container's own here


def _write_cpu(folder: Path, cpu: int, node: int) -> None:
    _write(folder / "topology/physical_package_id", str(node))
    _write(folder / "topology/core_id", str(cpu))
    _write(folder / "topology/thread_siblings_list", str(cpu))


def _write_device(tree: Path, address: str, node: int, attributes: dict[str, str]) -> None:
    folder = _folder(tree, address)
    for name, value in {**attributes, "numa_node": str(node)}.items():
        _write(folder / name, value)
    _link(tree / "bus/pci/devices" / address, folder)


def _write_rdma(tree: Path) -> None:
    """The class folders of the NIC: uverbs0, which is mlx5_0."""
    device = _folder(tree, NIC)
    _write(device / "infiniband_verbs/uverbs0/ibdev", "mlx5_0")
    _write(device / "infiniband/mlx5_0/node_type", "1: CA")
    for kind, name in (("infiniband_verbs", "uverbs0"), ("infiniband", "mlx5_0")):
        _link(device / kind / name / "device", device)
        _link(tree / "class" / kind / name, device / kind / name)


def _folder(tree: Path, address: str) -> Path:
    return tree / f"devices/pci{address[:7]}" / address


def _list(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def _link(link: Path, target: Path) -> None:
    """Relative, as the kernel's are, so that it leads to the same place wherever the tree is mounted."""
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(target, link.parent))
