"""The emulated computer, from inside: its devices by their names, and the modules and tools to set it up."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.lab.guest.main import RESULTS

PCI = Path("/sys/bus/pci/devices")
CLASSES = {"nic": "0x020000", "virtio-nic": "0x020000", "gpu": "0x038000", "nvme": "0x010802"}
VENDORS = {"nic": "0x8086", "virtio-nic": "0x1af4", "gpu": "0x1234", "nvme": "0x1b36"}
MODULES = {"nic": "e1000e", "virtio-nic": "virtio_net", "nvme": "nvme"}


def run(*command: str, check: bool = True, **options: Any) -> "subprocess.CompletedProcess[str]":
    """A command, ended; with check, an exit status other than 0 raises with what it said."""
    options = {"stdin": subprocess.DEVNULL, "timeout": 100} | options
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done


def modprobe(*modules: str) -> None:
    run("modprobe", "--all", *modules)


@cache
def addresses() -> dict[str, str]:
    """PCI addresses of the computer's devices by name: firmware numbers buses in the order of the description."""
    described = json.loads((RESULTS / "computer.json").read_text())["devices"]
    found: dict[str, str] = {}
    for kind in dict.fromkeys(device["kind"] for device in described):
        names = [device["name"] for device in described if device["kind"] == kind]
        functions = [folder.name for folder in sorted(PCI.iterdir()) if _is(folder, kind)]
        if len(names) != len(functions):
            raise RuntimeError(f"the computer has {names}, the bus shows {functions}")
        found |= dict(zip(names, functions, strict=True))
    modprobe(*(MODULES[device["kind"]] for device in described if device["kind"] in MODULES))
    return found


def _is(folder: Path, kind: str) -> bool:
    facts = ((folder / name).read_text().strip() for name in ("class", "vendor"))
    return (CLASSES[kind], VENDORS[kind]) == tuple(facts)


def interface(device: str) -> str:
    """The network interface of a NIC, in this network namespace."""
    return next((PCI / addresses()[device]).glob("**/net/*")).name


def numa_nodes() -> dict[str, int]:
    """Of every device, what its numa_node file says."""
    return {name: int((PCI / address / "numa_node").read_text()) for name, address in addresses().items()}


def interrupts(device: str) -> list[int]:
    """Numbers of a function's interrupts that a driver has asked for."""
    numbers = sorted(int(file.name) for file in (PCI / addresses()[device] / "msi_irqs").glob("*"))
    return [number for number in numbers if Path(f"/proc/irq/{number}").exists()]


def move_interrupts(device: str, cpu: int) -> None:
    """As somebody else would: irqbalance, an administrator."""
    for number in interrupts(device):
        Path(f"/proc/irq/{number}/smp_affinity_list").write_text(str(cpu))


def interrupt_affinities() -> dict[str, str]:
    """Of every interrupt of the machine, where it may go."""
    files = Path("/proc/irq").glob("*/smp_affinity_list")
    return {file.parent.name: file.read_text().strip() for file in files}


def cpus(text: str) -> list[int]:
    """The numbers of a kernel list."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return found
