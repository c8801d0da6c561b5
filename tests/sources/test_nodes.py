"""Nodes and CPUs from /sys/devices/system, as new and as old kernels show them."""

import os

import pytest

from numapin.errors import CannotRead
from numapin.ids import CpuSet, NodeSet
from numapin.sources.nodes import available, meminfo, page_size, read_nodes, read_online_cpus, read_siblings
from numapin.sources.root import LiveRoot
from numapin.topology import Topology
from tests.sources.trees import TWO_NODES, Machine, Tree

NODE = "/sys/devices/system/node"
CPU = "/sys/devices/system/cpu"
KIB = 1024


def topology(root) -> Topology:
    online = read_online_cpus(root)
    return Topology(online, read_nodes(root, online))


def test_two_nodes(machine: Machine) -> None:
    found = topology(machine(*TWO_NODES))
    assert [(node.id, str(node.cpus), node.memory_bytes, node.package) for node in found.nodes] == [
        (0, "0-7", 64 << 30, 0),
        (1, "8-15", 64 << 30, 1),
    ]
    assert [node.distances for node in found.nodes] == [{0: 10, 1: 21}, {0: 21, 1: 10}]
    assert str(found.cpus_online) == "0-15"


def test_an_old_kernel_has_only_cpumap(tree: Tree) -> None:
    files = {f"{CPU}/online": "0-63", f"{NODE}/node0/cpumap": "00000000,0000ffff\n"}
    files |= {f"{NODE}/node1/cpumap": "ffffffff,00000000", f"{NODE}/online": "0-1"}
    found = topology(tree(files))
    assert [str(node.cpus) for node in found.nodes] == ["0-15", "32-63"]
    assert [node.memory_bytes for node in found.nodes] == [None, None]
    assert found.memory_nodes == NodeSet.parse("0-1")


def test_without_a_list_of_nodes_the_directories_tell(tree: Tree) -> None:
    files = {f"{CPU}/online": "0-3", f"{NODE}/node10/cpulist": "2-3", f"{NODE}/node2/cpulist": "0-1"}
    files |= {f"{NODE}/nodes/cpulist": "0", f"{NODE}/node/cpulist": "0", f"{NODE}/power/x": ""}
    assert [(node.id, str(node.cpus)) for node in topology(tree(files)).nodes] == [(2, "0-1"), (10, "2-3")]


def test_without_a_list_of_cpus_each_cpu_tells(tree: Tree) -> None:
    """cpu0 often cannot go offline, and has no such file then."""
    files = {f"{CPU}/cpu0/topology/core_id": "0", f"{CPU}/cpu1/online": "1", f"{CPU}/cpu2/online": "0"}
    files |= {f"{CPU}/cpufreq/boost": "1", f"{CPU}/cpuidle/x": ""}
    assert read_online_cpus(tree(files)) == CpuSet.parse("0-1")


def test_distances_go_by_the_order_of_online_nodes(tree: Tree) -> None:
    """POWER9: nodes 0 and 8 with CPUs, 255 a GPU's memory; the file has three numbers."""
    files = {f"{NODE}/online": "0,8,255", f"{NODE}/node0/distance": "10 40 80", f"{NODE}/node8/distance": "40 10 80\n"}
    nodes = read_nodes(tree(files), CpuSet())
    assert [node.distances for node in nodes] == [{0: 10, 8: 40, 255: 80}, {0: 40, 8: 10, 255: 80}, {}]


def test_offline_cpus_are_of_no_node(tree: Tree) -> None:
    """Old captures still list them in cpumap; their topology directory is gone."""
    files = {f"{CPU}/online": "0-2", f"{NODE}/online": "0", f"{NODE}/node0/cpumap": "f"}
    files |= {f"{CPU}/cpu{cpu}/topology/physical_package_id": "0" for cpu in range(3)}
    root = tree(files)
    (node,) = topology(root).nodes
    assert (str(node.cpus), node.package) == ("0-2", 0)
    assert read_siblings(root, CpuSet.parse("0-3")) == {}


def test_memory_without_cpus_and_cpus_without_memory(machine: Machine) -> None:
    lines = (*TWO_NODES, "node 2 memory=32G distances=17,28,10", "node 3 cpus=16-17 memory=0G")
    found = topology(machine(*lines))
    assert str(found.cpu_nodes) == "0-1,3"
    assert str(found.memory_nodes) == "0-2"
    assert [node.memory_bytes for node in found.nodes] == [64 << 30, 64 << 30, 32 << 30, 0]


def test_gpu_memory_is_no_place_for_host_memory(machine: Machine) -> None:
    lines = (*TWO_NODES, "node 2 memory=96G", "gpu 0009:01:00.0 node=1 memory_node=2")
    found = topology(machine(*lines))
    assert [node.gpu_memory for node in found.nodes] == [False, False, True]
    assert str(found.memory_nodes) == "0-1"


def test_a_node_with_cpus_is_never_gpu_memory(machine: Machine) -> None:
    """A status file that names node 0 would take the host's own memory away."""
    found = topology(machine(*TWO_NODES, "gpu 0009:01:00.0 node=1 memory_node=0"))
    assert [node.gpu_memory for node in found.nodes] == [False, False]


@pytest.mark.parametrize("node", ["-1", "", "Status"])
def test_a_gpu_whose_memory_is_no_node(machine: Machine, node: str) -> None:
    files = {"/proc/driver/nvidia/gpus/0009:01:00.0/numa_status": f"Node: {node}\n" if node == "-1" else node}
    found = topology(machine(*TWO_NODES, "node 2 memory=96G", files=files))
    assert [node.gpu_memory for node in found.nodes] == [False] * 3


PACKAGES = {
    "one": ({0: "3", 1: "3", 2: "3", 3: "3"}, 3),
    "several": ({0: "0", 1: "0", 2: "1", 3: "1"}, None),
    "the kernel does not know": ({0: "-1", 1: "-1", 2: "-1", 3: "-1"}, None),
    "no files": ({}, None),
}


@pytest.mark.parametrize(("packages", "expected"), PACKAGES.values(), ids=PACKAGES)
def test_the_package_of_a_node_is_that_of_its_cpus(tree: Tree, packages, expected) -> None:
    """-1 is the kernel's "not known" (include/linux/topology.h): nodes that share it share no package."""
    files = {f"{CPU}/online": "0-3", f"{NODE}/online": "0", f"{NODE}/node0/cpulist": "0-3"}
    files |= {f"{CPU}/cpu{cpu}/topology/physical_package_id": text for cpu, text in packages.items()}
    assert topology(tree(files)).nodes[0].package == expected


def test_siblings_by_either_name(tree: Tree) -> None:
    files = {f"{CPU}/cpu0/topology/core_cpus_list": "0,64", f"{CPU}/cpu1/topology/thread_siblings_list": "1,65"}
    found = read_siblings(tree(files), CpuSet.parse("0-2"))
    first, second = CpuSet.parse("0,64"), CpuSet.parse("1,65")
    assert found == {0: first, 64: first, 1: second, 65: second}


MEMINFO = """Node 1 MemTotal:       263000000 kB
Node 1 MemFree:         1000 kB
Node 1 Inactive(file):   200 kB
Node 1 SReclaimable:      30 kB
Node 1 HugePages_Total:     4
"""


def test_memory_is_counted_in_bytes_and_page_cache_is_available() -> None:
    found = meminfo(MEMINFO)
    assert found["MemTotal"] == 263000000 * KIB
    assert available(found) == 1230 * KIB
    assert available({"MemTotal": 1}) is None


def test_huge_pages_are_named_as_the_cgroup_names_them(tree: Tree) -> None:
    pools = f"{NODE}/node0/hugepages"
    files = {f"{NODE}/online": "0", f"{pools}/hugepages-2048kB/free_hugepages": "3"}
    files |= {f"{pools}/hugepages-1048576kB/free_hugepages": "2", f"{pools}/hugepages-64kB/free_hugepages": "1"}
    files |= {f"{pools}/hugepages-big/free_hugepages": "9", f"{pools}/hugepages-16384kB/nr_hugepages": "9"}
    (node,) = read_nodes(tree(files), CpuSet())
    assert node.free_huge_bytes == {"2MB": 6 << 20, "1GB": 2 << 30, "64KB": 64 << 10}


@pytest.mark.parametrize(
    ("kib", "name"), [(4, "4KB"), (64, "64KB"), (2048, "2MB"), (524288, "512MB"), (1048576, "1GB"), (16777216, "16GB")]
)
def test_page_sizes_are_spelled_as_mem_fmt_does(kib: int, name: str) -> None:
    assert page_size(kib) == name


def test_nothing_in_sight_is_no_node(tree: Tree) -> None:
    assert topology(tree({})) == Topology(CpuSet(), ())


SENSELESS = {
    f"{CPU}/online": "everything",
    f"{NODE}/online": "0-",
    f"{NODE}/node0/cpulist": "1,2,x",
    f"{NODE}/node0/distance": "10 near",
    f"{CPU}/cpu0/topology/physical_package_id": "zero",
    f"{NODE}/node0/hugepages/hugepages-2048kB/free_hugepages": "some",
}


@pytest.mark.parametrize("path", SENSELESS)
def test_what_makes_no_sense_is_named_with_its_file(machine: Machine, path: str) -> None:
    with pytest.raises(CannotRead, match=f"^{path} cannot be understood: "):
        topology(machine(*TWO_NODES, files={path: SENSELESS[path]}))


def test_this_machine_has_the_cpus_that_python_counts() -> None:
    found = topology(LiveRoot())
    assert len(found.cpus_online) == os.sysconf("SC_NPROCESSORS_ONLN")
    if found.nodes:
        assert found.cpus_of(found.cpu_nodes) == found.cpus_online
        assert all(node.memory_bytes for node in found.nodes if node.id in found.memory_nodes)
