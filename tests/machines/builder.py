"""Machines written in a few lines: each line becomes the files that the kernel and the drivers would show.

    node 0 cpus=0-15 memory=64G distances=10,21 package=0
    node 1 cpus=16-31 memory=64G distances=21,10 package=1
    bridge 0000:3a:00.0 node=0
    gpu 0000:3b:00.0 node=0 under=0000:3a:00.0          # assigned: it has /dev/nvidia<minor>
    gpu 0000:9b:00.0 node=1 foreign                     # on the bus, not this container's
    amd 0000:c1:00.0 node=1      gaudi 0000:d1:00.0 node=1
    rdma mlx5_0 pci=0000:3c:00.0 node=0 irqs=100-103 netdev=ib0
    nic eth1 pci=0000:5e:00.1 node=0 irqs=200-201
    pci 0000:5e:00.2 node=1 class=0x020000 vendor=0x15b3
    container cpus=0-7 mems=0 affinity=0-7 env=NAME=value;OTHER=value oom=-997
    file /proc/version Linux version 6.8.0
    link /sys/class/net/bond0/lower_eth1 ../eth1

`node=` left out is the kernel's -1. Values hold no blanks; `file` takes the rest of its line.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from numapin.ids import CpuSet, NodeSet

GIB = 1 << 30
Words = dict[str, str]


def build_machine(directory: Path, *lines: str) -> Path:
    """Write the machine that the lines describe, and give back its root: `directory`."""
    machine = _Machine(directory)
    for line in "\n".join(lines).splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            machine.add(text)
    machine.finish()
    return directory


@dataclass
class _Machine:
    base: Path
    nodes: list[int] = field(default_factory=list)
    online: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    node_cpus: dict[int, CpuSet] = field(default_factory=dict)
    gpus: int = 0
    renders: int = 0
    accels: int = 0
    verbs: int = 0
    has_container: bool = False

    def add(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind in ("file", "link"):
            path, _, text = rest.partition(" ")
            self.write(path, text) if kind == "file" else self.link(path, text)
            return
        words = rest.split()
        named = dict(word.split("=", 1) for word in words if "=" in word)
        plain = [word for word in words if "=" not in word]
        makers: dict[str, Callable[[list[str], Words], None]] = {
            "node": self.node,
            "bridge": lambda plain, named: self.function(plain[0], named, "0x060400", "0x8086"),
            "pci": lambda plain, named: self.function(plain[0], named, named["class"], named["vendor"]),
            "gpu": self.gpu,
            "amd": self.amd,
            "gaudi": self.gaudi,
            "rdma": self.rdma,
            "nic": self.nic,
            "container": self.container,
        }
        makers[kind](plain, named)

    def node(self, plain: list[str], named: Words) -> None:
        node, cpus = int(plain[0]), CpuSet.parse(named.get("cpus", ""))
        place = f"/sys/devices/system/node/node{node}"
        self.nodes.append(node)
        self.online.extend(cpus)
        self.node_cpus[node] = cpus
        self.write(f"{place}/cpulist", str(cpus))
        if "distances" in named:
            self.write(f"{place}/distance", named["distances"].replace(",", " "))
        size = int(named.get("memory", "64G").removesuffix("G")) * GIB
        free = int(named.get("free", f"{size >> 30}G").removesuffix("G")) * GIB
        self.memory.extend([node] if size else [])
        lines = (f"Node {node} MemTotal: {size >> 10} kB", f"Node {node} MemFree: {free >> 10} kB")
        self.write(f"{place}/meminfo", "\n".join(lines))
        for pool in named.get("huge", "").split(","):
            kib, _, count = pool.partition(":")
            self.write(f"{place}/hugepages/hugepages-{kib}kB/free_hugepages", count) if count else None
        for cpu in cpus:
            topology = f"/sys/devices/system/cpu/cpu{cpu}/topology"
            self.write(f"{topology}/physical_package_id", named.get("package", str(node)))
            self.write(f"{topology}/core_cpus_list", _siblings(cpu, named.get("threads")))

    def function(self, address: str, named: Words, code: str, vendor: str) -> str:
        """A PCI function, below a bridge or on a root bus of its own; the path of its directory."""
        above = named.get("under")
        parent = os.path.realpath(self.base / f"sys/bus/pci/devices/{above}") if above else None
        base = os.path.realpath(self.base)
        place = f"{parent.removeprefix(base)}/{address}" if parent else f"/sys/devices/pci{address[:7]}/{address}"
        node = int(named.get("node", -1))
        self.write(f"{place}/numa_node", str(node))
        local = self.node_cpus.get(node, CpuSet()) if node >= 0 else CpuSet.of(self.online)
        self.write(f"{place}/local_cpulist", named.get("local", str(local)))
        self.write(f"{place}/class", code)
        self.write(f"{place}/vendor", vendor)
        self.link(f"/sys/bus/pci/devices/{address}", place)
        for irq in CpuSet.parse(named.get("irqs", "")):
            self.write(f"{place}/msi_irqs/{irq}", "msix")
            self.write(f"/proc/irq/{irq}/smp_affinity_list", str(CpuSet.of(self.online)))
        return place

    def gpu(self, plain: list[str], named: Words) -> None:
        address, minor = plain[0], int(named.get("minor", self.gpus))
        self.gpus += 1
        self.function(address, named, "0x030200", "0x10de")
        uuid = named.get("uuid", f"GPU-{minor:08x}-0000-4000-8000-000000000000")
        place = f"/proc/driver/nvidia/gpus/{address}"
        self.write(f"{place}/information", f"GPU UUID: \t {uuid}\nBus Location: \t {address}\nDevice Minor: \t {minor}")
        if "memory_node" in named:
            self.write(f"{place}/numa_status", f"Node:      {named['memory_node']}\nStatus:    online")
        if "foreign" not in plain:
            self.write(f"/dev/nvidia{minor}", "")
            self.write("/dev/nvidiactl", "")

    def amd(self, plain: list[str], named: Words) -> None:
        place = self.function(plain[0], named, "0x038000", "0x1002")
        name = f"renderD{128 + self.renders}"
        self.renders += 1
        self.link(f"/sys/class/drm/{name}/device", place)
        if "foreign" not in plain:
            self.write(f"/dev/dri/{name}", "")

    def gaudi(self, plain: list[str], named: Words) -> None:
        place = self.function(plain[0], named, "0x120000", "0x1da3")
        name = f"accel{self.accels}"
        self.accels += 1
        self.link(f"/sys/class/accel/{name}/device", place)
        self.write(f"{place}/pci_addr", plain[0])
        if "foreign" not in plain:
            self.write(f"/dev/accel/{name}", "")

    def rdma(self, plain: list[str], named: Words) -> None:
        name, place = plain[0], self.function(named["pci"], named, "0x020700", "0x15b3")
        uverbs = f"uverbs{self.verbs}"
        self.verbs += 1
        self.write(f"{place}/infiniband/{name}/node_type", "1: CA")
        self.link(f"{place}/infiniband/{name}/device", place)
        self.link(f"/sys/class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.write(f"/sys/class/infiniband_verbs/{uverbs}/ibdev", name)
        if "netdev" in named:
            self.write(f"{place}/infiniband/{name}/ports/1/gid_attrs/ndevs/0", named["netdev"])
            self._interface(named["netdev"], place)
        if "foreign" not in plain:
            self.write(f"/dev/infiniband/{uverbs}", "")

    def nic(self, plain: list[str], named: Words) -> None:
        self._interface(plain[0], self.function(named["pci"], named, "0x020000", "0x15b3"))

    def _interface(self, name: str, place: str) -> None:
        self.write(f"{place}/net/{name}/uevent", f"INTERFACE={name}")
        self.link(f"{place}/net/{name}/device", place)
        self.link(f"/sys/class/net/{name}", f"{place}/net/{name}")

    def container(self, _: list[str], named: Words) -> None:
        self.has_container = True
        cpus, mems = named.get("cpus", str(CpuSet.of(self.online))), named.get("mems", str(NodeSet.of(self.memory)))
        mount = "30 20 0:27 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw"
        self.write("/proc/self/cgroup", "0::/")
        self.write("/proc/self/mountinfo", mount)
        self.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc")
        self.write("/sys/fs/cgroup/cpuset.cpus.effective", cpus)
        self.write("/sys/fs/cgroup/cpuset.mems.effective", mems)
        self.write("/sys/fs/cgroup/memory.max", named.get("memory", "max"))
        self.write("/sys/fs/cgroup/cpu.max", f"{named.get('quota', 'max')} 100000")
        capabilities = named.get("caps", "0000000000800000")
        lines = [f"CapEff:\t{capabilities}", f"CapBnd:\t{capabilities}", "Uid:\t0\t0\t0\t0", "Seccomp:\t0"]
        lines += [f"Cpus_allowed_list:\t{named.get('affinity', cpus)}", f"Mems_allowed_list:\t{mems}"]
        self.write("/proc/self/status", "\n".join(lines))
        self.write("/proc/self/environ", named.get("env", "").replace(";", "\0"))
        self.write("/proc/self/oom_score_adj", named.get("oom", "0"))

    def finish(self) -> None:
        """What describes the machine as a whole."""
        with_cpus = [node for node, cpus in self.node_cpus.items() if cpus]
        for name, members in (("online", self.nodes), ("has_cpu", with_cpus), ("has_memory", self.memory)):
            self.write(f"/sys/devices/system/node/{name}", str(NodeSet.of(members)))
        self.write("/sys/devices/system/cpu/online", str(CpuSet.of(self.online)))
        self.write("/proc/version", "Linux version 6.8.0 (build@host) #1 SMP", over=False)

    def write(self, path: str, text: str, over: bool = True) -> None:
        place = self.base / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if over or not place.exists():
            place.write_text(f"{text}\n" if text else "")

    def link(self, path: str, target: str) -> None:
        """A link as sysfs has them: relative, so that it works under any root."""
        place = self.base / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if target.startswith("/"):
            target = os.path.relpath(self.base / target.lstrip("/"), place.parent)
        place.symlink_to(target)


def _siblings(cpu: int, threads: str | None) -> str:
    """Hardware threads of a core: the CPU alone, or with `threads=K` also the CPU K further (or K before)."""
    if threads is None:
        return str(cpu)
    step = int(threads)
    first = cpu % step if cpu < 2 * step else cpu
    return f"{first},{first + step}"
