"""Interrupts of PCI functions: msi_irqs in sysfs, their state in /proc/irq (Documentation/core-api/irq).

/proc/interrupts is not read: container runtimes mask it, and it is then empty without an error.
"""

import re
from collections.abc import Iterable

from numapin.assignment import Interrupt, NetworkInterface, RdmaDevice
from numapin.ids import PciAddress
from numapin.sources.pci import DEVICES
from numapin.sources.root import Root

_SUBFUNCTION = re.compile(r"[\w-]+\.sf\.\d+", re.ASCII)
_NUMBER = re.compile(r"[1-9]\d{0,8}", re.ASCII)


def read_interrupts(root: Root, devices: Iterable[RdmaDevice | NetworkInterface]) -> tuple[Interrupt, ...]:
    """The interrupts of these devices' functions, each once, by number."""
    found: dict[int, Interrupt] = {}
    for name, address in ((device.name, device.pci) for device in devices):
        for irq in _numbers(root, name, address) if address else ():
            interrupt = _interrupt(root, irq, name, address) if address and irq not in found else None
            if interrupt:
                found[irq] = interrupt
    return tuple(found[irq] for irq in sorted(found))


def _interrupt(root: Root, irq: int, name: str, address: PciAddress) -> Interrupt | None:
    """One interrupt; None for a vector that the driver has not requested: it has a number and no directory.

    Where it goes now is not read here: the step that moves it reads it, and a loaded host has thousands.
    """
    writable = root.writable(f"/proc/irq/{irq}/smp_affinity_list")
    return None if writable is None else Interrupt(irq, name, address, managed=not writable)


def _numbers(root: Root, name: str, address: PciAddress) -> list[int]:
    """File names in msi_irqs; without MSI the one number in `irq`, where 0 stands for none.

    A subfunction has only what its own `irqs` directory lists (Linux 6.11): the port's other interrupts serve others.
    """
    subfunction = _subfunction(root, name)
    if subfunction:
        names = root.names(f"{subfunction}/irqs")
    else:
        place = f"{DEVICES}/{address}"
        names = root.names(f"{place}/msi_irqs") or [root.read(f"{place}/irq") or ""]
    return sorted(int(entry) for entry in names if _NUMBER.fullmatch(entry))


def _subfunction(root: Root, name: str) -> str | None:
    """The directory of the subfunction that a device belongs to, `.../mlx5_core.sf.4`; None for whole functions."""
    for kind in ("infiniband", "net"):
        place = (root.resolve(f"/sys/class/{kind}/{name}/device") or "").split("/")
        for depth, part in enumerate(place):
            if _SUBFUNCTION.fullmatch(part):
                return "/".join(place[: depth + 1])
    return None
