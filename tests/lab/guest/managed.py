"""Interrupts that the kernel manages itself (storage), and interrupts behind a remapping unit."""

from pathlib import Path
from typing import Any

from tests.lab.guest.launch import driver, numapin
from tests.lab.guest.machine import addresses, interface, interrupt_affinities, interrupts, run
from tests.lab.guest.main import case
from tests.lab.guest.setting import network


def _changed(*words: str, front: tuple[str, ...] = (), variables: dict[str, str]) -> dict[str, Any]:
    before = interrupt_affinities()
    ran = numapin("run", *words, "--", "/bin/true", front=front, variables=variables)
    after = interrupt_affinities()
    return {**ran, "changed": {number: after[number] for number in after if after[number] != before[number]}}


def _managed(device: str) -> list[str]:
    """Those of its interrupts that refuse to be written to what they are."""
    refused = []
    for number in interrupts(device):
        file = Path(f"/proc/irq/{number}/smp_affinity_list")
        try:
            file.write_text(file.read_text())
        except OSError as error:
            refused.append(str(error.strerror))
    return refused


@case
def storage() -> dict[str, Any]:
    """A device plugin gave the container an NVMe function: PCIDEVICE_ names it."""
    variables = driver("gpu1") | {"PCIDEVICE_EXAMPLE_COM_NVME": addresses()["nvme1"]}
    ran = _changed("--irq", "try", variables=variables)
    return {**ran, "refused": _managed("nvme1"), "own": list(map(str, interrupts("nvme1")))}


@case
def storage_required() -> dict[str, Any]:
    variables = driver("gpu1") | {"PCIDEVICE_EXAMPLE_COM_NVME": addresses()["nvme1"]}
    return _changed("--irq", "require", variables=variables)


@case
def remapped() -> dict[str, Any]:
    """With interrupt remapping the new affinity is in effect at once."""
    with network("own", "nic1") as front:
        for number in interrupts("nic1"):
            Path(f"/proc/irq/{number}/smp_affinity_list").write_text("0")
        ran = _changed(front=front, variables=driver("gpu1"))
        files = [Path(f"/proc/irq/{number}/effective_affinity_list") for number in interrupts("nic1")]
        effective = {file.parent.name: file.read_text().strip() for file in files}
    return {**ran, "effective": effective}


@case
def nic_of_the_memory_node() -> dict[str, Any]:
    """Below the expander: numa_node is 2, which has no CPU; node 0 is nearest to it."""
    run("ip", "link", "set", interface("nic2"), "up")
    with network("own", "nic2") as front:
        ran = _changed("--format", "json", front=front, variables={})
        return {**ran, "own": list(map(str, interrupts("nic2")))}
