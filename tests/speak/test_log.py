"""What is said on stderr, and the cause that is left where Kubernetes looks for it."""

import json
import os
import re

import pytest

from tests.change.launch import environment, numapin
from tests.speak.inside import MISALIGNED, machine, status

PORTABLE = ("--policy", "best-effort", "--memory", "try", "--irq", "off")


def run(*words, **options):
    return numapin("run", *PORTABLE, *words, **options)


def test_plain_lines_begin_with_the_name():
    """So that they are told from the server's own in one log."""
    lines = run("--", "true").stderr.decode().splitlines()
    assert lines
    assert [line for line in lines if not line.startswith("numapin: ")] == []
    assert re.match(r"numapin: (aligned|misaligned|unknown): ", lines[0])


def test_json_lines_are_objects_with_level_event_and_time():
    """One a line; the steps with their fields."""
    records = [json.loads(line) for line in run("--log-format", "json", "--", "true").stderr.splitlines()]
    assert all(record["level"] in ("info", "warning", "error") for record in records)
    assert all(record["logger"] == "numapin" for record in records)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", record["timestamp"]) for record in records)
    assert records[0]["verdict"] in ("aligned", "misaligned", "unknown")
    steps = [record for record in records if "kind" in record]
    assert [step["kind"] for step in steps] == ["affinity", "mempolicy", "exec"]
    assert all(step["event"] and step["outcome"] and step["mode"] for step in steps)


def test_both_forms_say_the_same():
    """Line for line, but for hints, which are a field in JSON."""
    plain = [line.removeprefix("numapin: ") for line in run("--", "true").stderr.decode().splitlines()]
    events = [json.loads(line)["event"] for line in run("--log-format", "json", "--", "true").stderr.splitlines()]
    assert events == [line for line in plain if not line.startswith("  hint: ")]


@pytest.mark.parametrize("words", [("run", "--", "/no/such/server"), ("run", "--cpus", "60000", "--", "true")])
def test_a_failure_under_the_json_log_is_json_too(words):
    """Whoever parses the log must not meet a line that is none."""
    command, *rest = words
    done = numapin(command, "--log-format", "json", *rest)
    assert done.returncode in (2, 127)
    records = [json.loads(line) for line in done.stderr.splitlines()]
    assert records[-1]["level"] == "error"


def test_a_log_line_is_one_line():
    """Whatever the command holds: a line feed in an argument would forge a line of the log."""
    lines = run("--", "true", "a\nnumapin: misaligned: forged\nb").stderr.decode().splitlines()
    assert "numapin: misaligned: forged" not in lines


@pytest.fixture
def log(tmp_path):
    """The file that the kubelet made, with what an earlier start left in it."""
    file = tmp_path / "termination-log"
    file.write_text("x" * 5000)
    return file


def leaves(log, *words, **options):
    """What numapin left in the file, given as an option, and which file it then is."""
    before = log.stat()
    command, *rest = words
    done = numapin(command, "--termination-log", str(log), *rest, **options)
    assert (log.stat().st_ino, log.stat().st_mode) == (before.st_ino, before.st_mode)
    return done, log.read_text()


REFUSED = {
    "misaligned": (("check", "--expect-gpus", "7"), 69),
    "usage": (("check", "--cpus", "60000"), 2),
    "not found": (("run", "--", "/no/such/server"), 127),
    "not executable": (("run", "--", "/"), 126),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_cause_is_left_in_place(log, what):
    """The sentence of stderr or stdout and its hint, nothing of the old; the file is a bind mount, and stays."""
    words, expected = REFUSED[what]
    done, cause = leaves(log, *words)
    assert done.returncode == expected
    sentence = (done.stderr or done.stdout).decode().splitlines()[0].removeprefix("numapin: ")
    assert cause.startswith(sentence)
    assert "x" * 20 not in cause
    assert "\n" not in cause


@pytest.mark.parametrize("what", ["misaligned", "not found"])
def test_the_cause_is_left_where_the_variable_says(log, what):
    """As where the option says."""
    words, expected = REFUSED[what]
    done = numapin(*words, env=environment(NUMAPIN_TERMINATION_LOG=str(log)))
    assert done.returncode == expected
    assert "x" * 20 not in log.read_text()


def test_a_good_start_leaves_the_file_alone(log):
    """It belongs to the server from then on."""
    done, cause = leaves(log, "run", *PORTABLE, "--", "true")
    assert (done.returncode, cause) == (0, "x" * 5000)


def test_a_cause_is_at_most_4096_bytes_and_whole_characters(log):
    """The kubelet reads no more, and shows what it reads as text."""
    for name in ("/" + "é" * 5000, "/x" + "é" * 5000):
        done = numapin("run", "--", name, env=environment(NUMAPIN_TERMINATION_LOG=str(log)))
        assert done.returncode in (126, 127)
        content = log.read_bytes()
        assert len(content) <= 4096
        assert content.decode().startswith("cannot execute /")


def test_a_cause_that_is_no_text_is_left_escaped(log):
    """A name from the command line may be any bytes."""
    variables = environment(NUMAPIN_TERMINATION_LOG=str(log), LC_ALL="C.UTF-8")
    done = numapin("run", "--", b"/nowhere/caf\xe9", env=variables)
    assert done.returncode == 127
    assert b"Traceback" not in done.stderr
    assert log.read_text().startswith("cannot execute /nowhere/caf")


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    """Outside Kubernetes nobody asked for it."""
    done = numapin("check", "--termination-log", str(tmp_path / "none"), "--expect-gpus", "7")
    assert done.returncode == 69
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["link", "directory", "fifo", "read-only"])
def test_what_is_no_plain_file_is_left_alone(tmp_path, kind):
    """A link could lead anywhere; a FIFO without a reader would block."""
    place, other = tmp_path / "log", tmp_path / "other"
    other.write_text("precious")
    makers = {"link": lambda: place.symlink_to(other), "directory": place.mkdir, "fifo": lambda: os.mkfifo(place)}
    makers.get(kind, lambda: (place.touch(), place.chmod(0o400)))()
    done = numapin("check", "--termination-log", str(place), "--expect-gpus", "7")
    assert done.returncode == 69
    assert other.read_text() == "precious"
    assert b"Traceback" not in done.stderr


def test_a_captured_machine_leaves_no_cause(tmp_path, log, capfd):
    """It is not this container that failed."""
    assert status("check", "--root", machine(tmp_path, MISALIGNED), "--termination-log", str(log)) == 78
    assert capfd.readouterr().out.startswith("misaligned: ")
    assert log.read_text() == "x" * 5000
