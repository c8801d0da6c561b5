"""All devices of this container, as the operator's options narrow them."""

from collections.abc import Mapping

from numapin.assignment import Accelerator, Device, NetworkInterface, Note, RdmaDevice
from numapin.settings import AUTO, NONE, Settings
from numapin.sources.accelerators import read_accelerators
from numapin.sources.links import own_interfaces, read_interfaces
from numapin.sources.rdma import read_rdma
from numapin.sources.root import Root
from numapin.sources.selection import select
from numapin.values import value


@value
class Devices:
    """What was found, and what was seen on the way."""

    accelerators: tuple[Accelerator, ...]
    rdma: tuple[RdmaDevice, ...]
    nics: tuple[NetworkInterface, ...]
    notes: tuple[Note, ...]

    @property
    def all(self) -> tuple[Device, ...]:
        """Every device that counts."""
        return (*self.accelerators, *self.rdma, *self.nics)


def read_devices(root: Root, settings: Settings, environment: Mapping[str, str], *, host_network: bool) -> Devices:
    """The accelerators, RDMA devices and interfaces that count. Kinds that are not to be judged are not even read.

    Raises UsageError for a name that stands for none of them, or for several.
    """
    graphics = None if settings.gpus == NONE else read_accelerators(root, environment)
    visible = () if settings.rdma == NONE else read_rdma(root)
    interfaces, notes = ((), ()) if settings.nics == NONE else own_interfaces(root, environment, visible, host_network)
    return Devices(
        accelerators=select("--gpus", settings.gpus, graphics.accelerators, graphics.accelerators) if graphics else (),
        rdma=select("--rdma", settings.rdma, visible, visible),
        nics=select("--nics", settings.nics, interfaces, _nameable(root, settings, interfaces)),
        notes=(*(graphics.notes if graphics else ()), *notes),
    )


def _nameable(root: Root, settings: Settings, interfaces: tuple[NetworkInterface, ...]) -> tuple[NetworkInterface, ...]:
    """The interfaces that --nics may name: also those of RDMA devices, and the host's in its own namespace."""
    if settings.nics in (AUTO, NONE):
        return interfaces
    return tuple(dict.fromkeys((*interfaces, *read_interfaces(root)[0])))
