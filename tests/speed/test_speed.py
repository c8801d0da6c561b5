"""What is made of bench's numbers: ratios, where the firmware disagrees, what a mismatch costs, tables."""

import json

import pytest

from numapin.cli import run
from numapin.render.speed import record, tables
from numapin.sources.captured import DirectoryRoot
from numapin.sources.memory_speed import read_cache_bytes, read_claims, read_latencies
from numapin.speed import LATENCY, READ, Cell, Firmware, Matrix
from numapin.speed.claims import disagreements
from numapin.values import replace
from tests.proof.scene import TOPOLOGY
from tests.sources.trees import write_files
from tests.speak.inside import MISALIGNED, machine


def matrix(quantity, *rows):
    cells = {(str(row), str(column)): Cell(cell) for row, line in enumerate(rows) for column, cell in enumerate(line)}
    return Matrix(quantity, cells)


MEASURED = {
    LATENCY.key: matrix(LATENCY, (80.0, 168.0), (170.0, 81.0)),
    READ.key: matrix(READ, (200.0, 90.0), (91.0, 200.0)),
}


def test_a_ratio_is_to_what_the_same_cpus_have_at_home():
    latency = MEASURED[LATENCY.key]
    assert latency.ratio("0", "1") == pytest.approx(2.1)
    assert latency.ratio("1", "1") == 1
    assert latency.ratio("1", "7") is None
    assert Matrix(LATENCY, {("0", "to_device"): Cell(1.0)}).ratio("0", "to_device") is None


def test_firmware_that_agrees_is_passed_over():
    assert list(disagreements(MEASURED, TOPOLOGY, {0: Firmware(80, 200_000)})) == []


def test_firmware_that_disagrees_is_told_with_both_numbers():
    flat = {**MEASURED, LATENCY.key: matrix(LATENCY, (80.0, 96.0), (168.0, 80.0))}
    claims = {0: Firmware(60, 400_000), 1: Firmware(None, None)}
    assert list(disagreements(flat, TOPOLOGY, claims)) == [
        "from node 0 to node 1 the firmware says distance 21 (2.1 × local), measured is 1.20 ×",
        "the firmware (HMAT) says that the read latency of node 0 is 60 ns, measured is 80.0 ns",
        "the firmware (HMAT) says that the read bandwidth of node 0 is 400 GB/s, measured is 200.0 GB/s",
    ]


def test_what_was_not_measured_is_not_compared():
    assert list(disagreements({}, TOPOLOGY, {0: Firmware(1, 1)})) == []
    nothing = {LATENCY.key: Matrix(LATENCY, {("0", "0"): Cell(None, "why"), ("0", "1"): Cell(None, "why")})}
    assert list(disagreements(nothing, TOPOLOGY, {0: Firmware(1, 1)})) == []


def test_tables_have_ratios_and_a_footnote_for_every_dash():
    latency = MEASURED[LATENCY.key]
    dashed = replace(latency, cells={**latency.cells, ("1", "0"): Cell(None, "no room")})
    assert list(tables({LATENCY.key: dashed})) == [
        "idle memory latency (ns): from CPUs of a row",
        "          node 0          node 1",
        "  node 0    80.0  168.0 (2.10 ×)",
        "  node 1   – [1]            81.0",
        "",
        "[1] no room",
    ]


def test_a_record_is_read_back_for_hints(tmp_path):
    text = json.dumps({"schema": "numapin.bench/v1", "matrices": record(MEASURED.values())})
    root = DirectoryRoot(str(write_files(tmp_path, {"/b.json": text})))
    assert read_latencies(root, "/b.json") == {(0, 0): 80, (0, 1): 168, (1, 0): 170, (1, 1): 81}
    assert read_latencies(root, "/none.json") == {}


def saved(fields: str) -> str:
    return f'{{"schema": "numapin.bench/v1", "matrices": [{{"key": "latency_ns", {fields}}}]}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        "[" * 100_000,
        '{"schema": "numapin.bench/v1"}',
        '{"schema": "numapin.bench/v1", "matrices": [{"key": "latency_ns"}]}',
        saved('"rows": ["x"], "columns": [0], "values": [[1]]'),
        saved('"rows": [0], "columns": [0], "values": [[{}]]'),
        saved('"rows": [0], "columns": [0], "values": [[NaN]]'),
        saved('"rows": [0, 1], "columns": [0], "values": [[1]]'),
    ],
)
def test_a_file_that_is_none_makes_no_hint_and_stops_nothing(tmp_path, text):
    root = DirectoryRoot(str(write_files(tmp_path, {"/b.json": text})))
    assert read_latencies(root, "/b.json") == {}


@pytest.mark.parametrize("option", [[], ["--bench", "/elsewhere.json"]])
def test_a_hint_says_what_a_mismatch_costs_here(tmp_path, capsys, option):
    """Where bench was saved; the distance serves where it was not."""
    root = machine(tmp_path, MISALIGNED)
    run(["check", "--root", root])
    assert "crosses the socket link (distance 21 instead of 10)" in capsys.readouterr().out
    place = option[1] if option else "/var/lib/numapin/bench.json"
    text = json.dumps({"schema": "numapin.bench/v1", "matrices": record(MEASURED.values())})
    write_files(tmp_path / "root", {place: text})
    assert run(["check", "--root", root, *option]) == 78
    told = capsys.readouterr().out
    assert (
        "Remote memory is 2.1 times slower on this machine (168 ns instead of 80 ns, as numapin bench measured)."
        in told
    )
    assert "distance 21" not in told


def test_where_bench_saw_no_difference_the_distance_is_told(tmp_path, capsys):
    """An emulated machine, or one whose memory is interleaved below the kernel."""
    flat = matrix(LATENCY, (80.0, 81.0), (80.0, 80.0))
    text = json.dumps({"schema": "numapin.bench/v1", "matrices": record([flat])})
    root = machine(tmp_path, MISALIGNED)
    write_files(tmp_path / "root", {"/var/lib/numapin/bench.json": text})
    run(["check", "--root", root])
    assert "distance 21 instead of 10" in capsys.readouterr().out


def test_claims_and_caches_are_read_as_the_kernel_writes_them(tmp_path):
    place = "/sys/devices/system/node/node1/access0/initiators"
    files = {f"{place}/read_latency": "120\n", f"{place}/read_bandwidth": "51200\n"}
    caches = "/sys/devices/system/cpu/cpu0/cache"
    files |= {
        "/sys/devices/system/cpu/online": "0-7\n",
        f"{caches}/index0/size": "48K\n",
        f"{caches}/index3/size": "307200K\n",
    }
    root = DirectoryRoot(str(write_files(tmp_path, files)))
    assert read_claims(root, TOPOLOGY) == {1: Firmware(120, 51200)}
    assert read_cache_bytes(root) == 300 << 20
    assert read_cache_bytes(DirectoryRoot(str(tmp_path / "sys"))) == 0
