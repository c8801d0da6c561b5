"""Files of a root that hold what they cannot hold: the command says so in a sentence, in little time and memory."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sources.hostile import COMMANDS, Outcome, hold, machine, numapin_here
from tests.sources.trees import write_files

pytestmark = pytest.mark.usefixtures("little_memory")


def files_of(base: Path) -> list[str]:
    """Every file of the machine, as a path below its root."""
    found = (path for path in sorted(base.rglob("*")) if path.is_file() and not path.is_symlink())
    return [f"/{path.relative_to(base)}" for path in found]


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def files(base: Path) -> list[str]:
    return files_of(base)


def broken(outcomes: dict[str, Outcome]) -> dict[str, str]:
    """What did not hold, by what was done."""
    return {name: outcome.broken for name, outcome in outcomes.items() if outcome.broken}


CONTENTS = {
    "empty": b"",
    "only zeros": b"\0" * 4096,
    "binary": bytes(range(256)) * 8,
    "not UTF-8": b"\xff\xfe\xff\n",
    "negative": b"-1\n",
    "very negative": b"-9223372036854775808\n",
    "huge": b"18446744073709551616\n",
    "thousands of digits": b"9" * 5000,
    "a large id": b"99999999999\n",
    "a range beyond the kernel's": b"0-4294967295\n",
    "digits of another script": "٠-٣\n".encode(),
    "a list with holes": b"0,,3-,-1\n",
    "hexadecimal": b"0x\n",
    "zero within": b"mlx5\x000",
    "lines and colours": b"\x1b[31mred\x1b[0m\nsecond\rthird\n",
    "deep": b"[" * 100_000,
    "a path": b"../../../../etc/passwd",
    "status": b"Cpus_allowed_list:\t\nMems_allowed_list:\t\nUid:\t-1\t99999999999999999999\nCapEff:\tzz\n",
    "information": b"Device Minor: \t -1\nGPU UUID: \t \x1b[0m\nNode: \t 99999999999\n",
}


def test_the_machine_is_good_before_it_is_spoilt(base: Path) -> None:
    assert [outcome.exit for outcome in hold(base)] == [0, 0, 0]


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_every_file_at_once_holds_it(base: Path, files: list[str], tmp_path: Path, content: bytes) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "copy", symlinks=True))
    hold(write_files(copy, dict.fromkeys(files, content)))


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_each_file_alone_holds_it(base: Path, files: list[str], content: bytes) -> None:
    outcomes: dict[str, Outcome] = {}
    for path in files:
        good = (base / path[1:]).read_bytes()
        write_files(base, {path: content})
        outcomes |= {f"{command} {path}": numapin_here(command, base) for command in COMMANDS}
        write_files(base, {path: good})
    assert broken(outcomes) == {}


def one_gib(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


KINDS = {
    "a gibibyte of nothing": one_gib,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a directory": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a file of this machine": lambda path: path.symlink_to("/proc/self/status"),
    "a link up and out": lambda path: path.symlink_to("../" * 40 + "proc/self/status"),
    "a link to its own directory": lambda path: path.symlink_to("."),
    "a link to the root": lambda path: path.symlink_to("/"),
    "a link with a long target": lambda path: path.symlink_to("a/" * 2000),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_each_file_alone_is_something_else(base: Path, files: list[str], make) -> None:
    outcomes: dict[str, Outcome] = {}
    for path in (base / path[1:] for path in files):
        good = path.read_bytes()
        path.unlink()
        make(path)
        outcomes |= {f"{command} {path}": numapin_here(command, base) for command in COMMANDS}
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_bytes(good)
    assert broken(outcomes) == {}


@pytest.mark.parametrize("kind", ["file", "pipe", "self", "out", "gone"])
def test_each_directory_alone_is_none(base: Path, tmp_path: Path, kind: str) -> None:
    makers = {
        "file": Path.touch,
        "pipe": os.mkfifo,
        "self": lambda path: path.symlink_to(path.name),
        "out": lambda path: path.symlink_to("/"),
        "gone": lambda _: None,
    }
    outcomes: dict[str, Outcome] = {}
    directories = [path for path in sorted(base.rglob("*")) if path.is_dir() and not path.is_symlink()]
    for path in directories:
        aside = path.rename(tmp_path / "aside")
        makers[kind](path)
        outcomes |= {f"{command} {path}": numapin_here(command, base) for command in COMMANDS}
        path.unlink(missing_ok=True)
        aside.rename(path)
    assert broken(outcomes) == {}


RANGES = {
    "/sys/devices/system/cpu/online": "0-65535",
    "/sys/devices/system/node/online": "0-65535",
    "/sys/fs/cgroup/cpuset.cpus.effective": "0-65535",
    "/sys/devices/system/node/node0/cpulist": "0-65535",
}


@pytest.mark.parametrize(
    "names", [[name] for name in RANGES] + [list(RANGES)], ids=lambda names: f"{len(names)} {names[0]}"
)
def test_the_largest_range_that_is_believed_takes_seconds(base: Path, tmp_path: Path, names: list[str]) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "copy", symlinks=True))
    files = {name: RANGES[name] for name in names} | {"/proc/self/status": ""}
    hold(write_files(copy, files))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_bytes_in_a_random_file(base: Path, files: list[str], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(files))
    good = (base / path[1:]).read_bytes()
    content = data.draw(st.binary(max_size=200) | _spoilt(good))
    write_files(base, {path: content})
    try:
        assert broken({command: numapin_here(command, base) for command in COMMANDS}) == {}
    finally:
        write_files(base, {path: good})


def _spoilt(good: bytes) -> st.SearchStrategy[bytes]:
    """The good file with a few bytes put in somewhere, or cut off."""
    places = st.integers(0, len(good))
    return st.builds(lambda at, end, new: good[:at] + new + good[max(at, end) :], places, places, st.binary(max_size=8))
