"""The verdict against a brute-force statement of DESIGN section 5, on random containers of real GPU hosts."""

import random
from collections.abc import Iterator
from functools import cache

import pytest

from numapin.assignment import Accelerator, Assignment, Device, NetworkInterface, RdmaDevice
from numapin.ids import CpuSet, NodeSet, PciAddress
from numapin.settings import Settings
from numapin.sources.machine import read_machine
from numapin.sources.opening import open_root
from numapin.topology import Topology
from numapin.values import replace
from numapin.verdict import Verdict, judge
from tests.machines.captured import GPU_HOSTS, archive
from tests.verdict.oracle import Answer, by_the_book

CASES = 1000
ACCELERATORS = {0x0302, 0x1200}
"""Base class and subclass of what computes on these hosts: 3D controllers and processing accelerators."""
NETWORK = 0x02
JUDGED = {"CPUS_SPAN_NODES", "CPUS_REMOTE", "MEMS_SPAN_NODES", "MEMS_REMOTE", "GPUS_SPAN_NODES", "GPUS_SPREAD"} | {
    "RDMA_REMOTE",
    "NIC_REMOTE",
    "NODE_UNKNOWN",
}
"""The codes that these cases can have and that decide a verdict."""


@cache
def host(name: str) -> Topology:
    return read_machine(open_root(str(archive(name))), Settings(), whole=True)[0]


def random_machine(dice: random.Random, machine: Topology) -> Topology:
    """The host, sometimes with its nodes paired in packages, one without memory, or firmware that knows less."""
    nodes = list(machine.nodes)
    if dice.random() < 0.5:
        nodes = [replace(node, package=node.id // 2) for node in nodes]
    if dice.random() < 0.3:
        nodes = [replace(node, distances={far: dice.choice([12, 21]) for far in node.distances}) for node in nodes]
    if dice.random() < 0.2:
        bare = dice.choice(nodes)
        nodes[nodes.index(bare)] = replace(bare, memory_bytes=0)
    chance = dice.choice([0, 0, 0.1, 0.9])
    erased = {address for address in machine.pci if dice.random() < chance}
    pci = {
        address: replace(function, numa_node=None, local_cpus=dice.choice([machine.cpus_online, function.local_cpus]))
        if address in erased
        else function
        for address, function in machine.pci.items()
    }
    return replace(machine, nodes=tuple(nodes), pci=pci)


def random_assignment(dice: random.Random, machine: Topology) -> Assignment:
    """CPUs and memory of one node or of several; devices of one node or of anywhere."""
    nodes = [node.id for node in machine.nodes]
    few = dice.sample(nodes, dice.choice([1, 1, 1, 2, len(nodes)]))
    cpus = machine.cpus_of(few) if dice.random() < 0.9 else machine.cpus_online
    cpus = CpuSet.of(dice.sample(list(cpus), dice.randint(1, len(cpus)))) if dice.random() < 0.5 else cpus
    mems = NodeSet.of(few if dice.random() < 0.7 else dice.sample(nodes, dice.randint(1, len(nodes))))
    near = few if dice.random() < 0.7 else nodes
    graphics = [a for a, one in machine.pci.items() if (one.class_code or 0) >> 8 in ACCELERATORS]
    network = [a for a, one in machine.pci.items() if (one.class_code or 0) >> 16 == NETWORK]
    rdma = some(dice, machine, network, near)
    nics = [address for address in some(dice, machine, network, near) if address not in rdma]
    return Assignment(
        cpus=cpus,
        mems=mems & machine.memory_nodes,
        accelerators=tuple(
            Accelerator(address, index, "nvidia", f"GPU-{index}", cpu_affinity=random_affinity(dice, machine))
            for index, address in enumerate(some(dice, machine, graphics, near))
        ),
        rdma=tuple(RdmaDevice(f"mlx5_{number}", address) for number, address in enumerate(rdma)),
        nics=tuple(NetworkInterface(f"eth{number}", address) for number, address in enumerate(nics)),
        nccl_nodes={address: dice.choice(nodes) for address in graphics} if dice.random() < 0.2 else {},
    )


def some(dice: random.Random, machine: Topology, there: list[PciAddress], near: list[int]) -> list[PciAddress]:
    """Some of these functions, in any order: of these nodes as a rule, else of anywhere."""
    local = [address for address in there if machine.pci[address].numa_node in near]
    pool = local if dice.random() < 0.8 else there
    return dice.sample(pool, dice.choice([0, min(1, len(pool)), dice.randint(0, len(pool)), len(pool)]))


def random_affinity(dice: random.Random, machine: Topology) -> CpuSet | None:
    return dice.choice([None, None, machine.cpus_online, dice.choice(machine.nodes).cpus])


def random_settings(dice: random.Random, machine: Topology, devices: tuple[Device, ...]) -> Settings:
    overridden = [device for device in devices if dice.random() < dice.choice([0, 0, 0.3])]
    return Settings(
        policy=dice.choice(["none", "best-effort", "restricted", "restricted", "single-numa-node", "single-numa-node"]),
        align=dice.choice(["numa", "numa", "socket"]),
        unknown=dice.choice(["fail", "warn"]),
        narrow=dice.random() < 0.7,
        home={dice.choice(device.keys): dice.choice(list(machine.cpu_nodes)) for device in overridden},
    )


def random_cases(name: str) -> Iterator[tuple[Topology, Assignment, Settings]]:
    dice = random.Random(name)
    for _ in range(CASES):
        machine = random_machine(dice, host(name))
        assignment = random_assignment(dice, machine)
        yield machine, assignment, random_settings(dice, machine, assignment.devices)


def disagreements(answer: Answer, verdict: Verdict, settings: Settings) -> list[str]:
    """What the verdict says that the book does not, or the other way round."""
    codes = {reason.code for reason in verdict.reasons} & JUDGED
    found = [f"{code} is missing" for code in answer.must - codes]
    found += [f"{code} is too much" for code in codes - answer.must - answer.may]
    misaligned = answer.misaligned or bool(codes & answer.may)
    # Whether a verdict that --unknown only warns about is called unknown or aligned is not in the text.
    lenient = {"aligned"} if answer.unknown and settings.unknown == "warn" else set()
    # Under best-effort a misalignment only warns: what stops a start says what the verdict is.
    stopped = settings.policy == "best-effort" and answer.unknown and settings.unknown == "fail"
    if verdict.status not in ({"unknown"} if stopped else {"misaligned"} if misaligned else {answer.status} | lenient):
        found.append(f"status {verdict.status}, should be {answer.status}")
    heavy = misaligned and settings.policy != "best-effort"
    heavy |= answer.unknown and settings.unknown == "fail"
    if bool(verdict.errors) != heavy:
        found.append(f"errors {verdict.errors}, should there be any: {heavy}")
    if misaligned and settings.policy != "best-effort":
        return found
    bound = (frozenset(verdict.nodes), frozenset(verdict.cpus), frozenset(verdict.mems))
    if answer.bound and bound not in answer.bound:
        found.append(f"bound to {bound}, should be one of {answer.bound}")
    return found


@pytest.mark.parametrize("name", GPU_HOSTS)
def test_a_thousand_random_containers_are_judged_by_the_book(name: str) -> None:
    wrong = []
    for number, case in enumerate(random_cases(name)):
        found = disagreements(by_the_book(*case), judge(*case), case[2])
        wrong += [f"case {number} of {name}: {one}" for one in found]
    assert not wrong


@pytest.mark.parametrize("name", GPU_HOSTS)
def test_the_random_containers_reach_every_verdict_and_every_code(name: str) -> None:
    """Otherwise the test above would hold a verdict that is never given."""
    answers = [by_the_book(*case) for case in random_cases(name)]
    statuses = [answer.status for answer in answers]
    assert all(statuses.count(status) > CASES // 50 for status in ("aligned", "misaligned", "unknown"))
    assert set().union(*(answer.must for answer in answers)) >= JUDGED
    assert sum(bool(answer.bound) for answer in answers) > CASES // 4
