"""The report on stdout: text for a person, one JSON object for a program, and what a terminal gets more."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from tests.change.launch import MODULE, SCRIPT, environment, numapin, start
from tests.speak.inside import ALIGNED, MISALIGNED, TWO_NODES, UNKNOWN, machine, status

ESCAPE = "\x1b["
BOXES = set("│├└─┌┐┘")


def on_a_terminal(*words: str, **variables: str) -> str:
    """What `numapin WORDS` shows on a terminal of its own."""
    controller, terminal = pty.openpty()
    env = {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | environment() | variables
    env.pop("NO_COLOR", None) if "NO_COLOR" not in variables else None
    command = [sys.executable, "-m", "numapin", *words]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(terminal)
        shown = b""
        try:
            while chunk := os.read(controller, 1 << 16):
                shown += chunk
        except OSError:
            # EIO: the other end is closed, and all of it read.
            pass
        finally:
            os.close(controller)
        assert process.wait(timeout=30) in (0, 78)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("word", ["aligned", "misaligned"])
def test_a_terminal_gets_the_verdicts_word_in_colour(tmp_path, word):
    """And nothing else in colour."""
    root = machine(tmp_path, ALIGNED if word == "aligned" else MISALIGNED)
    shown = on_a_terminal("check", "--root", root)
    assert re.match(rf"\x1b\[3[12]m{word}\x1b\[0m: ", shown)
    assert shown.count(ESCAPE) == 2
    plain = start([*MODULE, "check", "--root", root]).stdout.decode()
    assert re.sub(r"\x1b\[\d+m", "", shown) == plain


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_wants_no_colour_gets_none(tmp_path, variables):
    """https://no-color.org."""
    assert ESCAPE not in on_a_terminal("check", "--root", machine(tmp_path, ALIGNED), **variables)


def test_a_terminal_gets_the_picture_drawn(tmp_path):
    """In its characters, where it has them."""
    root = machine(tmp_path, ALIGNED)
    drawn = on_a_terminal("show", "--root", root)
    plain = start([*MODULE, "show", "--root", root]).stdout.decode()
    assert BOXES & set(drawn)
    assert drawn.replace("├─", "|-").replace("└─", "`-") == plain
    assert not BOXES & set(on_a_terminal("show", "--root", root, LC_ALL="en_US.ISO-8859-1", PYTHONUTF8="0"))


@pytest.mark.parametrize("command", ["check", "plan", "show"])
def test_a_pipe_gets_plain_text(tmp_path, command):
    """No colour, no boxes, whatever TERM says; ASCII but for what foreign names hold."""
    env = environment(TERM="xterm-256color", COLORTERM="truecolor", FORCE_COLOR="1", CLICOLOR_FORCE="1")
    told = start([*MODULE, command, "--root", machine(tmp_path, MISALIGNED)], env=env).stdout.decode()
    assert told.isascii()
    assert ESCAPE not in told


def test_the_verdict_comes_first_then_its_hint_then_the_plan(tmp_path, capfd):
    """The reason that the first line tells is not told twice."""
    assert status("plan", "--root", machine(tmp_path, MISALIGNED), "--", "server", "a b") == 78
    first, hint, *rest = capfd.readouterr().out.splitlines()
    assert first == "misaligned: mlx5_0 (0000:9b:00.0) is on node 1, CPUs 0-3 are on node 0"
    assert hint.startswith("  hint: ")
    assert [line for line in rest if line.startswith("plan:")] == ["plan:"]
    assert rest[-1] == "  execve server 'a b'"


def test_interrupts_come_last_before_exec(tmp_path, capfd):
    """What outlives the process comes after all that dies with it."""
    words = ("--rt-main", "1", "--format", "json", "--", "server")
    assert status("plan", "--root", machine(tmp_path, ALIGNED), *words) == 0
    steps = json.loads(capfd.readouterr().out)["steps"]
    assert [step["kind"] for step in steps] == ["affinity", "mempolicy", "scheduler", "irq", "irq", "exec"]
    assert [step["outcome"] for step in steps] == ["planned"] * 6


@pytest.mark.parametrize("text", [ALIGNED, MISALIGNED, UNKNOWN, TWO_NODES], ids=["aligned", "mis", "unknown", "bare"])
def test_text_and_json_tell_the_same(tmp_path, capfd, text):
    """One verdict, two forms."""
    root = machine(tmp_path, text)
    code = status("plan", "--root", root)
    lines = capfd.readouterr().out.splitlines()
    assert status("plan", "--root", root, "--format", "json") == code
    told = json.loads(capfd.readouterr().out)
    assert lines[0].startswith(f"{told['verdict']}: ")
    hints = [f"  hint: {reason['hint']}" for reason in told["reasons"] if reason["hint"]]
    assert [line for line in lines if line.startswith("  hint: ")] == list(dict.fromkeys(hints))
    shown = [line.strip().partition(" (skipped")[0] for line in lines[lines.index(plan_line(lines)) + 1 :]]
    assert shown == [step["line"] for step in told["steps"]]


def plan_line(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("plan:"))


@pytest.mark.parametrize("words", [("check",), ("plan",), ("plan", "--", "true"), ("show",)], ids=" ".join)
def test_json_is_one_object_on_stdout_and_nothing_beside_it(words):
    """Of this machine; stderr is silent, so that 2>&1 does no harm."""
    command, *rest = words
    done = numapin(command, "--format", "json", *rest, stderr=subprocess.STDOUT)
    assert json.loads(done.stdout)["schema"] in ("numapin.report/v1", "numapin.topology/v1")


def test_run_prints_its_report_before_it_becomes_the_server():
    """With the outcome of each step: exec is still planned then."""
    words = (
        "run",
        "--policy",
        "best-effort",
        "--memory",
        "try",
        "--irq",
        "off",
        "--format",
        "json",
        "--",
        "echo",
        "done",
    )
    report, position = json.JSONDecoder().raw_decode(output := numapin(*words).stdout.decode())
    assert output[position:] == "\ndone\n"
    outcomes = {step["kind"]: step["outcome"] for step in report["steps"]}
    assert outcomes["affinity"] in ("done", "already")
    assert outcomes["exec"] == "planned"


STRICT = {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8:strict"}
"""As in en_US.UTF-8 and other locales of a language, which may not be installed where tests run."""


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, STRICT], ids=["C", "C.UTF-8", "strict"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_command_that_is_no_text_is_shown_all_the_same(form, locale):
    """Its bytes arrive; in the report they are escaped or replaced, and nothing fails."""
    env = environment(**locale)
    words = ("run", "--policy", "best-effort", "--memory", "try", "--irq", "off", "--format", form, "--")
    done = numapin(*words, "printf", "%s", b"caf\xe9", env=env, via=SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"caf\xe9")
    dry = numapin("plan", "--policy", "best-effort", "--format", form, "--", "printf", b"caf\xe9", env=env, via=SCRIPT)
    assert dry.returncode == 0, dry.stderr
    assert b"printf" in dry.stdout


@pytest.mark.parametrize("words", [("check",), ("plan",), ("show",), ("check", "--format", "json"), ("--help",)])
@pytest.mark.parametrize("way", ["| head -c0", ">&-", ">/dev/full", "2>&- >&-"])
def test_a_reader_that_went_away_gets_no_traceback(words, way):
    """The pipe closed, no stdout at all, a full disk: a status, and at most a sentence."""
    done = start(["sh", "-c", f'"$@" {way}', "sh", *MODULE, *words])
    assert b"Traceback" not in done.stderr
    assert b"bug in numapin" not in done.stderr
    assert b"Exception ignored" not in done.stderr
