"""What the accelerators' drivers say in files: NVIDIA in /proc, AMD in /dev/dri and /sys, Gaudi in /dev/accel."""

import re
from collections.abc import Iterator

from numapin.assignment import Accelerator
from numapin.ids import NodeSet, PciAddress
from numapin.sources.parsing import fields, node_id, number, read
from numapin.sources.pci import function_of
from numapin.sources.root import Root

NVIDIA = "/proc/driver/nvidia/gpus"
AMD_VENDOR = 0x1002

_MINOR = re.compile(r"nvidia(\d{1,3})", re.ASCII)
_RENDER = re.compile(r"renderD\d{1,4}", re.ASCII)
_ACCEL = re.compile(r"accel(\d{1,4})", re.ASCII)


def nvidia_minors(root: Root) -> list[int]:
    """Minors of the /dev/nvidia<minor> that this container has: device minors, not CUDA or NVML indices."""
    found = (_MINOR.fullmatch(name) for name in root.names("/dev"))
    return sorted(int(match[1]) for match in found if match)


def nvidia_by_files(root: Root) -> list[Accelerator]:
    """GPUs without NVML: those of /proc/driver/nvidia/gpus/*/information whose /dev/nvidia<minor> is here.

    Under CDI the directory lists all GPUs of the host, so the device files decide. Ordered by PCI address, as NVML is.
    """
    minors = set(nvidia_minors(root))
    found: list[Accelerator] = []
    for name in root.names(NVIDIA):
        address = read_address(name)
        told = read(root, f"{NVIDIA}/{name}/information", _information) if address else None
        if told and told[0] in minors:
            found.append(Accelerator(address, len(found), "nvidia", told[1], device=f"/dev/nvidia{told[0]}"))
    return found


def _information(text: str) -> tuple[int | None, str | None]:
    """Device minor and UUID; a GPU that nobody opened yet shows question marks for the latter."""
    facts = fields(text)
    uuid = facts.get("GPU UUID")
    minor = number(facts["Device Minor"]) if "Device Minor" in facts else None
    return minor, uuid if uuid and "?" not in uuid else None


def gpu_memory_nodes(root: Root) -> NodeSet:
    """Nodes that are a GPU's own memory: /proc/driver/nvidia/gpus/*/numa_status (nv-procfs.c); POWER9, Grace."""
    nodes: list[int] = []
    for name in root.names(NVIDIA):
        node = read(root, f"{NVIDIA}/{name}/numa_status", _status_node)
        if node is not None:
            nodes.append(node)
    return NodeSet.of(nodes)


def _status_node(text: str) -> int | None:
    node = fields(text).get("Node")
    return None if node is None else node_id(node)


def amd_by_files(root: Root) -> list[Accelerator]:
    """AMD GPUs: render nodes /dev/dri/renderD* whose PCI device is AMD's (/sys/class/drm/<name>/device)."""
    found = dict(_render_functions(root))
    return [
        Accelerator(address, index, "amd", device=f"/dev/dri/{found[address]}")
        for index, address in enumerate(sorted(found))
    ]


def _render_functions(root: Root) -> Iterator[tuple[PciAddress, str]]:
    for name in root.names("/dev/dri"):
        address = function_of(root, f"/sys/class/drm/{name}/device") if _RENDER.fullmatch(name) else None
        # On NVIDIA hosts nvidia-drm makes render nodes too: NVML speaks for those.
        if address and read(root, f"/sys/bus/pci/devices/{address}/vendor", number) == AMD_VENDOR:
            yield address, name


def gaudi_by_files(root: Root) -> list[Accelerator]:
    """Gaudi: /dev/accel/accel<N> with /sys/class/accel/accel<N>/device/pci_addr, or the device link itself."""
    found: list[Accelerator] = []
    numbers = (_ACCEL.fullmatch(name) for name in root.names("/dev/accel"))
    for name in (f"accel{index}" for index in sorted(int(match[1]) for match in numbers if match)):
        device = f"/sys/class/accel/{name}/device"
        address = read_address(root.read(f"{device}/pci_addr") or "") or function_of(root, device)
        found.append(Accelerator(address, len(found), "gaudi", device=f"/dev/accel/{name}"))
    return found


def read_address(text: str) -> PciAddress | None:
    """A PCI address, or None for any other text."""
    try:
        return PciAddress.parse(text)
    except ValueError:
        return None
