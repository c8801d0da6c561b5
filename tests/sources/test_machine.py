"""What the readers come to together: whose cpuset counts, what the settings override, what was read at all."""

import pytest

from numapin.errors import UsageError
from numapin.ids import CpuSet, NodeSet
from numapin.settings import Settings
from numapin.sources.machine import read_machine
from tests.sources.trees import TWO_NODES, Machine

STATUS = "Cpus_allowed_list:\t{}\nMems_allowed_list:\t{}\n"
CPUSETS = {
    "files and status agree": ("0-3", "0", "0-3", "0", "0-3", "0"),
    "an inherited mask is narrower": ("0-7", "0-1", "2-3", "0-1", "0-7", "0-1"),
    "files of another group": ("0-3", "0", "8-15", "1", "8-15", "1"),
    "files of another group that overlaps": ("0-7", "0", "4-11", "0-1", "4-11", "0-1"),
    "no files": (None, None, "8-9", "1", "8-9", "1"),
    "no status": ("8-9", "1", None, None, "8-9", "1"),
    "nothing": (None, None, None, None, "0-15", "0-1"),
    "CPUs that are offline": ("0-31", "0-7", "0-15", "0-1", "0-15", "0-1"),
}


@pytest.mark.parametrize("case", CPUSETS.values(), ids=CPUSETS)
def test_the_cpuset_that_counts(machine: Machine, case) -> None:
    """The mask always lies within the cpuset: files that say otherwise are another group's."""
    cpus, mems, mask, status_mems, a, m = case
    files = {"/proc/self/status": STATUS.format(mask, status_mems) if mask else ""}
    root = machine(*TWO_NODES, *([f"container cpus={cpus} mems={mems}"] if cpus else []), files=files)
    _, found = read_machine(root, Settings())
    assert (str(found.cpus), str(found.mems)) == (a, m)
    assert found.affinity == (CpuSet.parse(mask) if mask else None)


def test_allowed_memory_leaves_out_a_gpus_own_and_nodes_without(machine: Machine) -> None:
    lines = (*TWO_NODES, "node 2 memory=96G", "node 3 memory=0G", "gpu 0009:01:00.0 node=1 memory_node=2")
    _, found = read_machine(machine(*lines, "container cpus=0-15 mems=0-3"), Settings())
    assert found.mems == NodeSet.parse("0-1")


def test_what_if_overrides_the_cpuset(machine: Machine) -> None:
    root = machine(*TWO_NODES, "container cpus=0-3 mems=0")
    _, found = read_machine(root, Settings(cpus=CpuSet.parse("8-11"), mems=NodeSet.of([1])))
    assert (str(found.cpus), str(found.mems), found.affinity) == ("8-11", "1", None)


REFUSED = {
    "--cpus 14-17: 16-17 is not online here, online are 0-15": Settings(cpus=CpuSet.parse("14-17")),
    "--mems 1-2: there is no node 2 here, there are 0-1": Settings(mems=NodeSet.parse("1-2")),
}


@pytest.mark.parametrize("message", REFUSED)
def test_cpus_and_nodes_that_do_not_exist_are_refused(machine: Machine, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_machine(machine(*TWO_NODES), REFUSED[message])
    assert caught.value.message == message


BUS = ("bridge 0000:3a:00.0 node=0", "gpu 0000:3b:00.0 node=0 under=0000:3a:00.0", "gpu 0000:9b:00.0 node=1 foreign")


def test_of_the_bus_only_what_the_verdict_needs_is_read(machine: Machine) -> None:
    root = machine(*TWO_NODES, *BUS)
    narrow, _ = read_machine(root, Settings())
    whole, _ = read_machine(root, Settings(), whole=True)
    assert [str(one) for one in narrow.pci] == ["0000:3a:00.0", "0000:3b:00.0"]
    assert [str(one) for one in whole.pci] == ["0000:3a:00.0", "0000:3b:00.0", "0000:9b:00.0"]


def test_several_gpus_make_the_machines_capacity_count(machine: Machine) -> None:
    topology, _ = read_machine(machine(*TWO_NODES, *BUS, "gpu 0000:3c:00.0 node=0"), Settings())
    assert len(topology.pci) == 4


def test_interrupts_are_left_alone_where_they_are_off(machine: Machine) -> None:
    root = machine(*TWO_NODES, "nic eth1 pci=0000:5e:00.1 node=0 irqs=200-201")
    _, on = read_machine(root, Settings())
    _, off = read_machine(root, Settings(irq="off"))
    assert ([one.irq for one in on.interrupts], off.interrupts) == ([200, 201], ())


def test_neighbours_are_read_only_for_the_scope_of_a_pod(machine: Machine) -> None:
    neighbour = {"/proc/7/status": "Name:\tproxy\nCpus_allowed_list:\t8-15\n"}
    root = machine(*TWO_NODES, "container cpus=0-7 mems=0", files=neighbour)
    _, container = read_machine(root, Settings())
    _, pod = read_machine(root, Settings(scope="pod"))
    assert (container.pod, [(one.name, str(one.cpus)) for one in pod.pod]) == ((), [("proxy", "8-15")])


def test_a_gpu_that_is_taken_out_of_the_judgement_is_not_missed(machine: Machine) -> None:
    root = machine(*TWO_NODES, files={"/dev/nvidia0": ""})
    _, seen = read_machine(root, Settings())
    _, left_out = read_machine(root, Settings(gpus=("none",)))
    assert ([note.code for note in seen.notes], left_out.notes) == (["GPU_HIDDEN"], ())
