"""Which of the visible devices count: `auto`, `none`, or the operator's list of names."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from numapin.assignment import Accelerator, Device
from numapin.errors import UsageError
from numapin.settings import AUTO, NONE
from numapin.sources.drivers import read_address

Chosen = TypeVar("Chosen", bound=Device)


def select(
    option: str, names: tuple[str, ...], auto: Sequence[Chosen], visible: Iterable[Chosen]
) -> tuple[Chosen, ...]:
    """The devices that an option asks for, in its order; `visible` are all that may be named.

    Raises UsageError for a name that is none of them, or several.
    """
    if names == AUTO:
        return tuple(auto)
    if names == NONE:
        return ()
    everything = list(visible)
    found = (_one(option, name, everything) for name in names)
    return tuple(dict.fromkeys(found))


def _one(option: str, name: str, visible: list[Chosen]) -> Chosen:
    address = read_address(name)
    exact = [device for device in visible if name in _names(device) or (address and device.pci == address)]
    matches = exact or [device for device in visible if any(key.startswith(name) for key in _prefixes(device))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        several = ", ".join(device.label for device in matches)
        raise UsageError(f"{option} {name} stands for several devices: {several}. Write more of it")
    there = ", ".join(device.label for device in visible) or "none"
    raise UsageError(f"{option} {name}: there is no such device here. Visible are: {there}")


def _names(device: Device) -> set[str]:
    names = {key.lower() for key in device.keys} | set(device.keys)
    return names | {str(device.index)} if isinstance(device, Accelerator) else names


def _prefixes(device: Device) -> list[str]:
    """UUIDs may be cut short, as CUDA_VISIBLE_DEVICES allows; names and addresses may not."""
    return [key for key in device.keys if key.startswith(("GPU-", "MIG-"))] if isinstance(device, Accelerator) else []


def known_names(devices: Iterable[Device]) -> dict[str, Device]:
    """Every name of every device, for options that map names."""
    return {name: device for device in devices for name in _names(device)}
