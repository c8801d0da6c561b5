"""The keeper beside a stand-in for vLLM: an engine, two workers, an accelerator on each node."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.keeper.engine import Engine
from tests.lab.guest import process
from tests.lab.guest.launch import NUMAPIN, driver, until
from tests.lab.guest.machine import addresses, run
from tests.lab.guest.main import RESULTS, case
from tests.lab.guest.setting import network

GPUS = ("gpu0", "gpu1")
RUN = ("run", "--policy", "restricted", "--engine", "vllm")
WORKERS = ("--workers", "2", "--open", "/dev", "--threads", "2", "--mib", "20")


def cpus(tid: int) -> str:
    return process.status(tid)["Cpus_allowed_list"]


def look(one: dict[str, Any]) -> dict[str, Any]:
    """A process of the engine as the kernel shows it; its threads by name."""
    shown = process.threads(one["pid"])
    names = [one["threads"][tid] for tid in sorted(one["threads"])]
    return {
        "pages": process.pages(one["pid"]),
        "policies": process.policies(one["pid"]),
        "threads": [{"name": name, **thread} for name, thread in zip(names, shown, strict=False)],
    }


def view(engine: Engine) -> dict[str, Any]:
    """All its processes, by title; the server under its role."""
    return {"server" if one["role"] == "server" else one["title"]: look(one) for one in engine.tree()}


def variables() -> dict[str, str]:
    for number in range(len(GPUS)):
        Path(f"/dev/nvidia{number}").touch()
    return {**os.environ, **driver(*GPUS)}


@contextmanager
def kept(*options: str, words: tuple[str, ...] = WORKERS, front: tuple[str, ...] = ()) -> Iterator[Engine]:
    """A stand-in with numapin in front of it; leaving the block ends it."""
    command = (*front, *NUMAPIN, *RUN, *options, "--")
    with Engine(*words, front=command, variables=variables()) as engine:
        yield engine


def narrowed(engine: Engine) -> bool:
    """Whether every worker's main thread is on one node."""
    workers = [one["pid"] for one in engine.tree() if one["role"] == "worker"]
    return all(cpus(pid) in ("0-3", "4-7") for pid in workers)


@case
def workers() -> dict[str, Any]:
    """What the workers look like once they are told, and where the pages go that they allocate then."""
    with kept("--nics", "none", "--metrics", str(RESULTS / "metrics")) as engine:
        until(lambda: narrowed(engine))
        before = view(engine)
        engine.tell("grow")
        after = view(engine)
        until(lambda: "workers 2" in (RESULTS / "metrics").read_text())
        metrics = (RESULTS / "metrics").read_text()
        seen = {"before": before, "after": after, "said": engine.said(), "metrics": metrics}
        return {**seen, "another binder": another_binder(engine)}


def another_binder(engine: Engine) -> dict[str, Any]:
    """A worker binds itself to the other node."""
    engine.tell("affinity 4-7")
    first = next(one["pid"] for one in engine.tree() if one["title"] == "VLLM::Worker_TP0")
    away = cpus(first)
    until(lambda: cpus(first) == "0-3")
    return {"away": away, "back": cpus(first), "said": engine.said()}


@case
def by_variable() -> dict[str, Any]:
    """No titles, an engine that nobody knows: LOCAL_RANK tells."""
    words = (*WORKERS, "--no-titles", "--variable")
    front = (*NUMAPIN, "run", "--policy", "restricted", "--nics", "none", "--")
    with Engine(*words, front=front, variables=variables()) as engine:
        until(lambda: narrowed(engine))
        return {"workers": [look(one) for one in engine.tree() if one["role"] == "worker"], "said": engine.said()}


@case
def contradicted() -> dict[str, Any]:
    """Each holds the other's accelerator open: neither is told, both stay on the union."""
    with kept("--nics", "none", words=(*WORKERS, "--open-shift")) as engine:
        time.sleep(4)
        return view(engine)


@case
def hot() -> dict[str, Any]:
    """Each worker's NCCL thread is hot, and spins."""
    with kept("--nics", "none", "--hot", "NCCL Progress*", words=(*WORKERS, "--spin")) as engine:
        until(lambda: engine.said().count(" is hot: ") == 2)
        time.sleep(2)
        engine.tell("spawn 3")
        time.sleep(3)
        return {"seen": view(engine), "said": engine.said()}


@case
def interrupt() -> dict[str, Any]:
    """Somebody moves the NIC's interrupts, as irqbalance does."""
    # A network namespace mounts a /sys of its own, in which the driver's answers are looked for all the same.
    with network("kept", "nic1") as front, kept("--irq", "require", front=front) as engine:
        place = Path("/sys/bus/pci/devices") / addresses()["nic1"] / "msi_irqs"
        moved = Path("/proc/irq") / min(irq.name for irq in place.iterdir()) / "smp_affinity_list"
        until(lambda: narrowed(engine))
        time.sleep(11)
        before = moved.read_text().strip()
        moved.write_text("0")
        until(lambda: moved.read_text().strip() == before)
        return {"before": before, "after": moved.read_text().strip(), "said": engine.said()}


@case
def a_running_server() -> dict[str, Any]:
    """`keep --pid` for a server that nobody has bound; it ends with it."""
    with Engine(*WORKERS, variables=variables()) as engine:
        command = [*NUMAPIN, "keep", "--pid", str(engine.pid), *RUN[1:], "--nics", "none"]
        keeper = subprocess.Popen(command, env=variables(), stderr=subprocess.PIPE, text=True)
        until(lambda: narrowed(engine))
        seen = view(engine)
        second = run(*command, check=False, env=variables())
        engine.end()
        said = keeper.communicate(timeout=20)[1]
        return {"seen": seen, "status": keeper.returncode, "said": said, "second": [second.returncode, second.stderr]}


@case
def ending() -> dict[str, Any]:
    """SIGTERM ends the server with its own status, and the keeper with it."""
    with kept("--nics", "none") as engine:
        until(lambda: narrowed(engine))
        there = run("pgrep", "-x", "numapin-keeper").stdout.split()
        os.kill(engine.pid, signal.SIGTERM)
        status = engine.process.wait(20)
        gone = until(lambda: not run("pgrep", "-x", "numapin-keeper", check=False).stdout.split())
    return {"keepers": len(there), "status": status, "gone": bool(gone)}
