"""Exit statuses and what is said with them: one sentence, a hint, no traceback, whatever the command."""

import pytest

from numapin.cli import actions, session
from numapin.errors import Exit
from tests.speak.inside import ALIGNED, MISALIGNED, UNKNOWN, machine, status

JUDGING = ("check", "plan")
STATUSES = [(ALIGNED, 0, "aligned"), (MISALIGNED, 78, "misaligned"), (UNKNOWN, 69, "unknown")]


@pytest.mark.parametrize("command", JUDGING)
@pytest.mark.parametrize("verdict", STATUSES, ids=lambda verdict: verdict[-1])
def test_the_verdict_is_the_status(tmp_path, capfd, command, verdict):
    """And the first word of the first line."""
    text, expected, word = verdict
    assert status(command, "--root", machine(tmp_path, text)) == expected
    said = capfd.readouterr()
    assert said.out.startswith(f"{word}: ")
    assert said.err == ""


@pytest.mark.parametrize("command", JUDGING)
@pytest.mark.parametrize("policy", ["none", "best-effort"])
def test_a_policy_that_only_warns_passes(tmp_path, command, policy):
    """The kubelet admits a pod under them, and so does numapin."""
    assert status(command, "--root", machine(tmp_path, MISALIGNED), "--policy", policy) == 0


@pytest.mark.parametrize("text", [ALIGNED, MISALIGNED, UNKNOWN])
def test_show_judges_nothing(tmp_path, capfd, text):
    """0 on whatever machine."""
    assert status("show", "--root", machine(tmp_path, text)) == 0
    assert "mlx5_0" in capfd.readouterr().out


WRONG = {
    "no command": ([], "Usage"),
    "an unknown command": (["bind"], "bind"),
    "an unknown option": (["check", "--polcy", "none"], "--polcy"),
    "an option without its value": (["check", "--policy"], "--policy"),
    "a word that is none": (["check", "--policy", "strict"], "strict"),
    "a mode that is none": (["check", "--cpu", "maybe"], "maybe"),
    "a list that is none": (["check", "--cpus", "0-"], "0-"),
    "a list upside down": (["check", "--cpus", "3-1"], "3-1"),
    "an empty list": (["check", "--mems", ""], "--mems"),
    "a CPU that is not there": (["check", "--cpus", "60000"], "60000"),
    "a node that is not there": (["check", "--mems", "60000"], "60000"),
    "a number that is none": (["check", "--expect-gpus", "-1"], "--expect-gpus"),
    "a priority out of range": (["check", "--rt-main", "50"], "50"),
    "a priority of nothing": (["check", "--rt-main", "0"], "0"),
    "force without what is forced": (["check", "--rt-unsafe"], "--rt-main"),
    "a home without a node": (["check", "--home", "gpu0"], "gpu0"),
    "a home of a device that is not there": (["check", "--home", "gpu9=0"], "gpu9"),
    "a GPU that is not there": (["check", "--gpus", "GPU-nowhere"], "GPU-nowhere"),
    "an RDMA device that is not there": (["check", "--rdma", "mlx5_99"], "mlx5_99"),
    "an interface that is not there": (["check", "--nics", "eth99"], "eth99"),
    "a root that is not there": (["check", "--root", "/nowhere/at/all"], "/nowhere/at/all"),
    "a root that is no machine": (["check", "--root", "/usr/bin/env"], "/usr/bin/env"),
    "a command for check": (["check", "true"], "true"),
    "a captured machine to run on": (["run", "--root", "/usr", "--", "true"], "/usr"),
    "nothing to run": (["run"], "COMMAND"),
    "a text that is no text": (["check", "--gpus", "caf\udce9"], "caf"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_command_line_is_one_sentence(capfd, what):
    """Exit status 2, the wrong word in the sentence, a hint where there is one, nothing on stdout."""
    words, named = WRONG[what]
    assert status(*words) == Exit.USAGE
    said = capfd.readouterr()
    assert said.out == ""
    assert named in said.err
    if words:
        sentence, *hints = said.err.splitlines()
        assert sentence.startswith("numapin: ")
        assert len(hints) <= 1
        assert all(line.startswith("  hint: ") for line in hints)


@pytest.fixture
def broken(monkeypatch):
    """A reader with a bug."""

    def read(*_, **__):
        raise ZeroDivisionError("the reader is broken")

    monkeypatch.setattr(session, "read_machine", read)
    monkeypatch.setattr("numapin.sources.machine.read_machine", read)


@pytest.mark.parametrize(
    "words", [["check"], ["plan"], ["show"], ["run", "--", "true"], ["run", "--rt", "off", "true"]]
)
def test_a_bug_is_70_and_a_sentence(broken, capfd, monkeypatch, words):
    """It says that it is a bug, which, and how to go on without numapin."""
    monkeypatch.delenv("NUMAPIN_DEBUG", raising=False)
    assert status(*words) == Exit.BUG
    sentence, hint = capfd.readouterr().err.splitlines()
    assert sentence == "numapin: this is a bug in numapin: ZeroDivisionError: the reader is broken"
    assert "NUMAPIN_DISABLE=1" in hint


def test_a_bug_shows_its_traceback_on_request(broken, monkeypatch):
    """NUMAPIN_DEBUG is for whoever reports it."""
    monkeypatch.setenv("NUMAPIN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        status("check")


@pytest.mark.parametrize("words", [["check"], ["run", "--", "true"]])
def test_an_interrupt_from_the_keyboard_is_130(monkeypatch, capfd, words):
    """As a shell reports a death by SIGINT; no traceback."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "read_machine", interrupted)
    assert status(*words) == 130
    assert "Traceback" not in capfd.readouterr().err


def test_endless_recursion_and_lack_of_memory_are_a_sentence_too(monkeypatch, capfd):
    """Whatever hostile input comes to."""
    for error in (RecursionError("maximum depth"), MemoryError(), UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no")):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr(actions, "open_root", fail)
        assert status("check") == Exit.BUG
        assert capfd.readouterr().err.startswith(f"numapin: this is a bug in numapin: {type(error).__name__}")


def test_help_and_version_are_no_errors(capfd):
    """0, on stdout."""
    for words in (["--help"], ["-h"], ["--version"], ["check", "--help"], ["run", "-h"]):
        assert status(*words) == 0
        said = capfd.readouterr()
        assert said.out
        assert said.err == ""
