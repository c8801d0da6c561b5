"""What holds of every verdict, whatever the machine and the container."""

import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from numapin.assignment import Assignment, Device
from numapin.cli.session import Judged
from numapin.errors import Exit
from numapin.ids import NodeSet, PciAddress
from numapin.settings import Settings
from numapin.topology import Topology
from numapin.values import replace
from numapin.verdict import Verdict, judge
from tests.verdict.strategies import GPU, cases, gatherings

Case = tuple[Topology, Assignment, Settings]
WORSE = {"aligned": 0, "unknown": 1, "misaligned": 2}


def told(verdict: Verdict) -> tuple[object, ...]:
    """All that a verdict says."""
    return (verdict.status, verdict.sentence, verdict.nodes, verdict.cpus, verdict.mems, verdict.reasons)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_devices_and_nodes_never_matters(case: Case, dice: random.Random) -> None:
    machine, assignment, settings = case

    def shuffled(members: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(dice.sample(members, len(members)))

    other = replace(
        assignment,
        accelerators=shuffled(assignment.accelerators),
        rdma=shuffled(assignment.rdma),
        nics=shuffled(assignment.nics),
    )
    bus = dict(shuffled(tuple(machine.pci.items())))
    assert told(judge(machine, assignment, settings)) == told(judge(replace(machine, pci=bus), other, settings))


@given(gatherings(), st.data())
def test_moving_a_device_away_never_improves_a_verdict(case: Case, data: st.DataObject) -> None:
    """A device that shares its node with another goes to a node, and a package, where no device is."""
    machine, assignment, settings = case
    before = judge(machine, assignment, settings)
    homes = firmware(machine, assignment)
    taken = {machine.nodes[home].package for home in homes.values() if home is not None}
    device = data.draw(st.sampled_from([one for one, home in homes.items() if list(homes.values()).count(home) > 1]))
    away = data.draw(st.sampled_from([node.id for node in machine.nodes if node.package not in taken]))
    moved = {**machine.pci, place(device): replace(machine.pci[place(device)], numa_node=away)}
    after = judge(replace(machine, pci=moved), assignment, settings)
    assert WORSE[after.status] >= WORSE[before.status]
    assert after.status == "misaligned" or settings.policy == "restricted"


@given(cases())
def test_what_is_aligned_on_a_single_node_is_aligned_under_restricted(case: Case) -> None:
    machine, assignment, settings = case
    strict = judge(machine, assignment, replace(settings, policy="single-numa-node"))
    assume(strict.status == "aligned")
    loose = judge(machine, assignment, replace(settings, policy="restricted"))
    assert (loose.status, loose.nodes, loose.cpus, loose.mems) == (
        strict.status,
        strict.nodes,
        strict.cpus,
        strict.mems,
    )


@given(cases())
def test_every_verdict_but_aligned_has_a_reason_of_that_weight(case: Case) -> None:
    """An error; or a warning where the policy or --unknown only warns."""
    machine, assignment, settings = case
    verdict = judge(machine, assignment, settings)
    lenient = {"misaligned": settings.policy == "best-effort", "unknown": settings.unknown == "warn", "aligned": True}
    weights = {reason.weight for reason in (verdict.reasons if lenient[verdict.status] else verdict.errors)}
    assert verdict.status == "aligned" or verdict.status in weights
    assert verdict.status == "aligned" or verdict.sentence in {reason.message for reason in verdict.reasons}
    assert verdict.status != "aligned" or not verdict.errors


@given(cases())
def test_best_effort_never_stops_a_start_for_a_misalignment(case: Case) -> None:
    machine, assignment, settings = case
    lenient = replace(settings, policy="best-effort")
    verdict = judge(machine, assignment, lenient)
    assert "misaligned" not in {reason.weight for reason in verdict.errors}
    status = Judged(machine, assignment, lenient, verdict).exit
    assert status == (Exit.CANNOT_TELL if verdict.errors else Exit.ALIGNED)


@given(cases())
def test_best_effort_and_a_single_node_have_the_same_reasons(case: Case) -> None:
    machine, assignment, settings = case
    codes = [
        sorted(
            (reason.code, reason.subject)
            for reason in judge(machine, assignment, asked).reasons
            if reason.weight != "notice"
        )
        for asked in (replace(settings, policy="best-effort"), replace(settings, policy="single-numa-node"))
    ]
    assert codes[0] == codes[1]


@given(cases())
def test_nothing_is_bound_that_is_not_allowed(case: Case) -> None:
    machine, assignment, settings = case
    verdict = judge(machine, assignment, settings)
    assert verdict.cpus <= assignment.cpus
    assert verdict.mems <= assignment.mems
    assert verdict.nodes == machine.nodes_of(verdict.cpus)


@given(cases())
def test_more_of_the_same_nodes_never_harms(case: Case) -> None:
    """All CPUs of the nodes that some are allowed on: with --narrow, an aligned container stays aligned."""
    machine, assignment, settings = case
    asked = replace(settings, narrow=True)
    assume(judge(machine, assignment, asked).status == "aligned")
    more = replace(assignment, cpus=machine.cpus_of(machine.nodes_of(assignment.cpus)))
    assert judge(machine, more, asked).status == "aligned"


@given(cases())
def test_what_nobody_judges_is_aligned_and_not_bound(case: Case) -> None:
    machine, assignment, settings = case
    verdict = judge(machine, assignment, replace(settings, policy="none"))
    assert (verdict.status, verdict.reasons, str(verdict.nodes), str(verdict.cpus), str(verdict.mems)) == (
        "aligned",
        (),
        "",
        "",
        "",
    )


@given(cases())
def test_the_node_of_a_gpu_is_never_guessed(case: Case) -> None:
    """On these machines only firmware speaks: what it does not say stays unknown, and is said."""
    machine, assignment, settings = case
    verdict = judge(machine, assignment, settings)
    said = firmware(machine, assignment)
    assert {device: home.node for device, home in verdict.homes.items()} == said
    silent = {str(device.pci) for device in assignment.accelerators if said[device] is None}
    unknown = {reason.subject for reason in verdict.reasons if reason.code == "NODE_UNKNOWN"}
    assert silent == {subject for subject in unknown if subject.startswith(f"0000:{GPU:02x}")}


@given(cases())
def test_an_aligned_sentence_puts_no_device_where_it_is_not(case: Case) -> None:
    machine, assignment, settings = case
    verdict = judge(machine, assignment, replace(settings, align="socket", unknown="warn"))
    assume(verdict.status == "aligned")
    for clause in verdict.sentence.split("; "):
        names, _, nodes = clause.rpartition(" on node")
        for device, home in firmware(machine, assignment).items():
            assert device.label not in names or home in NodeSet.parse(nodes.removeprefix("s"))


def place(device: Device) -> PciAddress:
    """On these machines every device has a PCI function."""
    assert device.pci is not None
    return device.pci


def firmware(machine: Topology, assignment: Assignment) -> dict[Device, int | None]:
    """The nodes of the devices, as the machines were made."""
    return {device: machine.pci[place(device)].numa_node for device in assignment.devices}
