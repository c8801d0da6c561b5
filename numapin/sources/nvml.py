"""NVIDIA's GPUs as the driver's library enumerates them, through pynvml; or as a capture kept its answers.

NVML shows the GPUs whose device files this container may open, in the order of their PCI addresses, and knows
nothing of CUDA_VISIBLE_DEVICES (NVML API reference, nvmlDeviceGetHandleByIndex_v2).
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from numapin.ids import CpuSet, PciAddress
from numapin.sources.drivers import nvidia_minors
from numapin.sources.parsing import read
from numapin.sources.root import Root
from numapin.values import value

CAPTURED = "/numapin/nvml.json"
LIBRARY = "libnvidia-ml.so.1"
CALLS = (
    "NVMLError",
    "nvmlInit",
    "nvmlShutdown",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetCpuAffinityWithinScope",
    "NVML_AFFINITY_SCOPE_NODE",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "NVML_DEVICE_MIG_ENABLE",
)
"""What of pynvml is used: a deprecated package of the same module name has only some of it."""


@value
class Gpu:
    """A GPU as NVML tells it; None for what it did not tell."""

    index: int
    uuid: str | None
    pci: PciAddress | None
    cpu_affinity: CpuSet | None
    migs: tuple[str, ...] = ()
    """UUIDs of its MIG devices that this container may use."""
    minor: int | None = None
    """Of its device file, /dev/nvidia<minor>: not its index."""


@value
class Answers:
    """What NVML answered."""

    gpus: tuple[Gpu, ...] = ()
    failure: str | None = None
    """Why NVML as a whole did not answer."""
    lost: tuple[tuple[int, str], ...] = ()
    """Index and error of each GPU that could not be looked at."""


def read_nvml(root: Root, environment: Mapping[str, str]) -> Answers | None:
    """What NVML says; None where there is no NVIDIA driver to ask."""
    if not root.is_live:
        return read(root, CAPTURED, parse_answers)
    if not _driver_in_sight(root, environment):
        return None
    possible = read(root, "/sys/devices/system/cpu/possible", CpuSet.parse) or CpuSet.of([1023])
    return _ask(words=max(possible) // 64 + 1)


def _driver_in_sight(root: Root, environment: Mapping[str, str]) -> bool:
    """Device files, or the library in LD_LIBRARY_PATH (WSL has no /dev/nvidia*): pynvml costs 20 ms to import."""
    if nvidia_minors(root) or {"nvidiactl", "dxg"} & set(root.names("/dev")):
        return True
    folders = environment.get("LD_LIBRARY_PATH", "").split(":")
    return any(folder and os.path.exists(f"{folder}/{LIBRARY}") for folder in folders)


def _ask(words: int) -> Answers:
    """Enumerate through the real library; `words` 64-bit words hold a mask of all CPUs."""
    try:
        import pynvml  # noqa: PLC0415 -- 20 ms, and only containers with an NVIDIA driver need it
    except Exception as error:  # noqa: BLE001 -- a foreign module of that name may raise anything
        return Answers(failure=f"pynvml cannot be imported: {error}")
    missing = [name for name in CALLS if not hasattr(pynvml, name)]
    if missing:
        return Answers(failure=f"the module pynvml here is not that of nvidia-ml-py: it lacks {missing[0]}")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Answers(failure=f"nvmlInit: {error}")
    try:
        return _enumerate(pynvml, words)
    except pynvml.NVMLError as error:
        return Answers(failure=f"nvmlDeviceGetCount: {error}")
    finally:
        _quietly(pynvml, pynvml.nvmlShutdown)


def _enumerate(pynvml: Any, words: int) -> Answers:
    gpus: list[Gpu] = []
    lost: list[tuple[int, str]] = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        except pynvml.NVMLError as error:
            lost.append((index, str(error)))
            continue
        gpus.append(
            Gpu(
                index=index,
                uuid=_quietly(pynvml, pynvml.nvmlDeviceGetUUID, handle),
                pci=_pci(pynvml, handle),
                cpu_affinity=_cpu_affinity(pynvml, handle, words),
                migs=tuple(_migs(pynvml, handle)),
                minor=_quietly(pynvml, pynvml.nvmlDeviceGetMinorNumber, handle),
            )
        )
    return Answers(tuple(gpus), lost=tuple(lost))


def _quietly(pynvml: Any, call: Any, *arguments: Any) -> Any:
    """The answer of a call whose failure only means that its answer is not known."""
    try:
        return call(*arguments)
    except (pynvml.NVMLError, UnicodeDecodeError):
        return None


def _pci(pynvml: Any, handle: Any) -> PciAddress | None:
    """The numbers, not the text: busId has eight digits of domain where sysfs has four."""
    info = _quietly(pynvml, pynvml.nvmlDeviceGetPciInfo, handle)
    return PciAddress(info.domain, info.bus, info.device, 0) if info else None


def _cpu_affinity(pynvml: Any, handle: Any, words: int) -> CpuSet | None:
    scope = pynvml.NVML_AFFINITY_SCOPE_NODE
    answer = _quietly(pynvml, pynvml.nvmlDeviceGetCpuAffinityWithinScope, handle, words, scope)
    if answer is None:
        return None
    mask = sum(int(word) << 64 * place for place, word in enumerate(answer))
    # An empty mask is no information (Slurm cgroups, nvidia-docker issue 65).
    return CpuSet(mask) if mask else None


def _migs(pynvml: Any, handle: Any) -> Iterator[str]:
    mode = _quietly(pynvml, pynvml.nvmlDeviceGetMigMode, handle)
    if not mode or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
        return
    for slot in range(_quietly(pynvml, pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        device = _quietly(pynvml, pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, slot)
        uuid = _quietly(pynvml, pynvml.nvmlDeviceGetUUID, device) if device else None
        if uuid:
            yield uuid


def parse_answers(text: str) -> Answers:
    """The answers that a capture kept as JSON. Raises ValueError where the text is not such a record."""
    import json  # noqa: PLC0415 -- only captures need it

    try:
        told = json.loads(text)
        lost = tuple((_typed(int, index), _typed(str, error)) for index, error in told.get("lost", ()))
        return Answers(
            tuple(_gpu(entry) for entry in told["gpus"]), _typed((str, type(None)), told.get("failure")), lost
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a record of NVML answers: {error!r}") from None


def _typed(kinds: Any, content: Any) -> Any:
    if not isinstance(content, kinds):
        raise TypeError(f"{content!r} is out of place")
    return content


def record(answers: Answers) -> dict[str, Any]:
    """The answers as a capture keeps them; the other way round from `parse_answers`."""
    gpus = [
        {
            "index": gpu.index,
            "uuid": gpu.uuid,
            "pci": str(gpu.pci) if gpu.pci else None,
            "cpus": None if gpu.cpu_affinity is None else str(gpu.cpu_affinity),
            "migs": list(gpu.migs),
            "minor": gpu.minor,
        }
        for gpu in answers.gpus
    ]
    return {"gpus": gpus, "failure": answers.failure, "lost": [list(one) for one in answers.lost]}


def _gpu(entry: dict[str, Any]) -> Gpu:
    optional = (str, type(None))
    pci, cpus = _typed(optional, entry.get("pci")), _typed(optional, entry.get("cpus"))
    return Gpu(
        index=_typed(int, entry["index"]),
        uuid=_typed(optional, entry.get("uuid")),
        pci=PciAddress.parse(pci) if pci else None,
        cpu_affinity=CpuSet.parse(cpus) if cpus else None,
        migs=tuple(_typed(str, mig) for mig in _typed(list, entry.get("migs", []))),
        minor=_typed((int, type(None)), entry.get("minor")),
    )
