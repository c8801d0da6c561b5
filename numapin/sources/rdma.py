"""RDMA devices that this container can open: /dev/infiniband and /sys/class/infiniband*.

In shared namespace mode /sys/class/infiniband lists every device of the host: the device files tell which are ours.
"""

import re

from numapin.assignment import RdmaDevice
from numapin.ids import PciAddress
from numapin.sources.links import function_below
from numapin.sources.pci import function_of
from numapin.sources.root import Root

_UVERBS = re.compile(r"uverbs\d{1,5}", re.ASCII)


def read_rdma(root: Root) -> tuple[RdmaDevice, ...]:
    """One device for each /dev/infiniband/uverbs<N> that sysfs knows (its `ibdev` file names the device)."""
    found: list[RdmaDevice] = []
    for name in root.names("/dev/infiniband"):
        device = root.read(f"/sys/class/infiniband_verbs/{name}/ibdev") if _UVERBS.fullmatch(name) else None
        if device and "/" not in device:
            found.append(RdmaDevice(device, _function(root, device), _netdevs(root, device)))
    return tuple(sorted(found, key=lambda one: _natural(one.name)))


def _function(root: Root, device: str) -> PciAddress | None:
    """The PCI function under it. Software RDMA has no device link, but a file `parent` with its interface's name."""
    place = f"/sys/class/infiniband/{device}"
    address = function_of(root, f"{place}/device")
    parent = None if address else root.read(f"{place}/parent")
    return function_below(root, parent) if parent else address


def _netdevs(root: Root, device: str) -> tuple[str, ...]:
    """Interfaces of its ports: ports/<port>/gid_attrs/ndevs/<index>; where absent, those of its PCI function."""
    place = f"/sys/class/infiniband/{device}"
    names: set[str] = set()
    for port in root.names(f"{place}/ports"):
        # Every index of a port names the same interface, or one stacked on it: the first is enough.
        name = root.read(f"{place}/ports/{port}/gid_attrs/ndevs/0")
        names.update([name] if name else [])
    names.update([] if names else root.names(f"{place}/device/net"))
    return tuple(sorted(names, key=_natural))


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """mlx5_10 after mlx5_9."""
    return tuple(
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d{1,9})", name, flags=re.ASCII)
    )
