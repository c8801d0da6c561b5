"""`numapin measure` on this machine: a stand-in for an engine, and a server that answers at its own pace."""

import json
import os
import pty
import subprocess

import pytest

from tests.change.launch import MODULE, environment
from tests.figures.api import FIRST, serving
from tests.keeper.engine import Engine
from tests.proof.test_verify import bound
from tests.render.test_schema import validator


def measure(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*MODULE, "measure", "--seconds", "1", *words]
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=60, check=False
    )


def test_a_server_is_measured_saved_and_compared(tmp_path):
    place = tmp_path / "a.json"
    with bound() as engine, serving() as (url, _):
        words = ("--pid", str(engine.pid), "--url", url)
        first = measure(*words, "--save", str(place), "--format", "json")
        second = measure(*words, "--baseline", str(place))
    record = json.loads(first.stdout)
    assert json.loads(place.read_text()) == record
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    validator("measure").validate(record)
    figures = {one["key"]: one for one in record["figures"]}
    assert figures["ttft_p50_ms"]["value"] >= FIRST * 1000
    assert figures["failed_requests"]["value"] == 0
    assert figures["voluntary_switches"]["value"] is not None
    assert all(one["value"] is not None or one["why"] for one in figures.values())
    head, *rows = second.stdout.splitlines()[1:]
    assert head.split() == ["before", "now", "change"]
    assert any(row.startswith("time to first token P50 (ms)") for row in rows)
    assert (first.returncode, second.returncode, first.stderr, second.stderr) == (0, 0, "", "")


def test_without_a_load_nobody_waits_for_latencies():
    with bound() as engine:
        done = measure("--pid", str(engine.pid))
    assert "first token" not in done.stdout
    assert "context switches, voluntary (1/s)" in done.stdout
    assert "NaN" not in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--pid", "4194303"), 69, "there is no process 4194303"),
        (("--save",), 2, "--save needs a FILE"),
        (("--baseline", "/nowhere/a.json"), 2, "/nowhere/a.json cannot be read"),
        (("--baseline", __file__), 2, "is no file of numapin.measure/v1"),
        (("--seconds", "0"), 2, "no number from 1"),
        (("--save", "/nowhere/at/all.json"), 2, "/nowhere/at/all.json cannot be written"),
        (("--url", "nonsense"), 2, "is no address like"),
        (("--url", "http://127.0.0.1:1"), 69, "nobody answers"),
    ],
)
def test_bad_input_has_its_status(words, status, said):
    with Engine(variables=environment()) as engine:
        pid = () if "--pid" in words else ("--pid", str(engine.pid), "--policy", "best-effort")
        done = measure(*pid, *words)
    assert done.returncode == status
    assert said in done.stderr


def test_a_load_that_nobody_answered_cannot_be_told():
    """The table is printed all the same, with dashes and why."""
    with bound() as engine, serving(b"busy", 503) as (url, _):
        done = measure("--pid", str(engine.pid), "--url", url, "--model", "tiny")
    assert done.returncode == 69
    assert "no request was answered: ValueError: HTTP 503: busy" in done.stdout
    assert "context switches, voluntary (1/s)" in done.stdout


def test_a_server_that_ends_meanwhile_is_said():
    with bound() as engine:
        command = [*MODULE, "measure", "--seconds", "30", "--pid", str(engine.pid)]
        measuring = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            measuring.wait(1.5)
    assert "ended while it was measured" in measuring.communicate(timeout=20)[1]
    assert measuring.returncode == 69


def test_there_is_a_bar_on_a_terminal():
    leader, follower = pty.openpty()
    with bound() as engine:
        command = [*MODULE, "measure", "--seconds", "1", "--pid", str(engine.pid)]
        done = subprocess.run(
            command, env=environment(TERM="xterm"), stdout=subprocess.DEVNULL, stderr=follower, timeout=60, check=False
        )
    os.close(follower)
    seen = os.read(leader, 1 << 16)
    os.close(leader)
    assert done.returncode == 0
    assert b"measuring process" in seen
    assert b"100%" in seen
