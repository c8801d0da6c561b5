"""numapin's own command line before the server's, its variables, and a second numapin behind the first."""

import os
import re
import subprocess

import pytest

from tests.change.launch import MODULE, RUN, SCRIPT, environment, numapin, parse

PORTABLE = {"NUMAPIN_POLICY": "best-effort", "NUMAPIN_MEMORY": "try", "NUMAPIN_IRQ": "off"}
"""What `RUN` says, as variables."""


def steps(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """The lines of numapin that tell a step."""
    words = ("sched_setaffinity", "set_mempolicy", "sched_setattr", "write /proc", "execve")
    lines = (line.removeprefix("numapin: ") for line in done.stderr.decode().splitlines())
    return [line for line in lines if line.startswith(words)]


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["printf", "%s|", "--help"], "--help|"),
        (["--", "printf", "%s|", "--help", "-h"], "--help|-h|"),
        (["--", "printf", "%s|", "--", "x"], "--|x|"),
        (["printf", "%s|", "--", "x"], "--|x|"),
        (["--policy", "best-effort", "printf", "%s|", "--policy", "none"], "--policy|none|"),
        (["--cpu=require", "--", "printf", "%s|", "a", "--", "b"], "a|--|b|"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_options_end_where_the_command_begins(words, seen):
    """Everything after the first word that is no option is the server's, dashes too."""
    done = numapin("run", *words, env=environment(**PORTABLE))
    assert (done.returncode, done.stdout.decode()) == (0, seen), done.stderr


def test_a_command_that_begins_with_a_dash_needs_the_two_dashes(tmp_path):
    """And gets it with them."""
    command = tmp_path / "--policy"
    command.write_text("#!/bin/sh\necho odd\n")
    command.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert numapin(*RUN, "--policy", via=SCRIPT, env=environment(PATH=path)).stdout == b"odd\n"


@pytest.mark.parametrize("words", [["run"], ["run", "--"], ["run", "--policy", "none"]], ids=" ".join)
def test_run_without_a_command_is_a_usage_error(words):
    """There is nothing to become; the hint says what does without."""
    done = numapin(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"COMMAND" in done.stderr.splitlines()[0]
    assert b"hint: numapin check" in done.stderr


def test_run_with_a_captured_machine_is_a_usage_error(tmp_path):
    """Nothing is bound to a machine that is not this one."""
    (tmp_path / "proc").mkdir()
    done = numapin("run", "--root", str(tmp_path), "--", "echo", "started")
    assert (done.returncode, done.stdout) == (2, b"")
    assert str(tmp_path) in done.stderr.decode().splitlines()[0]


def test_variables_stand_for_options():
    """NUMAPIN_POLICY=none is --policy none: nothing is bound, and the server's status comes back."""
    done = numapin("run", "--", "sh", "-c", "exit 5", env=environment(NUMAPIN_POLICY="none"))
    assert done.returncode == 5
    (only,) = steps(done)
    assert re.fullmatch(r"execve /\S*/sh -c 'exit 5'", only)


def test_an_option_goes_before_its_variable():
    """The command line is nearer than the pod spec."""
    done = numapin("run", "--cpu", "off", "--", "true", env=environment(**PORTABLE, NUMAPIN_CPU="require"))
    assert steps(done)[0].endswith("(skipped: --cpu off)")


def test_a_variable_that_is_wrong_is_a_usage_error_that_names_it():
    """The reader of a pod's log must find it in the pod's spec."""
    done = numapin("run", "--", "echo", "started", env=environment(NUMAPIN_POLICY="single"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"single" in done.stderr.splitlines()[0]
    assert b"--policy" in done.stderr or b"NUMAPIN_POLICY" in done.stderr


def test_the_marker_says_where_the_process_is_bound(probe):
    """What a later numapin, or `verify`, finds; the CPUs are those that the process has."""
    done = numapin(*RUN, probe)
    (marker,) = parse(done.stdout).marker
    version, *pairs = marker.decode().split()
    told = dict(pair.split("=", 1) for pair in pairs)
    allowed = numapin(*RUN, "grep", "Cpus_allowed_list", "/proc/self/status").stdout.decode().split()[1]
    assert (version, told["policy"], told["cpus"]) == ("v1", "best-effort", allowed)


def test_a_second_numapin_finds_everything_done(probe):
    """It says so, and changes nothing; it is one process still, with one marker."""
    command = [*MODULE, *RUN, *SCRIPT, *RUN, probe]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output, said = process.communicate(timeout=30)
    seen = parse(output)
    done = subprocess.CompletedProcess(command, process.returncode, output, said)
    _, first_exec = (line for line in steps(done) if line.startswith("execve"))
    second = steps(done)[-3:]
    assert (seen.pid, len(seen.marker), first_exec) == (process.pid, 1, f"execve {probe}")
    assert second[0].endswith(" (already)")
    assert second[1].endswith((" (already)", " (refused)"))
    assert b"an earlier numapin was here: v1 policy=best-effort" in said


def test_a_second_numapin_with_another_policy_replaces_the_first_ones(probe):
    """The marker then tells the later of the two; other variables stay as they were."""
    done = numapin(*RUN, *SCRIPT, "run", "--policy", "none", "--", probe, env=environment(BEFORE="1", AFTER="2"))
    seen = parse(done.stdout)
    assert [marker.split()[1] for marker in seen.marker] == [b"policy=none"]
    assert {b"BEFORE=1", b"AFTER=2"} <= set(seen.variables)


def test_a_foreign_marker_hinders_nobody(probe):
    """Somebody may have set the variable by hand, to anything."""
    done = numapin(*RUN, probe, env=environment(NUMAPIN_APPLIED="nonsense \x1b[31m"))
    (marker,) = parse(done.stdout).marker
    assert marker.startswith(b"v1 policy=best-effort ")
