"""Nodes, CPUs, distances and the nodes of PCI functions, against what hwloc reads from the same tree."""

import shutil
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import pytest

from numapin.home import Locator
from numapin.settings import Settings
from numapin.sources.machine import read_machine
from numapin.sources.opening import open_root
from tests.machines.captured import GPU_HOSTS, HWLOC
from tests.machines.hwloc import Reading, lstopo

Differences = Mapping[str, tuple[object, object]]

NO_NUMA = "a kernel without NUMA shows no node; hwloc makes one up for the whole machine"
NO_LOCAL_CPUS = "the dumps say nothing of the CPUs of bridges, and hwloc reads no numa_node: all CPUs, it takes it"
BRIDGES = {"h100-8gpu-16nic": 24, "mi300x-8gpu-8nic": 24, "rome-8gpu-nps4": 20, "rome-8gpu-nps4-7nodes": 8}
"""Machines made from topology dumps whose bridges have a numa_node and no local_cpus, and how many they are."""

EXPLAINED: dict[str, tuple[str, Differences]] = {
    "20s390-2g6s4c": (NO_NUMA, {"cpus 0": (None, set(range(20))), "memory 0": (None, 2103287808)}),
    "2arm-2c": (NO_NUMA, {"cpus 0": (None, {0, 1}), "memory 0": (None, 287580160)}),
    "2i386-2c-nohugepage": (NO_NUMA, {"cpus 0": (None, {0, 1}), "memory 0": (None, 2125238272)}),
    "2i386-2t-hugepagesizecount": (NO_NUMA, {"cpus 0": (None, {0, 1}), "memory 0": (None, 409617181966336)}),
    "2ps3-2t": (NO_NUMA, {"cpus 0": (None, {0, 1}), "memory 0": (None, 0)}),
    "2pa-pcidomain32bits": (
        "hwloc 2 leaves out PCI domains of more than 16 bits",
        {"functions 10000:00:00.0": ({0}, None), "functions 10000:00:04.0": ({0}, None)},
    ),
    "40intel64-2g2n4c+pcilocality": (
        "numa_node says 2 and local_cpus says all CPUs: hwloc believes the latter, DESIGN section 5 numa_node first",
        {"functions 0000:43:00.0": ({2}, {0, 1, 2, 3})},
    ),
    "8em64t-2s2ca2c-buggynuma": (
        "firmware gives all CPUs to each of eight nodes: hwloc keeps the first, numapin shows what the kernel shows",
        {f"cpus {node}": (set(range(8)), None) for node in range(1, 8)}
        | {"memory 1": (2146435072, None)}
        | {f"memory {node}": (2147483648, None) for node in range(2, 8)}
        | {f"distances {pair}": (10, None) for pair in product(range(8), range(8))},
    ),
}
"""All differences that are: why, and what numapin says and what hwloc says."""


def numapin(root: Path) -> Reading:
    machine, assignment = read_machine(open_root(str(root)), Settings(), whole=True)
    homes = {address: Locator.of(machine, assignment, {}).function(address).node for address in machine.pci}
    return Reading(
        cpus={node.id: frozenset(node.cpus) for node in machine.nodes},
        memory={node.id: node.memory_bytes or 0 for node in machine.nodes},
        distances={(node.id, far): distance for node in machine.nodes for far, distance in node.distances.items()},
        functions={
            str(address): frozenset(machine.cpu_nodes if home is None else [home]) for address, home in homes.items()
        },
    )


def told_alike(ours: Reading, theirs: Reading) -> tuple[Reading, Reading]:
    """Both without what the two tell in different ways, on any machine.

    To a node of memory only hwloc gives the CPUs nearest to it; it counts such nodes to where a function is; and it
    has no distances where there is one node.
    """
    bare = {node for node, cpus in ours.cpus.items() if not cpus}
    theirs = theirs._replace(
        cpus={node: frozenset() if node in bare else cpus for node, cpus in theirs.cpus.items()},
        functions={address: nodes - bare for address, nodes in theirs.functions.items()},
    )
    return (ours._replace(distances={}) if len(ours.cpus) == 1 else ours), theirs


def differences(ours: Reading, theirs: Reading) -> Differences:
    """By name, what numapin says and what hwloc says, where that is not the same."""
    return {
        f"{name} {key}": (mine.get(key), other.get(key))
        for name in Reading._fields
        for mine, other in [(getattr(ours, name), getattr(theirs, name))]
        for key in {*mine, *other}
        if mine.get(key) != other.get(key)
    }


@pytest.mark.parametrize("name", [*GPU_HOSTS, *HWLOC])
def test_numapin_and_hwloc_read_the_same_machine(name: str, unpacked: Callable[[str], Path]) -> None:
    if not shutil.which("lstopo-no-graphics"):
        pytest.skip("lstopo-no-graphics is not installed (package hwloc-nox)")
    root = unpacked(name)
    found = differences(*told_alike(numapin(root), lstopo(root)))
    reason, expected = EXPLAINED.get(name, ("nothing explains a difference here", {}))
    if name in BRIDGES:
        reason, spread = NO_LOCAL_CPUS, [pair[1] for pair in found.values()]
        assert all(key.startswith("functions") for key in found), reason
        assert spread == [frozenset(numapin(root).cpus)] * BRIDGES[name], reason
        found = {}
    assert found == expected, reason
