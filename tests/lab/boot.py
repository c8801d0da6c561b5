"""One boot: QEMU without KVM, so that it works and is the same everywhere. It ends by itself or is ended."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from tests.lab.computer import Computer
from tests.lab.kernels import Kernel, initramfs
from tests.nvml.driver import build

REPOSITORY = Path(__file__).parents[2]
TAIL = 3000
"""Characters of the console that an error shows."""

_START = """\
cd {repository}
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
# Where modprobe looks, and the kernel's own calls of it.
mkdir -p /lib/modules/{version}
mount --bind {modules}/lib/modules/{version} /lib/modules/{version}
{python} -B -m tests.lab.guest.main {scripts} >/run/lab/said 2>&1 </dev/null
sync
exec busybox poweroff -f
"""


class DidNotFinish(Exception):
    """The guest hung, crashed, or never came to its script."""


@dataclass(frozen=True)
class Limit:
    """How long a boot may take, and what ends all boots before that."""

    seconds: float
    stop: Event


def boot(computer: Computer, kernel: Kernel, scripts: tuple[str, ...], directory: Path, limit: Limit) -> None:
    """Boot it, let the guest scripts write their results into directory, and wait until it has powered itself off.

    Raises DidNotFinish, with the end of the console, where it did not within the limit.
    """
    (directory / "computer.json").write_text(json.dumps(computer.description()))
    (directory / "places").write_text(f"{REPOSITORY}\n{kernel.tree}\n")
    (directory / "start").write_text(
        _START.format(
            repository=REPOSITORY,
            modules=kernel.tree,
            version=kernel.version,
            python=sys.executable,
            scripts=" ".join(scripts),
        )
    )
    build(directory / "nvml")  # here, where the compiler is quick
    console = directory / "console"
    command = [*_emulator(kernel, directory), *computer.options(), "-append", _command_line(computer)]
    with (directory / "emulator").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        problem = _wait(process, limit)
    if problem or not (directory / "finished").exists():
        parts = (f"{file.name}: {_tail(file)}" for file in (directory / "emulator", console, directory / "said"))
        raise DidNotFinish("\n".join([f"{computer.name}, {scripts}: {problem or 'never finished'}", *parts]))


def _wait(process: "subprocess.Popen[bytes]", limit: Limit) -> str | None:
    """Wait for its end, or bring it about; what was wrong."""
    deadline = time.monotonic() + limit.seconds
    try:
        while process.poll() is None:
            if limit.stop.wait(0.1):
                return "was ended with the tests"
            if time.monotonic() > deadline:
                return f"was ended after {limit.seconds} s"
    finally:
        process.kill()
        process.wait()
    return f"the emulator ended with {process.returncode}" if process.returncode else None


def _command_line(computer: Computer) -> str:
    # panic=-1 and -no-reboot: a kernel that panics ends the emulator at once.
    # Mitigations flush what an emulator must then build anew; nobody attacks this kernel.
    return f"console=ttyS0 loglevel=5 panic=-1 mitigations=off {computer.kernel_options}"


def _emulator(kernel: Kernel, directory: Path) -> list[str]:
    """Sharing / shows the guest this machine's mounts too; multidevs=remap keeps their inode numbers apart."""
    shared = "local,path=/,mount_tag=shared,security_model=none,readonly=on,multidevs=remap"
    results = f"local,path={directory},mount_tag=results,security_model=none"
    return [
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        # One host thread for all CPUs of the guest: with one each, a kernel that patches its own code while another CPU
        # runs it ends, now and then, in an int3 oops; and on few host CPUs it is slower, too.
        *("-accel", "tcg,thread=single", "-serial", f"file:{directory / 'console'}"),
        *("-kernel", str(kernel.image), "-initrd", str(initramfs(kernel, directory))),
        *("-virtfs", shared, "-virtfs", results),
    ]


def _tail(file: Path) -> str:
    return file.read_text(errors="replace")[-TAIL:] if file.exists() else "(nothing)"
