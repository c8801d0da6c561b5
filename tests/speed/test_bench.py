"""`numapin bench` on this machine: all of it for real, in a second and a few MiB. Nothing says how fast that is."""

import json
import subprocess
import time

import pytest

from numapin.assignment import Assignment, Container
from numapin.cli.benching import _size
from numapin.ids import CpuSet, NodeSet
from numapin.speed import LATENCY, Cell
from numapin.trials import Machine, Task, run
from numapin.values import replace
from tests.change.launch import MODULE, environment
from tests.proof.scene import GIB, TOPOLOGY
from tests.render.test_schema import validator

MIB = 1 << 20


def bench(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*MODULE, "bench", "--seconds", "1", "--megabytes", "16", *words]
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=60, check=False
    )


def test_this_machine_has_a_number_in_every_cell(tmp_path):
    place = tmp_path / "b.json"
    done = bench("--format", "json", "--save", str(place), "--gpus", "none")
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    validator("bench").validate(report)
    assert json.loads(place.read_text()) == report
    keys = [matrix["key"] for matrix in report["matrices"]]
    assert keys == ["latency_ns", "read_gb_s", "copy_gb_s", "write_gb_s", "wakeup_us", "wakeup_p99_us"]
    assert all(number > 0 for matrix in report["matrices"] for row in matrix["values"] for number in row)
    assert {number for matrix in report["matrices"] for number in matrix["why"]} == set()


def test_one_node_cannot_show_what_another_costs():
    done = bench("--gpus", "none")
    assert "idle memory latency (ns)" in done.stdout
    with open("/sys/devices/system/node/online") as file:
        alone = file.read().strip() == "0"
    assert ("what memory of another costs cannot be shown" in done.stdout) is alone


def test_a_buffer_that_the_cache_holds_is_said():
    done = bench("--gpus", "none", "--cpus", "0")
    assert "less than four times the last cache" in done.stdout


def test_the_time_is_kept():
    begin = time.monotonic()
    assert bench("--gpus", "none").returncode == 0
    assert time.monotonic() - begin < 6


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--megabytes", "0"), 2, "no number from 1"),
        (("--seconds", "x"), 2, "no number from 1"),
        (("--cpus", "8000"), 2, "is not online here"),
        (("--save", "/nowhere/at/all.json"), 2, "/nowhere/at/all.json cannot be written"),
    ],
)
def test_bad_input_has_its_status(words, status, said):
    done = bench(*words)
    assert done.returncode == status
    assert said in done.stderr


def test_a_place_that_cannot_be_written_is_said_before_anything_is_measured():
    begin = time.monotonic()
    done = bench("--seconds", "30", "--save", "/proc/nowhere.json")
    assert done.returncode == 2
    assert "/proc/nowhere.json cannot be written" in done.stderr
    assert time.monotonic() - begin < 10


def test_memory_that_a_node_does_not_have_is_not_taken():
    """The kernel would answer with its out-of-memory killer."""
    tight = replace(TOPOLOGY.nodes[0], available_bytes=GIB)
    machine = Machine(TOPOLOGY, Assignment(CpuSet(1), NodeSet.of([0])), GIB)
    assert machine.lacks(tight) == "node 0 has only 1.0 GiB available (--megabytes)"
    assert machine.lacks(replace(tight, available_bytes=2 * GIB)) == ""
    assert machine.lacks(replace(tight, available_bytes=None)) == ""


def test_a_container_with_a_limit_lends_a_quarter_of_it():
    assigned = Assignment(CpuSet(1), NodeSet.of([0]), container=Container(memory_max=400 * MIB))
    assert _size(512, assigned) == 100 * MIB
    assert _size(50, assigned) == 50 * MIB
    assert _size(512, replace(assigned, container=Container())) == 512 * MIB


def task(pair: tuple[str, str], measure, why: str = "") -> Task:
    return Task(((LATENCY, pair),), measure, why)


def test_what_the_kernel_refuses_is_a_dash_and_the_rest_goes_on():
    def refuse(_: float):
        raise OSError(22, "Invalid argument")

    tasks = [task(("0", "0"), refuse), task(("0", "1"), lambda _: (1.5,)), task(("0", "2"), refuse, "no room")]
    found = run(tasks, 1, lambda _: None)
    assert list(found.values()) == [Cell(None, "Invalid argument"), Cell(1.5), Cell(None, "no room")]


def test_when_the_time_is_over_the_rest_is_not_tried():
    def slow(_: float):
        time.sleep(0.3)
        return (1.0,)

    found = run([task(("0", str(number)), slow) for number in range(9)], 0.5, lambda _: None)
    late = [cell for cell in found.values() if cell.number is None]
    assert {cell.why for cell in late} == {"the time was over (--seconds)"}
    assert 6 <= len(late) <= 8
