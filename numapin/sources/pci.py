"""PCI functions: /sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci)."""

import re
from collections.abc import Iterable

from numapin.ids import CpuSet, PciAddress
from numapin.sources.parsing import node_id, number, read
from numapin.sources.root import Root
from numapin.topology import PciDevice

DEVICES = "/sys/bus/pci/devices"

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII | re.IGNORECASE)


def read_all_pci(root: Root) -> dict[PciAddress, PciDevice]:
    """Every PCI function of the machine (a container sees the host's bus)."""
    return read_pci(root, (PciAddress.parse(name) for name in root.names(DEVICES) if _ADDRESS.fullmatch(name)))


def read_pci(root: Root, addresses: Iterable[PciAddress]) -> dict[PciAddress, PciDevice]:
    """These functions and all bridges above them; functions that are not on this machine are left out."""
    found: dict[PciAddress, PciDevice] = {}
    pending = list(addresses)
    while pending:
        address = pending.pop()
        place = root.resolve(f"{DEVICES}/{address}") if address not in found else None
        if place is None:
            continue
        device = _device(root, address, place)
        found[address] = device
        if device.parent:
            pending.append(device.parent)
    return dict(sorted(found.items()))


def _device(root: Root, address: PciAddress, place: str) -> PciDevice:
    above = [part for part in place.split("/")[:-1] if _ADDRESS.fullmatch(part)]
    numa_node = read(root, f"{place}/numa_node", node_id)
    return PciDevice(
        address=address,
        class_code=read(root, f"{place}/class", number),
        vendor=read(root, f"{place}/vendor", number),
        numa_node=numa_node,
        # Only asked where firmware is silent: on most machines a third of all reads is saved.
        local_cpus=_local_cpus(root, place) if numa_node is None else None,
        parent=PciAddress.parse(above[-1]) if above else None,
        is_virtual_function=root.resolve(f"{place}/physfn") is not None,
    )


def _local_cpus(root: Root, place: str) -> CpuSet | None:
    listed = read(root, f"{place}/local_cpulist", CpuSet.parse)
    return read(root, f"{place}/local_cpus", CpuSet.parse_mask) if listed is None else listed


def function_of(root: Root, link: str) -> PciAddress | None:
    """The PCI function that a device lies under: the last address in the path that its link leads to.

    That also answers for virtio and auxiliary devices, whose own directory has neither numa_node nor msi_irqs.
    """
    place = root.resolve(link)
    addresses = [part for part in (place or "").split("/") if _ADDRESS.fullmatch(part)]
    return PciAddress.parse(addresses[-1]) if addresses else None


def exists(root: Root, address: PciAddress) -> bool:
    """Whether the function is on this machine."""
    return root.resolve(f"{DEVICES}/{address}") is not None
