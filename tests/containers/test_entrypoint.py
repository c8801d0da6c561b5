"""`entrypoint` as a drop-in for the one of vLLM images: what it starts, for every way in which pods write it."""

import json
from pathlib import Path

import pytest

from tests.containers.process import SNAPSHOT, parse
from tests.containers.runtime import run

COMMAND = ("/usr/bin/printf", r"%s\n", "-m", "two words", "", "*")


@pytest.fixture
def vllm(tmp_path: Path) -> tuple[str, ...]:
    """Options that put a program named vllm on the container's PATH; it prints its arguments, one a line."""
    program = tmp_path / "vllm"
    program.write_text('#!/bin/sh\nprintf "<%s>\\n" vllm "$@"\n')
    program.chmod(0o755)
    return "--volume", f"{program}:/usr/local/bin/vllm:ro"


@pytest.mark.parametrize("arguments", [(), ("--model", "m"), ("--chat-template", "{{ a  b }} *", "")])
def test_arguments_alone_are_for_vllm_serve(image, vllm, arguments):
    """As in the image that the Dockerfile starts from; words arrive as they were written."""
    done = run(image, *arguments, options=vllm)

    assert done.status == 0
    assert done.out.splitlines() == [f"<{word}>" for word in ("vllm", "serve", *arguments)]


def test_a_command_is_the_server(image):
    """Anything that does not begin with a dash names the program itself."""
    done = run(image, *COMMAND)

    assert done.status == 0
    assert done.out == "-m\ntwo words\n\n*\n"


def test_the_default_command_can_be_another(image):
    """NUMAPIN_DEFAULT_COMMAND is split at blanks, and nothing else in it is special."""
    default = "NUMAPIN_DEFAULT_COMMAND=/usr/bin/printf %s|  * serve"
    done = run(image, "--port", "8000", options=("--env", default))

    assert done.status == 0
    assert done.out == "*|serve|--port|8000|"


def test_disabled_it_starts_the_server_untouched(image, base, cpu):
    """NUMAPIN_DISABLE=1: no marker, no policy, no line; the environment is to the byte the one without numapin."""
    options = (*cpu.only, "--hostname", "box", "--env", "NUMAPIN_DISABLE=1")
    disabled, without = run(image, *SNAPSHOT, options=options), run(base, *SNAPSHOT, options=options)

    assert disabled.out.startswith("==> /proc/self/status")
    assert disabled.err == ""
    assert parse(disabled.out).environment == parse(without.out).environment
    assert parse(disabled.out).lasting == parse(without.out).lasting
    assert parse(disabled.out).policies == {"default"}


def test_disabled_it_needs_no_python(image):
    """The way out works where numapin itself does not."""
    options = ("--env", "NUMAPIN_DISABLE=1", "--env", "NUMAPIN_PYTHON=/nowhere/python3")
    assert run(image, "/bin/echo", "up", options=options).out == "up\n"


def test_without_python_one_sentence_says_so(image):
    """127, as for any program that is not there."""
    done = run(image, "/bin/echo", "up", options=("--env", "NUMAPIN_PYTHON=/nowhere/python3"))

    assert done.status == 127
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert "/nowhere/python3" in done.err


@pytest.mark.parametrize(("command", "status"), [("/nowhere/server", 127), ("/etc/passwd", 126)])
def test_a_server_that_cannot_start_has_a_shells_status(image, command, status):
    """Not found and not executable, told before anything is touched."""
    done = run(image, command)

    assert done.status == status
    assert command in done.err
    assert "Traceback" not in done.err


def test_the_command_line_itself_is_there(image, cpu):
    """/opt/numapin/bin/numapin, for init containers and `podman exec`: stdout is the report and nothing else."""
    done = run(image, "check", "--format", "json", options=(*cpu.only, "--entrypoint", "/opt/numapin/bin/numapin"))
    report = json.loads(done.out)

    assert done.status == 0
    assert report["schema"] == "numapin.report/v1"
    assert (report["verdict"], report["nodes"], report["cpus"]) == ("aligned", [cpu.node], str(cpu.number))


def test_variables_for_the_servers_python_do_not_reach_numapin(image, cpu):
    """A PYTHONPATH that would break numapin breaks nothing, and passes on."""
    breaking = ("--env", "PYTHONHOME=/nowhere", "--env", "PYTHONPATH=/nowhere", "--env", "PYTHONSAFEPATH=1")
    done = run(image, *SNAPSHOT, options=(*cpu.only, *breaking))

    assert done.status == 0
    assert parse(done.out).environment["PYTHONHOME"] == "/nowhere"
