"""verify, measure and bench on two nodes, beside what the lab itself sees."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("alignment", "proof")),)


def codes(case: dict) -> list[str]:
    return [reason["code"] for reason in case["json"]["reasons"]]


def message(case: dict) -> str:
    return case["json"]["reasons"][0]["message"]


def rows(table: str) -> dict[str, list[str]]:
    """Before, now and change of each row, by its name."""
    lines = [line for line in table.splitlines()[2:] if not line.startswith("[")]
    return {line.partition("  ")[0]: line.partition("  ")[2].split("  ") for line in lines}


def test_a_misplaced_server_is_drift_from_where_it_belongs(seen):
    case = seen["before_and_after"]["misplaced"]
    assert (case["status"], case["json"]["against"]) == (78, "verdict")
    assert codes(case) == ["POLICY_ASTRAY", "PAGES_REMOTE", "IRQ_ASTRAY"]
    assert "'bind:1'" in message(case)
    assert case["json"]["pages"]["anonymous"]["1"] > 64 << 20


def test_behind_numapin_it_is_aligned(seen):
    case = seen["before_and_after"]["aligned"]
    assert (case["status"], case["json"]["against"], codes(case)) == (0, "plan", [])
    assert set(case["json"]["pages"]["anonymous"]) == {"0"}


def test_the_table_shows_what_alignment_gave(seen):
    """Memory; an emulated machine has no slower link, so that latencies are only there."""
    case = seen["before_and_after"]
    figures = {one["key"]: one for one in case["saved"]["figures"]}
    assert figures["remote_memory_percent"]["value"] > 99
    assert figures["other_node_per_second"]["value"] > 10
    assert figures["remote_growth_mib"]["value"] > 1
    assert figures["ttft_p50_ms"]["value"] >= 50
    assert figures["failed_requests"]["value"] == 0
    told = {
        name: [cell.strip() for cell in cells if cell.strip()] for name, cells in rows(case["after"]["out"]).items()
    }
    assert told["its anonymous memory on other nodes (%)"] == ["100.0", "0.0", "-100 %"]
    before, now, _ = told["page allocations from other nodes, whole machine (1/s)"]
    assert float(now.replace(" ", "")) < float(before.replace(" ", "")) / 2
    before, now, _ = told["its devices' interrupts on other nodes (%)"]
    assert (float(before), float(now)) == (100, 0)
    assert len(told["time to first token P99 (ms)"]) == 3
    assert told["last-level cache (L3) hit rate (%)"] == ["– [1]", "– [1]", "–"]


@pytest.mark.parametrize("look", ["full", "quick"])
def test_a_process_that_bound_itself_is_named_with_its_variable(seen, look):
    case = seen["a_thread_and_a_child_astray"][look]
    told = message(case) if look == "full" else case["out"]
    assert case["status"] == 78
    assert "may run on CPUs 0-7" in told
    assert "where OMP_PROC_BIND=true is set" in told


def test_an_engine_that_chose_another_policy_is_named_with_its_variable(seen):
    case = seen["rebound_by_an_engine"]
    assert case["status"] == 78
    assert codes(case) == ["POLICY_ASTRAY", "POLICY_ASTRAY", "PAGES_REMOTE"]
    assert "'interleave:0-1', where SGLANG_NUMA_BIND_V2=1 is set" in message(case)


def test_pages_that_were_moved_are_found_where_they_are_asked_for(seen):
    case = seen["pages_moved_away"]
    assert (case["maps"]["status"], codes(case["maps"])) == (78, ["PAGES_REMOTE"])
    assert (case["off"]["status"], case["off"]["json"]["pages"]) == (0, None)


def test_a_cpuset_that_grew_is_no_drift_and_one_that_shrank_is(seen):
    """It was started in a cpuset of just its CPUs: set all the same, the mask outlives the cpuset's growth (6.2)."""
    case = seen["cpuset_taken_away"]
    assert (case["grown"]["status"], codes(case["grown"])) == (0, [])
    assert case["taken"]["status"] == 78
    first = case["taken"]["out"].splitlines()[0]
    assert first == "misaligned: the cpuset is CPUs 2-5 now, CPUs 0-1 have been taken out since the start"
    assert "THREADS_ASTRAY" not in case["taken"]["out"]
    assert case["status"]["Cpus_allowed_list"] == "2-3"


def test_the_cgroup_counts_the_same_memory(seen):
    report = seen["cpuset_taken_away"]["grown"]["json"]
    assert report["counted"] == "cgroup"
    assert report["pages"]["anonymous"]["0"] > 40 << 20
    assert report["pages"]["anonymous"].get("1", 0) < 1 << 20


def test_an_interrupt_that_was_moved_is_a_notice(seen):
    case = seen["an_interrupt_moved"]
    assert codes(case["before"]) == []
    assert (case["after"]["status"], codes(case["after"])) == (0, ["IRQ_ASTRAY"])
    assert case["device"] in message(case["after"])
    assert "CPU 5 of node 1" in message(case["after"])


def test_where_interrupts_are_required_it_is_drift(seen):
    case = seen["an_interrupt_moved"]["required"]
    assert (case["status"], codes(case)) == (78, ["IRQ_ASTRAY"])


def test_interrupts_are_counted_on_the_node_that_they_come_to(seen):
    before, after = (seen["an_interrupt_moved"][name]["figures"] for name in ("before", "after"))
    assert before["interrupts_node0"] > 5
    assert (before["interrupts_node1"], before["remote_interrupts_percent"]) == (0, 0)
    assert after["interrupts_node1"] > 5
    assert after["remote_interrupts_percent"] > 90


def test_who_may_not_look_cannot_tell(seen):
    case = seen["another_user"]
    assert (case["status"], codes(case)) == (69, ["SERVER_HIDDEN"])


def test_bench_fills_every_cell_of_two_nodes(seen):
    report = seen["measured_machine"]["json"]
    matrices = {matrix["key"]: matrix for matrix in report["matrices"]}
    for matrix in matrices.values():
        assert (matrix["rows"], matrix["columns"], matrix["why"]) == (["0", "1"], ["0", "1"], {})
        assert all(number > 0 for row in matrix["values"] for number in row)
    assert len(matrices) == 6


def test_what_the_firmware_claims_is_compared(seen):
    """QEMU's HMAT says 80 ns; nothing that is emulated is as fast."""
    remarks = seen["measured_machine"]["json"]["remarks"]
    assert any("HMAT) says that the read latency of node 0 is 80 ns, measured is" in remark for remark in remarks)
    assert any("HMAT) says that the read bandwidth of node 1 is 51 GB/s" in remark for remark in remarks)
    assert not any("cannot be shown" in remark for remark in remarks)


def test_a_hint_says_what_a_mismatch_costs(seen):
    case = seen["measured_machine"]["written"]
    assert case["status"] == 78
    assert "Remote memory is 1.9 times slower on this machine (150 ns instead of 80 ns" in case["out"]
