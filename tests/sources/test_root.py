"""Where readers read: links as chroot(2) would follow them, in a directory and in an archive alike."""

import os
import socket
import tarfile
from pathlib import Path

import pytest

from numapin.errors import CannotRead, UsageError
from numapin.sources.archive import open_archive
from numapin.sources.captured import DirectoryRoot
from numapin.sources.opening import open_root
from numapin.sources.root import MOST_BYTES, LiveRoot, Root
from tests.sources.trees import write_files

FILES = {
    "/sys/a/file": "here\n",
    "/sys/a/b/deep": "deep",
    "/sys/long": b"x" * (MOST_BYTES + 1),
    "/sys/full": b"x" * MOST_BYTES,
    "/sys/bytes": b"a\xff\0b\0\n",
    "/sys/empty": "",
}
LINKS = {
    "/sys/near": "a/file",
    "/sys/absolute": "/sys/a/file",
    "/sys/folder": "/sys/a",
    "/sys/up": "../../../../../../sys/a/file",
    "/sys/host": "/etc/hostname",
    "/sys/chain": "near",
    "/sys/circle": "circle",
    "/sys/ping": "pong",
    "/sys/pong": "ping",
    "/sys/nowhere": "absent",
    "/sys/self": ".",
}


@pytest.fixture(scope="module", params=["directory", "tar", "tar.gz", "tar.bz2", "tar.xz", "tar in a folder"])
def root(request, tmp_path_factory) -> Root:
    """The same tree in every form that --root takes."""
    tmp_path = tmp_path_factory.mktemp("root")
    base = write_files(tmp_path / "tree", FILES, LINKS)
    os.chmod(base / "sys/a/file", 0o444)
    if request.param == "directory":
        return open_root(str(base))
    compression = request.param.partition(" ")[0].partition(".")[2]
    path = tmp_path / "machine.tar"
    with tarfile.open(path, f"w:{compression}") as archive:
        archive.add(base, "machine" if "folder" in request.param else ".")
    return open_root(str(path))


TEXTS = {
    "/sys/a/file": "here",
    "sys//a/./file": "here",
    "/sys/near": "here",
    "/sys/absolute": "here",
    "/sys/folder/file": "here",
    "/sys/folder/../a/file": "here",
    "/sys/up": "here",
    "/sys/chain": "here",
    "/sys/self/self/self/near": "here",
    "/../../sys/near": "here",
    "/sys/empty": "",
    "/sys/bytes": "a\\xff\0b",
    "/sys/full": "x" * MOST_BYTES,
    "/sys/host": None,
    "/sys/circle": None,
    "/sys/ping": None,
    "/sys/nowhere": None,
    "/sys/a": None,
    "/sys/absent/file": None,
    "/sys/a/file/below": None,
    "/sys/" + "x" * 300: None,
    "/sys/zero\0/file": None,
}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: repr(path[:24]))
def test_a_file_is_read_where_its_links_lead(root: Root, path: str) -> None:
    assert root.read(path) == TEXTS[path]


def test_a_file_that_is_too_long_is_named(root: Root) -> None:
    with pytest.raises(CannotRead, match=r"^/sys/long is longer than 1 MiB"):
        root.read("/sys/long")


def test_names_are_sorted_and_those_of_no_directory_are_none(root: Root) -> None:
    assert root.names("/sys/a") == root.names("/sys/folder") == ["b", "file"]
    assert [root.names(path) for path in ("/sys/absent", "/sys/a/file", "/sys/circle", "/sys/\0")] == [[]] * 4
    assert root.names("/") == ["sys"]


RESOLVED = {
    "/sys/chain": "/sys/a/file",
    "/sys/folder/b": "/sys/a/b",
    "/sys/host": None,
    "/sys/ping": None,
    "/sys/nowhere": None,
    "/sys/\0": None,
    "/sys/a/file/below": None,
}


@pytest.mark.parametrize("path", RESOLVED)
def test_a_path_is_resolved_within_the_root(root: Root, path: str) -> None:
    assert root.resolve(path) == RESOLVED[path]


def test_the_mode_tells_whether_the_owner_may_write(root: Root) -> None:
    paths = ("/sys/near", "/sys/a/b/deep", "/sys/absent", "/sys/circle", "/sys/\0")
    assert [root.writable(path) for path in paths] == [False, True, None, None, None]


def test_a_captured_root_is_not_live(root: Root) -> None:
    assert root.is_live is False
    assert open_root("/").is_live is True
    assert open_root("//./").is_live is True


def test_files_that_never_end_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    os.mkfifo(tmp_path / "sys/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sys/socket"))
        assert [DirectoryRoot(str(tmp_path)).read(f"/sys/{name}") for name in ("pipe", "socket")] == [None, None]


def test_this_machine_is_read_as_it_is(tmp_path: Path) -> None:
    root = LiveRoot()
    (tmp_path / "loop").symlink_to("loop")
    assert root.read("/proc/self/comm") == Path("/proc/self/comm").read_text().strip()
    assert root.resolve("/proc/self") == f"/proc/{os.getpid()}"
    assert [root.read(path) for path in (str(tmp_path), str(tmp_path / "loop"), "/absent", "/a\0b")] == [None] * 4
    assert [root.resolve(path) for path in (str(tmp_path / "loop"), "/absent", "/a\0b")] == [None] * 3
    assert [root.names(path) for path in (str(tmp_path / "loop"), "/absent", "/a\0b")] == [[]] * 3
    assert [root.writable(path) for path in (str(tmp_path / "loop"), "/absent", "/a\0b")] == [None] * 3


@pytest.mark.parametrize("kind", ["empty", "other files", "two folders", "only folder is a link out"])
def test_a_directory_that_is_no_machine_is_refused(tmp_path: Path, kind: str) -> None:
    if kind == "other files":
        write_files(tmp_path, {"/etc/passwd": "root"})
    if kind == "two folders":
        write_files(tmp_path, {"/a/sys/x": "", "/b/sys/x": ""})
    if kind == "only folder is a link out":
        (tmp_path / "machine").symlink_to("/")
    with pytest.raises(UsageError, match=f"^--root {tmp_path} is not a machine: it holds neither sys/ nor proc/"):
        open_root(str(tmp_path))


def test_the_only_folder_of_a_directory_is_the_machine(tmp_path: Path) -> None:
    write_files(tmp_path, {"/host/proc/version": "Linux"})
    assert open_root(str(tmp_path)).read("/proc/version") == "Linux"


def test_a_hard_link_in_an_archive_is_the_file_again(tmp_path: Path) -> None:
    base = write_files(tmp_path / "tree", {"/sys/one": "1"})
    os.link(base / "sys/one", base / "sys/two")
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.add(base, ".")
    root = open_archive(str(tmp_path / "t.tar"))
    assert (root.read("/sys/one"), root.read("/sys/two")) == ("1", "1")


def test_what_stands_twice_in_an_archive_counts_as_the_last(tmp_path: Path) -> None:
    """As tar extracts it: also where a link takes the place of a file, and a file that of a link."""
    first = write_files(tmp_path / "a", {"/sys/x": "1", "/sys/y": "1"})
    last = write_files(tmp_path / "b", {"/sys/y": "2", "/sys/z": "3"}, {"/sys/x": "z"})
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.add(first, ".")
        archive.add(last, ".")
        archive.add(first / "sys/x", "sys/x")
    root = open_archive(str(tmp_path / "t.tar"))
    assert (root.read("/sys/x"), root.read("/sys/y")) == ("1", "2")
