"""The accelerators that the server will see: NVML's or the driver files', in the order CUDA_VISIBLE_DEVICES gives."""

from collections.abc import Mapping

from numapin.assignment import Accelerator, Note
from numapin.sources import drivers
from numapin.sources.nvml import Answers, read_nvml
from numapin.sources.root import Root
from numapin.values import replace, value

IGNORED = ("", "void", "none", "all")
"""Values of NVIDIA_VISIBLE_DEVICES that name no device. `void` is what CDI writes while the GPUs are there."""


@value
class Found:
    """Accelerators and what was seen on the way to them."""

    accelerators: tuple[Accelerator, ...] = ()
    notes: tuple[Note, ...] = ()


def read_accelerators(root: Root, environment: Mapping[str, str]) -> Found:
    """All accelerators of this container, of all vendors."""
    nvidia = _nvidia(root, environment)
    amd = _amd(drivers.amd_by_files(root), environment)
    return Found((*nvidia.accelerators, *amd.accelerators, *drivers.gaudi_by_files(root)), (*nvidia.notes, *amd.notes))


def _nvidia(root: Root, environment: Mapping[str, str]) -> Found:
    answers = read_nvml(root, environment)
    if answers is None or answers.failure:
        visible = drivers.nvidia_by_files(root)
        notes = _hidden(root, answers, visible)
    else:
        visible = _from_nvml(answers)
        notes = [
            Note("GPU_HIDDEN", f"GPU {index}", f"GPU {index} cannot be looked at: {error}", warns=False)
            for index, error in answers.lost
        ]
    chosen = _chosen(visible, ("CUDA_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES")))
    absent = _absent(environment, visible)
    return Found(chosen.accelerators, (*notes, *chosen.notes, *absent))


def _from_nvml(answers: Answers) -> list[Accelerator]:
    """One accelerator for each GPU, or for each of its MIG devices where it has been divided."""
    found: list[Accelerator] = []
    for gpu in answers.gpus:
        for mig in gpu.migs or (None,):
            device = None if gpu.minor is None else f"/dev/nvidia{gpu.minor}"
            found.append(Accelerator(gpu.pci, len(found), "nvidia", gpu.uuid, mig, gpu.cpu_affinity, device))
    return found


def _hidden(root: Root, answers: Answers | None, visible: list[Accelerator]) -> list[Note]:
    """NVML failed, or device files are there that nobody explains."""
    failure = answers.failure if answers else None
    unexplained = len(drivers.nvidia_minors(root)) - len(visible)
    if unexplained > 0:
        why = f" ({failure})" if failure else ""
        message = (
            f"{unexplained} of the /dev/nvidia* devices cannot be looked at: neither NVML{why} nor "
            f"{drivers.NVIDIA} says where they are"
        )
        return [Note("GPU_HIDDEN", "GPUs", message, warns=False)]
    if failure and visible:
        return [Note("GPU_HIDDEN", "NVML", f"NVML does not answer ({failure}): the driver's files were read instead")]
    if failure:
        return [Note("GPU_HIDDEN", "NVML", f"NVML does not answer ({failure}), and no GPU is to be seen", warns=False)]
    return []


def _amd(visible: list[Accelerator], environment: Mapping[str, str]) -> Found:
    """ROCr narrows what HIP counts among; HIP reads CUDA's variable where its own is not set."""
    if not visible:
        return Found()
    inner = "HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in environment else "CUDA_VISIBLE_DEVICES"
    runtime = _chosen(visible, ("ROCR_VISIBLE_DEVICES", environment.get("ROCR_VISIBLE_DEVICES")))
    chosen = _chosen(list(runtime.accelerators), (inner, environment.get(inner)))
    return Found(chosen.accelerators, (*runtime.notes, *chosen.notes))


def _chosen(visible: list[Accelerator], choice: tuple[str, str | None]) -> Found:
    """The subset and order that a variable names; all where it is not set.

    The first name that is no device ends the list: CUDA shows neither it nor those after it (CUDA C++ programming
    guide, "CUDA environment variables"); -1 is such a name on purpose.
    """
    name, value = choice
    # Where there is no GPU at all, an index is set for others; a UUID is meant for this very machine.
    if value is None or (not visible and not value.startswith(("GPU-", "MIG-"))):
        return Found(tuple(visible))
    chosen: list[Accelerator] = []
    for token in (part.strip() for part in value.split(",")):
        matches = _matches(visible, token)
        if len(matches) != 1:
            notes = _unresolved(name, value, token, matches)
            return Found(tuple(chosen), notes)
        if matches[0].keys not in [one.keys for one in chosen]:
            one = matches[0]
            position = one.index if one.position is None else one.position
            chosen.append(replace(one, index=len(chosen), position=position))
    return Found(tuple(chosen))


def _unresolved(name: str, value: str, token: str, matches: list[Accelerator]) -> tuple[Note, ...]:
    if token in ("", "-1", "NoDevFiles"):
        return ()
    what = f"several devices ({len(matches)})" if matches else "no device of this container"
    message = f"{name}={value} names {token}, which is {what}: the server sees neither it nor those after it"
    return (Note("DEVICE_ABSENT", token, message),)


def _matches(visible: list[Accelerator], token: str) -> list[Accelerator]:
    """The accelerators that an index, a UUID, a prefix of one, or a MIG UUID stands for."""
    if token.isascii() and token.isdecimal():
        return [one for one in visible if str(one.index) == (token.lstrip("0") or "0")]
    if token.startswith("MIG-"):
        return [one for one in visible if one.mig and _is_mig(one, token)]
    return [one for one in visible if token.startswith("GPU-") and one.uuid and one.uuid.startswith(token)]


def _is_mig(one: Accelerator, token: str) -> bool:
    """`MIG-<uuid>` or a prefix of it; before driver 470 `MIG-GPU-<uuid of the GPU>/<instance>/<instance>`."""
    return bool(one.mig and one.mig.startswith(token)) or token.startswith(f"MIG-{one.uuid}/")


def _absent(environment: Mapping[str, str], visible: list[Accelerator]) -> list[Note]:
    """Devices that NVIDIA_VISIBLE_DEVICES names by UUID and nobody shows. Its indices are the host's: no help here."""
    value = environment.get("NVIDIA_VISIBLE_DEVICES", "")
    if value in IGNORED:
        return []
    named = [token.strip() for token in value.split(",")]
    known = [key for one in visible for key in one.keys]
    return [
        Note("DEVICE_ABSENT", token, f"NVIDIA_VISIBLE_DEVICES names {token}, which is no device of this container")
        for token in named
        if token.startswith(("GPU-", "MIG-")) and not any(key.startswith(token) for key in known)
    ]
