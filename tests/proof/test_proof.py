"""What has drifted: each code, from a server's state to its sentence, and what is no drift."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from numapin.ids import CpuSet, NodeSet
from numapin.proof import prove
from numapin.proof.case import Pin, Running
from numapin.reasons import MEANINGS
from numapin.server import Pages, ThreadState
from numapin.values import replace
from tests.proof.scene import BOTH, GIB, MARKER, THREADS, TOPOLOGY, anonymous, cpus, nodes, server, verdict
from tests.verdict.test_reasons import CASES

AWAY = ThreadState(cpus("0-7"), "bind=static:0")
DEFAULT = ThreadState(cpus("0-3"), "default")
HIDDEN = dict.fromkeys(THREADS, ThreadState(cpus("0-3"), None))
PINS = (Pin(100, "mlx5_0 (0000:3c:00.0)", 0), Pin(101, "mlx5_0 (0000:3c:00.0)", 0), Pin(200, "mlx5_1", 1))

DRIFTS = [
    (
        "CPUSET_CHANGED",
        {"cpuset": cpus("2-7")},
        "the cpuset is CPUs 2-7 of nodes 0-1 now, CPUs 0-1 of node 0 have been taken out since the start",
    ),
    (
        "CPUSET_CHANGED",
        {"mems": nodes("1")},
        "the cpuset allows memory of node 1 now, node 0 was taken out since the start",
    ),
    (
        "THREADS_ASTRAY",
        {"threads": {46: AWAY, 47: AWAY}},
        (
            "2 of 3 threads of VLLM::Worker_TP0 (process 45) may run on CPUs 0-7 of nodes 0-1; "
            "they belong on CPUs 0-3 of node 0"
        ),
    ),
    (
        "THREADS_ASTRAY",
        {"threads": {2: ThreadState(cpus("5"), "bind=static:0")}, "binders": {1: ("OMP_PROC_BIND=true",)}},
        (
            "ZMQbg/IO/0 (thread 2 of vllm (process 1)) may run on CPU 5 of node 1, where OMP_PROC_BIND=true is set; "
            "it belongs on CPUs 0-3 of node 0"
        ),
    ),
    (
        "POLICY_ASTRAY",
        {"threads": {45: DEFAULT, 46: DEFAULT, 47: DEFAULT}},
        "the memory policy of all 3 threads of VLLM::Worker_TP0 (process 45) is 'default'; it should be from node 0",
    ),
    (
        "PAGES_REMOTE",
        {"pages": anonymous(16.8, 1.2)},
        "1.2 of 18.0 GiB anonymous memory is on node 1; it belongs on node 0",
    ),
    (
        "PAGES_REMOTE",
        {"pages": anonymous(1, 1), "pages_of": {1: anonymous(1, 0), 45: anonymous(0, 1)}},
        (
            "1.0 of 2.0 GiB anonymous memory is on node 1, most of it of VLLM::Worker_TP0 (process 45); "
            "it belongs on node 0"
        ),
    ),
]


@pytest.mark.parametrize(("code", "facts", "message"), DRIFTS)
def test_a_drift_comes_alone_and_is_the_verdict(code, facts, message):
    found = verdict(**facts)
    assert [(one.code, one.severity, one.message) for one in found.reasons] == [(code, "error", message)]
    assert (found.status, found.sentence) == ("misaligned", message)
    assert found.reasons[0].hint


def test_threads_that_a_cpuset_moved_are_told_by_the_cpuset_alone():
    moved = dict.fromkeys(THREADS, ThreadState(cpus("2-5"), "bind=static:0"))
    assert [one.code for one in verdict(moved, cpuset=cpus("2-5")).reasons] == ["CPUSET_CHANGED"]
    assert [one.code for one in verdict(moved).reasons] == ["THREADS_ASTRAY", "THREADS_ASTRAY"]
    grown = dict.fromkeys(THREADS, ThreadState(cpus("0-7"), "bind=static:0"))
    assert {one.code for one in verdict(grown, cpuset=cpus("0-7")).reasons} == {"THREADS_ASTRAY"}


def test_who_is_where_it_should_be_is_told_with_its_memory():
    found = verdict(pages=anonymous(18, 0.001))
    assert found.status == "aligned"
    assert found.reasons == ()
    assert found.sentence == (
        "vllm (process 1) with 1 process below it and 5 threads is on CPUs 0-3 of node 0; "
        "18.0 of 18.0 GiB anonymous memory is there"
    )


def test_shared_and_file_backed_memory_is_never_drift():
    """Whoever touched or read it first placed it, and it may be another container."""
    assert verdict(pages=Pages({0: GIB}, {1: 90 * GIB}, {1: 90 * GIB})).status == "aligned"


@pytest.mark.parametrize(
    ("local", "remote", "drift"),
    [
        (0, 1 << 20, False),
        (0, (1 << 20) + 4096, True),
        (100 * GIB, 16 << 20, False),
        (100 * GIB, (16 << 20) + 4096, True),
        (GIB, 10 << 20, False),
        (GIB, 12 << 20, True),
    ],
)
def test_a_page_or_two_is_no_drift(local, remote, drift):
    """1 % counts where that is more than a MiB, and 16 MiB in any case."""
    assert (verdict(pages=Pages({0: local, 1: remote})).status == "misaligned") is drift


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("bind=static:0", True),
        ("bind:0", True),
        ("bind=static|balancing:0", True),
        ("prefer:0", True),
        ("prefer (many)=static:0", True),
        ("bind:0-1", False),
        ("bind:1", False),
        ("prefer:1", False),
        ("interleave:0", False),
        ("weighted", False),
        ("local", False),
        ("default", False),
    ],
)
def test_a_policy_must_keep_memory_on_the_plans_nodes(policy, kept):
    found = verdict({45: ThreadState(cpus("0-3"), policy)})
    assert [one.code for one in found.reasons] == ([] if kept else ["POLICY_ASTRAY"])
    assert verdict({45: ThreadState(cpus("0-3"), policy)}, mems=nodes("0")).reasons == ()


def test_what_was_not_bound_is_not_judged():
    """`--cpu off` and `--memory off` are in the marker; memory elsewhere is told, and is no drift from anything."""
    loose = replace(MARKER, cpus=CpuSet(), mems=NodeSet())
    assert verdict({45: AWAY, 46: DEFAULT}, loose).status == "aligned"
    elsewhere = verdict(marker=loose, pages=anonymous(1, 1))
    assert [(one.code, one.severity) for one in elsewhere.reasons] == [("PAGES_REMOTE", "warning")]
    assert elsewhere.status == "aligned"


def test_nothing_drifts_under_policy_none():
    nowhere = replace(MARKER, policy="none", nodes=NodeSet(), cpus=CpuSet(), mems=NodeSet())
    assert verdict({45: AWAY}, nowhere).status == "aligned"


def test_an_interrupt_astray_is_a_notice_for_its_device():
    there = {100: cpus("0-7"), 101: cpus("5"), 200: cpus("0-7")}
    found = verdict(pins=PINS, interrupts=there)
    assert [(one.code, one.severity, one.subject) for one in found.reasons] == [
        ("IRQ_ASTRAY", "warning", "mlx5_0 (0000:3c:00.0)")
    ]
    assert found.reasons[0].message == (
        "2 interrupts of mlx5_0 (0000:3c:00.0) may go to CPUs of other nodes (100: CPUs 0-7 of nodes 0-1); "
        "it is on node 0"
    )
    assert found.status == "aligned"
    assert verdict(pins=PINS, interrupts={100: cpus("0-3"), 101: cpus("2")}).reasons == ()


def test_an_interrupt_astray_is_drift_where_interrupts_are_required():
    def required(interrupts):
        return prove(Running(MARKER, server(interrupts=interrupts), TOPOLOGY, PINS, interrupts_matter=True))

    assert required({100: cpus("0-3"), 101: cpus("2"), 200: cpus("5")}).status == "aligned"
    astray = required({100: cpus("0-3"), 101: cpus("5"), 200: cpus("5")})
    assert (astray.status, [one.severity for one in astray.reasons]) == ("misaligned", ["error"])
    assert astray.sentence.startswith("1 interrupt of mlx5_0 (0000:3c:00.0) may go to CPUs of other nodes (101: CPU 5")


def test_memory_that_may_not_be_looked_at_is_unknown_unless_the_cgroup_tells():
    told = verdict(HIDDEN)
    assert [(one.code, one.severity) for one in told.reasons] == [("SERVER_HIDDEN", "warning")]
    assert told.status == "aligned"
    blind = verdict(HIDDEN, pages=None)
    assert (blind.status, blind.sentence) == ("unknown", "the memory of vllm (process 1) may not be looked at")


def test_a_quick_look_tells_cpus_and_cpuset_alone():
    quick = {"quick": True, "pages": None}
    assert verdict(HIDDEN, **quick).sentence.endswith("is on CPUs 0-3 of node 0")
    assert verdict({45: AWAY}, **quick).sentence.endswith("may run on CPUs 0-7; they belong on CPUs 0-3") is False
    assert "may run on CPUs 0-7; " in verdict({45: AWAY}, **quick).sentence
    assert verdict(cpuset=cpus("2-7"), **quick).reasons[0].code == "CPUSET_CHANGED"


def test_a_worker_narrowed_to_its_node_is_warned_of_memory_on_the_other():
    """Both nodes are the plan's; what it touched before it was narrowed lies where it was then."""
    one = ThreadState(cpus("0-3"), "bind=static:0-1")
    whole = ThreadState(cpus("0-7"), "bind=static:0-1")
    threads = {1: whole, 2: whole, 45: one, 46: one, 47: one}
    found = verdict(threads, BOTH, pages=anonymous(3, 3), pages_of={1: anonymous(1, 1), 45: anonymous(2, 2)})
    assert [(one.code, one.severity, one.message) for one in found.reasons] == [
        (
            "PAGES_REMOTE",
            "warning",
            (
                "2.0 of 4.0 GiB anonymous memory of VLLM::Worker_TP0 (process 45) is on node 1; "
                "the process itself is on node 0"
            ),
        )
    ]
    assert found.status == "aligned"


@given(
    some.lists(some.integers(1, 15), min_size=5, max_size=5), some.lists(some.integers(0, 64), min_size=2, max_size=2)
)
def test_a_server_within_its_plan_never_drifts(masks, sizes):
    """Narrower masks and any amount of memory on the node are no drift; one CPU beyond, or memory elsewhere, is."""
    inside = {tid: ThreadState(CpuSet(mask), "bind=static:0") for tid, mask in zip(THREADS, masks, strict=True)}
    assert verdict(inside, pages=anonymous(sizes[0])).status == "aligned"
    assert verdict({**inside, 46: ThreadState(CpuSet(masks[0] | 1 << 5), "bind:0")}).status == "misaligned"
    assert (verdict(inside, pages=anonymous(*sizes)).status == "aligned") is (sizes[1] == 0)


def test_every_code_is_here_or_in_the_cases_of_check():
    here = {code for code, *_ in DRIFTS} | {"IRQ_ASTRAY", "SERVER_HIDDEN"}
    assert here | {case.code for case in CASES} == set(MEANINGS)
