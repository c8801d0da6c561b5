"""Real exec: the server starts as if numapin had not been there, but for one variable."""

import os
import re
import subprocess

import pytest

from tests.change.launch import MODULE, RUN, SCRIPT, Seen, Variables, numapin, parse, start

CALLED = {"python -m numapin": MODULE, "the console script": SCRIPT}
VALUE = rb"v1 policy=best-effort nodes=[0-9,-]+ cpus=[0-9,-]+ mems=[0-9,-]+"


@pytest.fixture(params=list(CALLED))
def via(request):
    """numapin as a module, and as the installed command."""
    return CALLED[request.param]


def with_and_without(probe: str, *words: str | bytes, via=MODULE, **options) -> tuple[Seen, Seen]:
    """What the probe saw behind numapin, and what it saw started alone with the same options."""
    behind = numapin(*RUN, probe, *words, via=via, **options)
    assert behind.returncode == 0, behind.stderr
    return parse(behind.stdout), parse(start([probe, *words], **options).stdout)


def test_the_server_is_the_process_that_numapin_was(probe, via):
    """No fork in between: the same PID, the same parent, one thread."""
    with subprocess.Popen([*via, *RUN, probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        seen = parse(process.communicate(timeout=30)[0])
    assert (seen.pid, seen.parent, seen.status["Threads"]) == (process.pid, os.getpid(), "1")


@pytest.mark.parametrize(
    "words",
    [
        [],
        [""],
        ["", "a b", "", "tab\there", "line\nfeed"],
        ["--policy", "none", "-h", "--help", "--", "-"],
        ["--", "--"],
        ["$HOME", "*", "'", '"', "\\", "%s", "~"],
        [b"\xff\xfe", b"caf\xe9", "café".encode(), b"\xed\xb2\x80"],
        ["x" * 100_000],
    ],
    ids=["none", "empty", "blank", "options", "dashes", "shell", "bytes", "long"],
)
def test_arguments_arrive_byte_for_byte(probe, via, words):
    """Nothing is split, joined, decoded, or taken for an option of numapin's own."""
    behind, alone = with_and_without(probe, *words, via=via)
    assert behind.arguments == alone.arguments == [os.fsencode(word) for word in (probe, *words)]


def test_a_thousand_arguments_arrive_in_their_order(probe):
    """The order and the number are kept."""
    words = [str(number) for number in range(1000)]
    behind, _ = with_and_without(probe, *words)
    assert behind.arguments[1:] == [word.encode() for word in words]


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "C.UTF-8"}, {"LC_CTYPE": "C"}, {}])
def test_the_environment_is_the_same_but_for_the_marker(probe, via, locale):
    """In a C locale Python would have added LC_CTYPE (PEP 538)."""
    variables = {"PATH": os.environ["PATH"], "HOME": "/root", "EMPTY": "", "BLANK": " a b "} | locale
    behind, alone = with_and_without(probe, via=via, env=variables)
    assert behind.without_marker == alone.variables == [f"{name}={text}".encode() for name, text in variables.items()]
    assert [re.fullmatch(VALUE, marker) for marker in behind.marker] != [None]
    assert len(behind.marker) == 1


def test_variables_that_speak_to_python_pass_on(probe, via):
    """They are the server's, whatever numapin's own Python makes of them."""
    spoken = {
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "7",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "PYTHONIOENCODING": "latin-1",
        "PYTHONPATH": "/nowhere/at/all",
        "PYTHONWARNINGS": "ignore",
        "PYTHONNOUSERSITE": "",
        "NUMAPIN_POLICY": "best-effort",
    }
    behind, alone = with_and_without(probe, via=via, env={"PATH": os.environ["PATH"]} | spoken)
    assert behind.without_marker == alone.variables
    assert {f"{name}={value}".encode() for name, value in spoken.items()} <= set(behind.variables)


def test_values_that_are_no_utf8_pass_on(probe, via):
    """The kernel's environment is bytes."""
    variables = {
        b"PATH": os.fsencode(os.environ["PATH"]),
        b"RAW": b"\xff\x80\n=",
        b"N\xc3\xa4me": b"x",
        b"CAF\xe9": b"1",
    }
    behind, alone = with_and_without(probe, via=via, env=variables)
    assert behind.without_marker == alone.variables == [name + b"=" + value for name, value in variables.items()]


def test_a_variable_that_is_there_twice_stays_there_twice(probe):
    """Which one counts is for the server to say: getenv(3) takes the first, some shells the last."""
    twice = Variables([(b"TWICE", b"first"), (b"PATH", os.fsencode(os.environ["PATH"])), (b"TWICE", b"second")])
    behind, alone = with_and_without(probe, env=twice)
    assert behind.without_marker == alone.variables
    assert [variable for variable in alone.variables if variable.startswith(b"TWICE")] == [
        b"TWICE=first",
        b"TWICE=second",
    ]


def test_without_any_variable_there_is_only_the_marker(probe):
    """An empty environment stays as empty as it can."""
    behind, alone = with_and_without(probe, env={})
    assert (alone.variables, behind.without_marker, len(behind.marker)) == ([], [], 1)


def test_working_directory_and_umask_stay(probe, tmp_path, via):
    """Also where the directory's name is no text."""
    odd = os.path.join(os.fsencode(tmp_path), b"caf\xe9 dir")
    os.mkdir(odd)
    for umask in (0o027, 0o777, 0):
        behind, alone = with_and_without(probe, via=via, cwd=odd, umask=umask)
        assert (behind.directory, behind.umask) == (alone.directory, alone.umask) == (odd, f"{umask:o}")


def test_a_working_directory_that_is_gone_hinders_nobody(probe, tmp_path):
    """getcwd(2) fails there; the server starts all the same."""
    gone = tmp_path / "gone"
    gone.mkdir()
    done = numapin(*RUN, probe, via=SCRIPT, cwd=gone, preexec_fn=lambda: os.rmdir(gone))
    assert done.returncode == 0, done.stderr
    assert parse(done.stdout).directory == b""


def test_open_files_are_those_that_were_open(probe, tmp_path, via):
    """Inherited descriptors stay, with their flags and at their place; none is added."""
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    high = os.dup2(os.open("/dev/zero", os.O_RDONLY), 200, inheritable=True)
    reading, writing = os.pipe()
    try:
        behind, alone = with_and_without(probe, via=via, pass_fds=(file, high, reading, writing))
    finally:
        for descriptor in (file, high, reading, writing):
            os.close(descriptor)
    assert behind.files == alone.files
    assert set(behind.files) == {0, 1, 2, file, high, reading, writing}
    assert behind.files[high].endswith(" 0 /dev/zero")


@pytest.mark.parametrize("log", ["text", "json"])
@pytest.mark.parametrize("scope", ["container", "pod"])
def test_nothing_that_numapin_opened_stays_open(probe, tmp_path, log, scope):
    """Whatever libraries were loaded on the way."""
    judged = ("--policy", "best-effort", "--unknown", "warn", "--scope", scope)
    options = (*judged, "--memory", "try", "--log-format", log, "--format", "json")
    done = numapin("run", *options, "--", "sh", "-c", f"exec {probe} >{tmp_path}/seen", via=SCRIPT)
    assert done.returncode == 0, done.stderr
    assert set(parse((tmp_path / "seen").read_bytes()).files) == {0, 1, 2}


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_standard_files_that_are_closed_stay_closed(probe, tmp_path, closed):
    """A server may be started so; numapin says nothing there, and opens nothing in their place."""
    shut = " ".join(f"{number}>&-" for number in closed)
    files = []
    for name, front in (("behind", (*SCRIPT, *RUN)), ("alone", ())):
        to = tmp_path / name
        script = f'exec "$0" "$@" 9>"{to}" {shut}'
        done = start(["sh", "-c", script, *front, "sh", "-c", f"exec {probe} >&9"])
        assert done.returncode == 0, done
        files.append({number: text.replace(name, "") for number, text in parse(to.read_bytes()).files.items()})
    assert files[0] == files[1]
    assert set(files[1]) == {0, 1, 2, 9} - set(closed) | {1}
