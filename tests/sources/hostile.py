"""Runs numapin on a root that may be hostile, in a process with little time and memory, and says what came of it."""

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from numapin.cli import run
from tests.sources.trees import TWO_NODES, build

COMMANDS = ("check", "show", "plan")
MOST_SECONDS = 10.0
MOST_MEMORY = 1536 << 20
"""Address space, so an upper bound of memory; the interpreter itself takes a tenth of it."""
GOOD_EXITS = {0, 2, 69, 78}

LINES = (
    *TWO_NODES,
    "bridge 0000:3a:00.0 node=0",
    "gpu 0000:3b:00.0 node=0 under=0000:3a:00.0",
    "amd 0000:c1:00.0 node=0",
    "gaudi 0000:d1:00.0 node=0",
    "rdma mlx5_0 pci=0000:3c:00.0 node=0 irqs=100-101 netdev=ib0",
    "nic eth1 pci=0000:5e:00.1 node=0 irqs=200-201",
    "container cpus=0-7 mems=0 env=NCCL_TOPO_FILE=/topo.xml;PCIDEVICE_A=0000:5e:00.1 oom=-997",
    "file /topo.xml <system><cpu numaid='0'><pci busid='0000:3b:00.0'/></cpu></system>",
    "file /sys/fs/cgroup/hugetlb.2MB.max max",
    "file /proc/irq/default_smp_affinity ffff",
    "file /proc/sys/kernel/sched_rt_runtime_us 950000",
    "file /proc/self/uid_map 0 0 4294967295",
    "file /sys/devices/system/cpu/cpu0/topology/core_cpus_list 0",
)
"""A machine that has something for every reader."""


AS_USER = """
import os, sys
from numapin.cli import run
if {user} is not None:
    import encodings.idna, tarfile, xml.etree.ElementTree
    os.setgroups([]), os.setgid({user}), os.setuid({user})
sys.exit(run(sys.argv[1:]))
"""
"""Becomes somebody else only when Python has found its modules, which others may not be able to read."""


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    exit: int
    out: str
    err: str
    seconds: float

    @property
    def broken(self) -> str:
        """Which promise it broke; empty where it kept all that every command makes for every root."""
        lines = self.err.splitlines()
        promises = {
            f"exit {self.exit}": self.exit in GOOD_EXITS,
            "a traceback": "Traceback" not in self.err,
            f"{len(lines)} lines on stderr": len(lines) <= 2,
            f"{len(self.err)} characters on stderr": len(self.err) < 1000,
            f"{self.seconds:.1f} s": self.seconds < MOST_SECONDS,
            "signs that a terminal obeys": all(one.isprintable() or one == "\n" for one in self.out + self.err),
        }
        return (
            "; ".join([*(name for name, kept in promises.items() if not kept), *lines[-2:]])
            if not all(promises.values())
            else ""
        )


def machine(base: Path) -> Path:
    """The machine with something for every reader, in a directory."""
    build(base, *LINES)
    return base


def pack(base: Path, archive: Path, compression: str = "") -> Path:
    """A directory as a tar archive."""
    with tarfile.open(archive, f"w:{compression}") as opened:  # type: ignore[call-overload]
        opened.add(base, ".")
    return archive


def numapin(arguments: Sequence[str], user: int | None = None) -> Outcome:
    """Run a command with little memory; `user` is whom it runs as."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMAPIN_")}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", AS_USER.format(user=user), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        preexec_fn=_with_little_memory,  # noqa: PLW1509 -- no thread runs here
    )
    try:
        out, err = process.communicate(timeout=MOST_SECONDS + 2)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return Outcome(process.returncode, out.decode(), err.decode(), time.monotonic() - started)


def hold(root: Path, *options: str, commands: Sequence[str] = COMMANDS, user: int | None = None) -> list[Outcome]:
    """Every command keeps what it promises on this root."""
    outcomes = [numapin([command, "--root", str(root), *options], user) for command in commands]
    broken = {command: one.broken for command, one in zip(commands, outcomes, strict=True) if one.broken}
    assert not broken, broken
    return outcomes


def numapin_here(command: str, root: Path) -> Outcome:
    """Run a command in this process: quicker, for many roots that differ in one file."""
    out, err = io.StringIO(), io.StringIO()
    started = time.monotonic()
    before = signal.signal(signal.SIGALRM, _too_late)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS + 1)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run([command, "--root", str(root)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return Outcome(status, out.getvalue(), err.getvalue(), time.monotonic() - started)


def _too_late(*_: object) -> None:
    raise TimeoutError(f"still running after {MOST_SECONDS} s")


def _with_little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
