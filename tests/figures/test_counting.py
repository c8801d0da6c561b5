"""What two looks at the kernel's counters come to, with the right numbers."""

import pytest

from numapin.counters import Counts, Event, TaskCounts
from numapin.figures import Figure, Kind, compare
from numapin.figures.counting import Measured, counting
from numapin.ids import NodeSet
from numapin.render.figures import change, figures_of, record, table
from numapin.server import Pages
from numapin.topology import Topology
from tests.proof.scene import TOPOLOGY, cpus

MIB = 1 << 20
EVENTS = {
    "llc_loads": Event(1000.0),
    "llc_misses": Event(250.0),
    "node_loads": Event(200.0),
    "node_misses": Event(50.0),
    "links": Event(25e9),
}
BEFORE = Counts(
    100.0,
    {1: TaskCounts(10, 5, 2, 1000, 4_000_000), 2: TaskCounts(100, 0, 0, 9, 0)},
    {0: {"other_node": 50, "numa_miss": 0}, 1: {"other_node": 0, "numa_miss": 7}},
    Pages({0: 100 * MIB, 1: 10 * MIB}),
    interrupts={30: {0: 1, 5: 10}},
)
AFTER = Counts(
    110.0,
    {1: TaskCounts(110, 25, 2, 9000, 24_000_000), 2: TaskCounts(3, 1, 4, 1, 0), 3: TaskCounts(7, 0, 0, 1, 1_000_000)},
    {0: {"other_node": 250, "numa_miss": 0}, 1: {"other_node": 100, "numa_miss": 17}},
    Pages({0: 100 * MIB, 1: 30 * MIB}),
    Pages({0: 75 * MIB, 1: 25 * MIB}, {1: 5}, {1: 5}),
    {30: {0: 31, 5: 110}},
)


def figures(before: Counts = BEFORE, after: Counts = AFTER, events=None, topology: Topology = TOPOLOGY) -> dict:
    measured = Measured(before, after, events or EVENTS, topology, NodeSet.of([0]), {30: 0})
    return {one.kind.key: one for one in counting(measured)}


def test_the_numbers_are_right():
    found = {key: one.number for key, one in figures().items()}
    assert found == pytest.approx(
        {
            "remote_memory_percent": 25,
            "remote_growth_mib": 2,
            "other_node_per_second": 30,
            "numa_miss_per_second": 1,
            "socket_links_gb_s": 2.5,
            "remote_reads_percent": 25,
            "llc_hit_percent": 75,
            # Thread 2 is another of that id, so that all of it counts; thread 3 is new.
            "voluntary_switches": (100 + 3 + 7) / 10,
            "involuntary_switches": 2.1,
            "migrations": 0.4,
            "run_queue_wait_ms": 2.1,
            "interrupts_node0": 3,
            "interrupts_node1": 10,
            "remote_interrupts_percent": 100 * 100 / 130,
        }
    )


def test_what_cannot_be_had_is_never_a_zero():
    nothing = Counts(1.0, {1: TaskCounts(None, None, None, None, None)}, {0: {}, 1: {}})
    found = figures(nothing, nothing, dict.fromkeys(EVENTS, Event(why="no such counter")))
    assert {one.number for one in found.values()} == {None}
    assert all(one.why for one in found.values())


def test_a_machine_with_one_node_has_no_remote_memory_to_tell():
    alone = Topology(cpus("0-3"), TOPOLOGY.nodes[:1])
    found = figures(topology=alone)
    assert found["remote_memory_percent"].why == "this machine has one node: no memory is remote"
    assert found["other_node_per_second"].number is None
    assert found["voluntary_switches"].number == 11


def test_where_nobody_can_say_where_it_belongs_no_memory_is_remote():
    """It was bound nowhere, or its verdict is unknown."""
    measured = Measured(BEFORE, AFTER, EVENTS, TOPOLOGY, NodeSet(), {30: 0})
    found = {one.kind.key: one for one in counting(measured)}
    for key in ("remote_memory_percent", "remote_growth_mib"):
        assert (found[key].number, found[key].why) == (None, "nobody can say where its memory belongs")
    assert found["other_node_per_second"].number == 30


def test_counters_that_ran_backwards_are_no_rate_below_zero():
    found = figures(AFTER, BEFORE)
    assert found["remote_growth_mib"].number == 0
    assert found["interrupts_node0"].number == 0


LOWER, HIGHER, NEITHER = Kind("a", "latency", "ms", "lower"), Kind("b", "rate", "1/s", "higher", 2), Kind("c", "c", "")


def rows(*pairs):
    figures = [Figure(kind, now, why) for kind, _, now, why in pairs]
    return compare(figures, {kind.key: Figure(kind, before) for kind, before, *_ in pairs})


@pytest.mark.parametrize(
    ("before", "now", "told", "better"),
    [
        (100.0, 25.0, "-75 %", True),
        (100.0, 410.0, "4.1 ×", False),
        (100.0, 100.4, "the same", False),
        (0.0, 0.0, "the same", None),
        (0.0, 3.0, "from 0", None),
        (None, 3.0, "–", None),
        (3.0, None, "–", None),
        (100.0, 125.0, "+25 %", False),
    ],
)
def test_a_change_is_told_as_articles_tell_it(before, now, told, better):
    (row,) = rows((LOWER, before, now, ""))
    assert change(row) == told
    assert row.is_better is better


def test_the_table_has_a_footnote_for_every_dash():
    found = list(
        table(
            rows((LOWER, 4100.0, 1000.0, ""), (HIGHER, 2.0, None, "no load"), (NEITHER, 1.0, None, "no load")),
            compared=True,
        )
    )
    assert found == [
        "               before      now  change",
        "latency (ms)  4 100.0  1 000.0   -76 %",
        "rate (1/s)       2.00    – [1]       –",
        "c                 1.0    – [1]       –",
        "[1] no load",
    ]


def test_a_baseline_without_a_figure_says_so():
    (row,) = compare([Figure(LOWER, 1.0)], {})
    assert (row.before, row.notes[0]) == (None, "the baseline has no such figure")


def test_a_record_comes_back_as_it_was():
    whole = [Figure(LOWER, 1.5), Figure(HIGHER, None, "no load")]
    back = figures_of({"figures": record(whole)})
    assert {key: (one.number, one.why) for key, one in back.items()} == {"a": (1.5, ""), "b": (None, "no load")}


@pytest.mark.parametrize(
    "figure", ["text", {"key": 1, "value": 1}, {"key": "a", "value": "1"}, {"key": "a", "value": True}]
)
def test_a_record_that_is_none_is_refused(figure):
    with pytest.raises(ValueError, match="a figure has a key"):
        figures_of({"figures": [figure]})
