"""Roots that are no machine, or more than one can read: directories, archives, and what only looks like one."""

import contextlib
import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sources.hostile import hold, machine
from tests.sources.trees import write_files

NOT_A_MACHINE = ("is not a machine", "is neither a directory nor a readable tar archive", "there is no such file")


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return machine(tmp_path_factory.mktemp("machine"))


def nothing(path: Path) -> None:
    """Make nothing at all."""


def zeros(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


ROOTS: dict[str, Callable[[Path], object]] = {
    "absent": nothing,
    "an empty directory": Path.mkdir,
    "an empty file": Path.touch,
    "a text file": lambda path: path.write_text("node 0 cpus=0-7\n"),
    "a directory with another's files": lambda path: write_files(path, {"/etc/passwd": "root"}),
    "a pipe": os.mkfifo,
    "an endless file": lambda path: path.symlink_to("/dev/zero"),
    "a gibibyte of zeros": zeros,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a compressed text": lambda path: path.write_bytes(gzip.compress(b"hello")),
    "a directory with a name that only begins like sys": lambda path: write_files(path, {"/sysx/y": ""}),
    "only a link to this machine": lambda path: write_files(path, {}, {"/host": "/"}),
}


@pytest.mark.parametrize("make", ROOTS.values(), ids=ROOTS)
def test_a_root_that_is_no_machine_is_a_usage_error(tmp_path: Path, make) -> None:
    make(tmp_path / "root")
    for outcome in hold(tmp_path / "root"):
        assert outcome.exit == 2
        assert outcome.err.startswith(f"numapin: --root {tmp_path}/root")
        assert any(words in outcome.err for words in NOT_A_MACHINE)


EMPTY: dict[str, Callable[[Path], object]] = {
    "sys is an empty directory": lambda path: (path / "sys").mkdir(),
    "sys is a file": lambda path: (path / "sys").touch(),
    "sys is a pipe": lambda path: os.mkfifo(path / "sys"),
    "sys is a link to this machine's": lambda path: (path / "sys").symlink_to("/sys"),
    "proc is a link up and out": lambda path: (path / "proc").symlink_to("../../../../../proc"),
    "sys is a link to itself": lambda path: (path / "sys").symlink_to("sys"),
}


@pytest.mark.parametrize("make", EMPTY.values(), ids=EMPTY)
def test_a_machine_that_shows_nothing_cannot_be_judged(tmp_path: Path, make) -> None:
    """Not even where its links would show this machine."""
    make(tmp_path)
    check, show, plan = hold(tmp_path)
    assert (check.exit, show.exit, plan.exit) == (69, 0, 69)
    assert "shows no NUMA node" in check.out
    assert os.uname().release not in show.out


def test_a_directory_that_nobody_may_read(base: Path) -> None:
    """As another user: files and folders of mode 000 are unknown, and the root itself a usage error."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as open_to_all:
        os.chmod(open_to_all, 0o755)
        copy = Path(shutil.copytree(base, f"{open_to_all}/copy", symlinks=True))
        copy.chmod(0o755)
        for path in ("proc/self/status", "sys/fs/cgroup", "sys/class/net", "dev"):
            (copy / path).chmod(0)
        show = hold(copy, user=65534)[1]
        assert (show.exit, "GPU" in show.out, "node 0" in show.out) == (0, False, True)
        copy.chmod(0)
        for outcome in hold(copy, user=65534):
            assert (outcome.exit, "Permission denied" in outcome.err) == (2, True)


CROWDED = {
    "/dev/infiniband": "uverbs{}",
    "/dev/dri": "renderD{}",
    "/sys/class/net": "veth{}",
    "/sys/devices/system/cpu": "cpu{}",
    "/sys/devices/system/node": "node{}",
    "/sys/devices/pci0000:5e/0000:5e:00.1/msi_irqs": "{}",
    "/proc": "{}",
}


@pytest.mark.parametrize("place", CROWDED)
def test_a_directory_with_a_hundred_thousand_entries(base: Path, tmp_path: Path, place: str) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "copy", symlinks=True))
    directory = copy / place[1:]
    directory.mkdir(parents=True, exist_ok=True)
    for index in range(100_000):
        with contextlib.suppress(FileExistsError):
            os.mknod(directory / CROWDED[place].format(index))
    hold(copy)
    shutil.rmtree(copy)
