"""podman and runc as the container tests use them."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("podman", "runc", "debootstrap")
# cgroupfs, because a machine of tests need not run systemd.
PODMAN = ("podman", "--cgroup-manager=cgroupfs")
# runc and not crun: crun refuses a host that mounts both cgroup v1 and v2. The limits: podman's own defaults are more
# than root may raise where root is itself restricted.
RUN = ("--runtime", "runc", "--network", "none", "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1000:2000")


@dataclass(frozen=True)
class Finished:
    """A command that ended: its exit status and what it wrote."""

    status: int
    out: str
    err: str


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def podman(*arguments: str, check: bool = True, seconds: float = 60) -> Finished:
    """Run one podman command to its end; with check, an exit status other than 0 fails the test."""
    done = subprocess.run(
        [*PODMAN, *arguments],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=seconds,
    )
    finished = Finished(done.returncode, done.stdout, done.stderr)
    assert not check or finished.status == 0, f"podman {' '.join(arguments)}: {finished}"
    return finished


def run(image: str, *command: str, options: tuple[str, ...] = ()) -> Finished:
    """Run one container to its end; the exit status is the one of its process."""
    return podman("run", "--rm", *RUN, *options, image, *command, check=False)


@dataclass(frozen=True)
class Cpu:
    """A CPU of this machine, and where the kernel says it is."""

    number: int
    node: int

    @classmethod
    def of(cls, number: int) -> "Cpu":
        """/sys/devices/system/cpu/cpuN/ holds a link named for its node."""
        links = Path(f"/sys/devices/system/cpu/cpu{number}").glob("node[0-9]*")
        return cls(number, int(next(links).name.removeprefix("node")))

    @property
    def only(self) -> tuple[str, ...]:
        """Options that keep a container to this CPU."""
        return "--cpuset-cpus", str(self.number)
