"""Signals, exit statuses and output: between the server and whoever waits for it nothing stands."""

import os
import signal
import subprocess

import pytest

from tests.change.launch import MODULE, RUN, SCRIPT, numapin, parse, start

CHANGED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these from its start on, and nobody can tell afterwards what they were (see kernel.RESTORED)."""
OTHERS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, *CHANGED_BY_PYTHON})


def states(probe, prepare=None, via=MODULE):
    """The signal lines of /proc/self/status behind numapin, and alone."""
    options = {"preexec_fn": prepare} if prepare else {}
    behind = numapin(*RUN, probe, via=via, **options)
    assert behind.returncode == 0, behind.stderr
    return parse(behind.stdout).status, parse(start([probe], **options).stdout).status


def bits(mask: str) -> set[int]:
    """The signals of a mask of /proc/<pid>/status, in which bit 0 is signal 1."""
    return {number for number in range(1, 65) if int(mask, 16) >> (number - 1) & 1}


@pytest.mark.parametrize("via", [MODULE, SCRIPT], ids=["module", "script"])
def test_dispositions_and_mask_are_the_defaults_where_they_were(probe, via):
    """Of SIGPIPE and SIGXFSZ, which Python ignores, nothing is left; nor of its handler of SIGINT."""
    behind, alone = states(probe, via=via)
    assert behind == alone
    assert not bits(behind["SigIgn"]) & {*CHANGED_BY_PYTHON, signal.SIGINT}
    assert bits(behind["SigCgt"]) == bits(alone["SigCgt"])


@pytest.mark.parametrize(
    "number", OTHERS, ids=lambda number: signal.Signals(number).name if number < 32 else str(number)
)
def test_a_signal_that_was_ignored_stays_ignored(probe, number):
    """nohup(1) and shells that start a background job rely on it."""
    behind, alone = states(probe, lambda: signal.signal(number, signal.SIG_IGN))
    assert behind == alone
    assert number in bits(behind["SigIgn"])


def test_blocked_signals_stay_blocked(probe):
    """All that can be blocked, at once."""
    behind, alone = states(probe, lambda: signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals()))
    assert behind == alone
    assert bits(behind["SigBlk"]) == set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}


@pytest.mark.parametrize("log", ["text", "json"])
def test_signals_are_the_same_whatever_was_loaded(probe, log):
    """The JSON log loads asyncio, psutil its own."""
    words = (
        "run",
        "--policy",
        "best-effort",
        "--unknown",
        "warn",
        "--memory",
        "try",
        "--log-format",
        log,
        "--scope",
        "pod",
    )
    assert parse(numapin(*words, "--", probe).stdout).status == parse(start([probe]).stdout).status


def test_every_exit_status_is_the_servers():
    """Also where it is one of numapin's own; sixteen at a time."""
    for first in range(0, 256, 16):
        statuses = range(first, first + 16)
        commands = [[*SCRIPT, *RUN, "sh", "-c", f"exit {status}"] for status in statuses]
        started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in commands]
        assert [process.wait(timeout=60) for process in started] == list(statuses)


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1", "XFSZ"])
def test_death_by_a_signal_is_seen_as_such(name):
    """Who waits sees the signal, not an exit status made from it."""
    done = numapin(*RUN, "sh", "-c", f"ulimit -c 0; kill -{name} $$")
    assert done.returncode == -signal.Signals[f"SIG{name}"]


def test_a_signal_to_the_process_reaches_the_server():
    """SIGTERM as the kubelet sends it, to the PID that it started."""
    script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do read line; done"
    command = [*MODULE, *RUN, "sh", "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        process.stdin.close()
        assert process.stdout.read() == b"caught\n"
        assert process.wait(timeout=30) == 9


def test_standard_input_is_the_servers_from_its_first_byte():
    """Python would read ahead."""
    done = start([*MODULE, *RUN, "cat"], stdin=None, input=b"first\nsecond\n" * 50_000)
    assert (done.returncode, done.stdout) == (0, b"first\nsecond\n" * 50_000)


FORMS = [("text", "text", b"'echo the server'"), ("text", "json", b"}"), ("json", "text", b"}"), ("json", "json", b"}")]


@pytest.mark.parametrize(("form", "log", "end"), FORMS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_numapin_said_stands_before_what_the_server_says(form, log, end):
    """On one pipe for both, where Python buffers: nothing is lost at exec, and nothing comes late."""
    words = ("run", "--policy", "best-effort", "--memory", "try", "--format", form, "--log-format", log, "--")
    done = numapin(*words, "sh", "-c", "echo the server", via=SCRIPT, stderr=subprocess.STDOUT)
    said, line, after = done.stdout.rpartition(b"the server\n")
    assert (line, after) == (b"the server\n", b"")
    assert b"execve" in said
    assert said.rstrip().endswith(end)


@pytest.mark.parametrize("place", ["stdout", "stderr"])
def test_a_log_that_nobody_reads_does_not_keep_the_server_from_starting(place):
    """The reader of the pipe is gone: without numapin the server would have started."""
    reading, writing = os.pipe()
    os.close(reading)
    words = ("run", "--policy", "best-effort", "--memory", "try", "--format", "json", "--")
    try:
        done = numapin(*words, "sh", "-c", "exit 7", via=SCRIPT, **{place: writing})
    finally:
        os.close(writing)
    assert done.returncode == 7


@pytest.mark.parametrize("place", ["stdout", "stderr"])
def test_a_full_disk_under_the_log_does_not_keep_the_server_from_starting(place):
    """/dev/full answers ENOSPC to every write."""
    words = ("run", "--policy", "best-effort", "--memory", "try", "--format", "json", "--")
    with open("/dev/full", "wb") as full:
        assert numapin(*words, "sh", "-c", "exit 7", via=SCRIPT, **{place: full}).returncode == 7
