"""Archives that are damaged, that lie, or that hold more than one can read."""

import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.sources.hostile import COMMANDS, hold, machine, numapin, pack


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return machine(tmp_path_factory.mktemp("machine"))


COMPRESSIONS = ("", "gz", "bz2", "xz")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_archive_is_the_machine_that_its_directory_is(base: Path, tmp_path: Path, compression: str) -> None:
    archive = pack(base, tmp_path / "m.tar", compression)
    for command in COMMANDS:
        assert numapin([command, "--root", str(archive)]).out == numapin([command, "--root", str(base)]).out


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(
    "damage", ["cut short", "cut at a quarter", "a byte changed", "its header", "noise at its end"]
)
def test_a_damaged_archive_is_a_usage_error_or_still_a_machine(base, tmp_path: Path, compression: str, damage) -> None:
    whole = pack(base, tmp_path / "m.tar", compression).read_bytes()
    middle = len(whole) // 2
    (tmp_path / "d.tar").write_bytes(
        {
            "cut short": whole[:middle],
            "cut at a quarter": whole[: len(whole) // 4 + 100],
            "a byte changed": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
            "its header": b"\0" + whole[1:],
            "noise at its end": whole + os.urandom(512),
        }[damage]
    )
    for outcome in hold(tmp_path / "d.tar"):
        assert outcome.exit in (0, 2, 69)


def member(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def with_members(base: Path, archive: Path, *members: tarfile.TarInfo) -> Path:
    """The machine, and then members of any kind."""
    with tarfile.open(pack(base, archive), "a") as opened:
        for one in members:
            opened.addfile(one, io.BytesIO(b"\0" * max(one.size, 0)))
    return archive


MEMBERS = {
    "device nodes": [member("dev/zero", tarfile.CHRTYPE), member("sys/block", tarfile.BLKTYPE)],
    "a pipe": [member("proc/self/status", tarfile.FIFOTYPE)],
    "an absolute name": [member("/etc/passwd", size=3), member("/proc/self/status", size=3)],
    "a name above the root": [member("../../etc/passwd", size=3), member("../../proc/self/status", size=3)],
    "no name": [member("", size=3), member(".", size=3), member("/", tarfile.DIRTYPE)],
    "a hard link to itself": [member("sys/a", tarfile.LNKTYPE, linkname="sys/a")],
    "a hard link to what comes later": [member("sys/a", tarfile.LNKTYPE, linkname="sys/b"), member("sys/b", size=1)],
    "a hard link out": [member("proc/self/status", tarfile.LNKTYPE, linkname="/etc/passwd")],
    "links in circles": [
        member("sys/a", tarfile.SYMTYPE, linkname="b"),
        member("sys/b", tarfile.SYMTYPE, linkname="a"),
    ],
    "the whole of sys as a link": [member("sys", tarfile.SYMTYPE, linkname="/")],
    "the whole of proc as a link out": [member("proc", tarfile.SYMTYPE, linkname="../../proc")],
    "a link with a target of a megabyte": [member("sys/class", tarfile.SYMTYPE, linkname="a/" * 500_000)],
    "a name of a megabyte": [member("sys/" + "a/" * 500_000, size=1)],
    "a name that is no text": [member("sys/class/net/\udcff\udcfe", size=1)],
    "a file below a file": [member("proc/self/status/below", size=1)],
    "a directory over a file": [member("proc/self/status", tarfile.DIRTYPE)],
    "a kind that nobody knows": [member("sys/a", b"Z", size=1)],
    "modes and owners out of range": [member("sys/a", mode=0o7777777, uid=2**40, mtime=2**40)],
    "a long file": [member("proc/self/status", size=2 << 20)],
}


@pytest.mark.parametrize("members", MEMBERS.values(), ids=MEMBERS)
def test_members_of_an_archive_that_no_machine_has(base: Path, tmp_path: Path, members) -> None:
    hold(with_members(base, tmp_path / "m.tar", *members))


def header(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A member's header whose size is whatever is said, with a true checksum."""
    block = bytearray(member("sys/a", kind).tobuf(tarfile.GNU_FORMAT))
    block[124:136] = tarfile.itn(size, 12, tarfile.GNU_FORMAT)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


SIZES = {
    "a member of negative size": (-512, tarfile.REGTYPE),
    "a long name of negative size": (-512, tarfile.GNUTYPE_LONGNAME),
    "attributes of negative size": (-512, tarfile.XHDTYPE),
    "a member of exbibytes": (1 << 62, tarfile.REGTYPE),
    "a long name of exbibytes": (1 << 62, tarfile.GNUTYPE_LONGNAME),
    "attributes of exbibytes": (1 << 62, tarfile.XHDTYPE),
}


@pytest.mark.parametrize(("size", "kind"), SIZES.values(), ids=SIZES)
def test_sizes_that_lie(tmp_path: Path, size: int, kind: bytes) -> None:
    (tmp_path / "m.tar").write_bytes(header(size, kind) * 2 + b"\0" * 4096)
    assert {outcome.exit for outcome in hold(tmp_path / "m.tar")} == {2}


OPENERS = {"gz": partial(gzip.open, compresslevel=1), "xz": partial(lzma.open, preset=0)}


def bomb(path: Path, opener: Callable[..., io.BufferedIOBase], kind: bytes, size: int) -> None:
    """One member of nothing but zeros, compressed to a thousandth and less."""
    with opener(path, "wb") as file:
        file.write(header(size, kind))
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
        file.write(bytes(1024))


@pytest.mark.parametrize(
    "kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE], ids=["file", "name", "pax"]
)
@pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS)
def test_a_small_archive_of_gibibytes(tmp_path: Path, opener, kind: bytes) -> None:
    """Two gibibytes of zeros: a machine is a few megabytes, and so is what reading may take."""
    bomb(tmp_path / "m.tar", opener, kind, 2 << 30)
    assert {outcome.exit for outcome in hold(tmp_path / "m.tar", commands=("check",))} == {2}


def test_an_archive_of_very_many_members(tmp_path: Path) -> None:
    one = header(0)
    with gzip.open(tmp_path / "m.tar.gz", "wb", compresslevel=1) as file:
        for _ in range(1000):
            file.write(one * 1500)
    assert {outcome.exit for outcome in hold(tmp_path / "m.tar.gz", commands=("check",))} == {2}


@pytest.mark.parametrize("record", [b"19 GNU.sparse.size=x\n", b"99 path=x\n", b"x\n", b"0 \n", b"-5 path=x\n"])
def test_attributes_that_make_no_sense(tmp_path: Path, record: bytes) -> None:
    content = header(len(record), tarfile.XHDTYPE) + record.ljust(512, b"\0") + header(0) + bytes(1024)
    (tmp_path / "m.tar").write_bytes(content)
    hold(tmp_path / "m.tar")
