"""Containers in the guest: podman and crun, the image of our own Dockerfile, the runtime's own seccomp profile."""

import subprocess
import time
from pathlib import Path
from typing import Any

from tests.lab.guest import process
from tests.lab.guest.launch import driver
from tests.lab.guest.machine import interface, run
from tests.lab.guest.main import RESULTS, case

STORE = Path("/run/pods")
ROOT = STORE / "root"
# A store of its own, in memory: the usual place shows the one of the machine that runs the tests, read-only.
PODMAN = ("podman", "--cgroup-manager=cgroupfs", "--root", f"{STORE}/store", "--runroot", f"{STORE}/state")
BETWEEN = ("--runtime", "crun", "--rm")
SERVER = "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done"
LOGS = RESULTS / "termination"


def _start_over() -> None:
    """The image, which the harness has mounted on its side, as a root file system that can be written."""
    if not ROOT.exists():
        for folder in (ROOT, STORE / "upper", STORE / "work"):
            folder.mkdir(parents=True)
        layers = f"lowerdir={(RESULTS / 'image').read_text()},upperdir={STORE}/upper,workdir={STORE}/work"
        run("mount", "-t", "overlay", "-o", layers, "overlay", str(ROOT))


def _options(gpus: tuple[str, ...], cpus: str, mems: str, *more: str, network: str = "none") -> list[str]:
    """The container gets these CPUs and memory nodes, and a driver that shows it these accelerators."""
    _start_over()
    variables = driver(*gpus)
    LOGS.write_text("")
    folder, answers = variables["LD_LIBRARY_PATH"], variables["NUMAPIN_TEST_NVML"]
    volumes = (f"{folder}:/usr/local/nvidia/lib64:ro", f"{answers}:/answers:ro", f"{LOGS}:/dev/termination-log")
    return [
        *("--network", network, "--cpuset-cpus", cpus, "--cpuset-mems", mems),
        *(word for volume in volumes for word in ("--volume", volume)),
        *("--env", "LD_LIBRARY_PATH=/usr/local/nvidia/lib64", "--env", "NUMAPIN_TEST_NVML=/answers"),
        # The runtime makes these as it would from a device plugin's answer.
        *("--volume", "/dev/null:/dev/nvidiactl", *more),
    ]


def _container(*options: str, command: tuple[str, ...] = ("/bin/echo", "the server")) -> dict[str, Any]:
    words = [*PODMAN, "run", *BETWEEN, *options, "--rootfs", str(ROOT)]
    done = run(*words, "/opt/numapin/entrypoint", *command, check=False)
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr, "termination": LOGS.read_text()}


def _with_status(*options: str) -> dict[str, Any]:
    """The server prints what the kernel says of it."""
    return _container(*options, command=("/bin/cat", "/proc/self/status", "/proc/self/numa_maps"))


@case
def aligned() -> dict[str, Any]:
    return _with_status(*_options(("gpu1",), "4-5", "1"))


@case
def gpu_away() -> dict[str, Any]:
    return _container(*_options(("gpu0",), "4-5", "1"))


@case
def mems_away() -> dict[str, Any]:
    return _container(*_options(("gpu1",), "4-5", "0"))


@case
def gpu_unknown() -> dict[str, Any]:
    return _container(*_options(("gpu2",), "4-5", "1"))


@case
def narrowed() -> dict[str, Any]:
    return _with_status(*_options(("gpu1",), "0-7", "0-1"))


@case
def both() -> dict[str, Any]:
    return _with_status(*_options(("gpu0", "gpu1"), "0-7", "0-1", "--env", "NUMAPIN_POLICY=restricted"))


@case
def nic_away() -> dict[str, Any]:
    """A NIC of node 0 in the container's own network namespace, beside an accelerator of node 1."""
    return _in_namespace("nic0")


@case
def nic_beside() -> dict[str, Any]:
    return _in_namespace("nic1")


def _in_namespace(device: str) -> dict[str, Any]:
    options = _options(("gpu1",), "4-5", "1", network=f"ns:/run/netns/{device}")
    run("ip", "netns", "add", device)
    port = interface(device)
    run("ip", "link", "set", port, "netns", device)
    run("ip", "-n", device, "link", "set", port, "up")
    return _with_status(*options)


@case
def stop() -> dict[str, Any]:
    """podman stop sends SIGTERM to PID 1, and would kill it after ten seconds."""
    options = _options(("gpu1",), "4-5", "1")
    words = [*PODMAN, "run", *BETWEEN, *options, "--name", "server", "--rootfs", str(ROOT)]
    server = subprocess.Popen(
        [*words, "/opt/numapin/entrypoint", "/bin/sh", "-c", SERVER], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout
    said = server.stdout.readline().strip()
    (pid,) = (number for number in _processes() if process.command(number)[:2] == ["/bin/sh", "-c"])
    status = process.status(pid)
    begin = time.monotonic()
    run(*PODMAN, "stop", "--time", "60", "server")
    return {"said": said, "status": server.wait(60), "seconds": time.monotonic() - begin, "process": status}


def _processes() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
