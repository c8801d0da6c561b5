"""Around a process: its cgroup, its network namespace, what it may write. Each is words to put before a command."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.guest.machine import PCI, addresses, interface, run

CGROUPS = Path("/sys/fs/cgroup")


def _shell(script: str) -> tuple[str, ...]:
    """A shell that does this and then becomes the command that follows."""
    return ("sh", "-ec", f'{script}\nexec "$@"', "sh")


class Cgroup:
    """A cgroup (v2) below the root, with the settings that are given: `memory_max="300M"` is memory.max."""

    def __init__(self, name: str, **settings: str) -> None:
        (CGROUPS / "cgroup.subtree_control").write_text("+cpuset +memory +cpu")
        self.place = CGROUPS / name
        self.place.mkdir()
        self.set(**settings)

    def set(self, **settings: str) -> None:
        for name, value in settings.items():
            (self.place / name.replace("_", ".", 1)).write_text(value)

    def read(self, name: str) -> str:
        return (self.place / name).read_text().strip()

    @property
    def front(self) -> tuple[str, ...]:
        return _shell(f"echo $$ >{self.place}/cgroup.procs")


@contextmanager
def network(name: str, *devices: str) -> Iterator[tuple[str, ...]]:
    """A network namespace that has these NICs, up, so that their drivers have asked for interrupts."""
    run("ip", "netns", "add", name)
    for device in devices:
        port = interface(device)
        run("ip", "link", "set", port, "netns", name)
        run("ip", "-n", name, "link", "set", port, "up")
    try:
        # ip-netns(8) mounts a /sys of the namespace's own, without the cgroups.
        yield ("ip", "netns", "exec", name, *_shell(f"mount -t cgroup2 cgroup2 {CGROUPS}"))
    finally:
        # Ports of real hardware go back to the first namespace, some time after the last process has left.
        for device in devices:
            run("ip", "-n", name, "link", "set", interface_in(name, device), "netns", "1")
        run("ip", "netns", "del", name)


def interface_in(name: str, device: str) -> str:
    """The name of a NIC's interface in another network namespace."""
    place = PCI / addresses()[device]
    script = f"echo {place}/net/* {place}/virtio*/net/*"
    words = run("ip", "netns", "exec", name, "sh", "-c", script).stdout.split()
    return next(word.rpartition("/")[2] for word in words if not word.endswith("*"))


SENDING = """
import socket, time
while True:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("10.0.2.2", 9))
    time.sleep(0.02)
"""


@contextmanager
def sending(name: str, device: str, front: tuple[str, ...]) -> Iterator[None]:
    """A NIC of a network namespace that sends all the while, so that it interrupts."""
    run("ip", "-n", name, "address", "add", "10.0.2.15/24", "dev", interface_in(name, device))
    sender = subprocess.Popen([*front, sys.executable, "-S", "-c", SENDING])
    try:
        yield
    finally:
        sender.kill()
        sender.wait()


READ_ONLY_IRQ = (
    "unshare",
    "--mount",
    *_shell("mount --bind /proc/irq /proc/irq; mount -o remount,bind,ro /proc/irq"),
)
"""As container runtimes have it (readonlyPaths of the OCI specification)."""
