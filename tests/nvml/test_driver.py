"""The real pynvml against the tests' own driver library: what the other tests rely on when they say "a GPU"."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.nvml.driver import DRIVER, VARIABLE, Ancestor, Error, Gpu, Mig, answers

Ask = Callable[..., Any]  # conftest.py's fixture

# NVML_ERROR_*: what nvml.h documents for these calls, and 999 for all else.
CODES = (1, 2, 3, 4, 7, 9, 12, 13, 15, 18, 999)

# How pynvml reaches each function: `gpu` is GPU 0's handle, `mig` that of the MIG device on it.
CALLS = {
    "nvmlInit_v2": "n.nvmlInit()",
    "nvmlInitWithFlags": "n.nvmlInitWithFlags(0)",
    "nvmlShutdown": "n.nvmlShutdown()",
    "nvmlSystemGetDriverVersion": "n.nvmlSystemGetDriverVersion()",
    "nvmlDeviceGetCount_v2": "n.nvmlDeviceGetCount()",
    "nvmlDeviceGetHandleByIndex_v2": "n.nvmlDeviceGetHandleByIndex(0)",
    "nvmlDeviceGetHandleByUUID": "n.nvmlDeviceGetHandleByUUID('GPU-0')",
    "nvmlDeviceGetHandleByPciBusId_v2": "n.nvmlDeviceGetHandleByPciBusId('00000000:03:00.0')",
    "nvmlDeviceGetPciInfo_v3": "n.nvmlDeviceGetPciInfo(gpu)",
    "nvmlDeviceGetUUID": "n.nvmlDeviceGetUUID(gpu)",
    "nvmlDeviceGetMinorNumber": "n.nvmlDeviceGetMinorNumber(gpu)",
    "nvmlDeviceGetIndex": "n.nvmlDeviceGetIndex(gpu)",
    "nvmlDeviceGetName": "n.nvmlDeviceGetName(gpu)",
    "nvmlDeviceGetCpuAffinityWithinScope": "n.nvmlDeviceGetCpuAffinityWithinScope(gpu, 2, 0)",
    "nvmlDeviceGetMemoryAffinity": "n.nvmlDeviceGetMemoryAffinity(gpu, 1, 0)",
    "nvmlDeviceGetNumaNodeId": "n.nvmlDeviceGetNumaNodeId(gpu)",
    "nvmlDeviceGetTopologyCommonAncestor": "n.nvmlDeviceGetTopologyCommonAncestor(gpu, gpu)",
    "nvmlDeviceGetMigMode": "n.nvmlDeviceGetMigMode(gpu)",
    "nvmlDeviceGetMaxMigDeviceCount": "n.nvmlDeviceGetMaxMigDeviceCount(gpu)",
    "nvmlDeviceGetMigDeviceHandleByIndex": "n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)",
    "nvmlDeviceIsMigDeviceHandle": "n.nvmlDeviceIsMigDeviceHandle(mig)",
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": "n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)",
    "nvmlDeviceGetGpuInstanceId": "n.nvmlDeviceGetGpuInstanceId(mig)",
    "nvmlDeviceGetComputeInstanceId": "n.nvmlDeviceGetComputeInstanceId(mig)",
}


def gpu(index: int, **fields: Any) -> Gpu:
    """A GPU that differs from its neighbours in everything that names it."""
    named: dict[str, Any] = {"uuid": f"GPU-{index}", "pci": f"0000:{index + 3:02x}:00.0"}
    return Gpu(**(named | fields))


ONE_OF_EACH = answers([gpu(0, cpus="0-3", nodes="0", numa=2)], [Mig(gpu=0, uuid="MIG-0")])


def test_eight_gpus_on_two_nodes(ask: Ask) -> None:
    """What a DGX tells: four GPUs beside each node, a node being a range of cores and the range of their siblings."""
    near = ({"cpus": "0-31,64-95", "nodes": "0"}, {"cpus": "32-63,96-127", "nodes": "1"})
    gpus = [gpu(index, minor=7 - index, **near[index // 4]) for index in range(8)]
    told = ask(
        answers(gpus),
        """
n.nvmlInit()
result = [[n.nvmlDeviceGetUUID(h), n.nvmlDeviceGetIndex(h), n.nvmlDeviceGetMinorNumber(h), n.nvmlDeviceGetName(h),
           words(n.nvmlDeviceGetCpuAffinityWithinScope(h, 2, 0)), words(n.nvmlDeviceGetMemoryAffinity(h, 1, 0)),
           n.nvmlDeviceGetTopologyCommonAncestor(h, handles()[0])] for h in handles()]
result.append(n.nvmlSystemGetDriverVersion())
""",
    )
    assert told.pop() == DRIVER
    low, high = 0x00000000FFFFFFFF, 0xFFFFFFFF00000000
    for index, answer in enumerate(told):
        words, nodes, level = ([low] * 2, [1], 40) if index < 4 else ([high] * 2, [2], 50)
        expected = [f"GPU-{index}", index, 7 - index, "NVIDIA H100 80GB HBM3", words, nodes, level if index else 0]
        assert answer == expected


def test_pci_address_as_the_driver_writes_it(ask: Ask) -> None:
    """Upper case, eight digits of domain, also a domain beyond 16 bits (Hyper-V, VMD); found again by any spelling."""
    told = ask(
        answers([gpu(0, pci="0000:3b:00.0"), gpu(1, pci="0001ABCD:C1:1F.0")]),
        """
n.nvmlInit()
infos = [n.nvmlDeviceGetPciInfo(h) for h in handles()]
by = lambda text: n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByPciBusId(text))
result = [[[i.busId, i.busIdLegacy, i.domain, i.bus, i.device, i.pciDeviceId & 0xffff] for i in infos],
          [by("00000000:3B:00.0"), by("0000:3b:00.0"), by("3B:00.0"), by("1abcd:c1:1f.0")],
          [code(n.nvmlDeviceGetHandleByPciBusId, text) for text in ("0000:3c:00.0", "3b", "", "x", "0:3b:20.0")]]
""",
    )
    assert told[0][0] == ["00000000:3B:00.0", "0000:3B:00.0", 0, 0x3B, 0, 0x10DE]
    assert told[0][1] == ["0001ABCD:C1:1F.0", "ABCD:C1:1F.0", 0x1ABCD, 0xC1, 0x1F, 0x10DE]
    assert told[1] == ["GPU-0", "GPU-0", "GPU-0", "GPU-1"]
    assert told[2] == [6, 2, 2, 2, 2]


def test_affinity_of_a_machine_with_more_than_1024_cpus(ask: Ask) -> None:
    """As many words as were asked for, whatever the machine has; scopes apart; and no answer where there is none."""
    wide = gpu(0, cpus="1000-1055,2047,8191", nodes="0,63-64", socket_cpus="0-8191")
    told = ask(
        answers([wide, gpu(1), gpu(2, cpus="")]),
        """
n.nvmlInit()
first, silent, empty = handles()
cpus, nodes = n.nvmlDeviceGetCpuAffinityWithinScope, n.nvmlDeviceGetMemoryAffinity
result = [words(cpus(first, 200, 0)), words(cpus(first, 128, 1)), words(nodes(first, 2, 1)), words(cpus(first, 1, 0)),
          code(cpus, silent, 2, 0), code(nodes, silent, 1, 0), words(cpus(empty, 2, 0)),
          code(cpus, first, 0, 0), code(cpus, first, 1, 2)]
""",
    )
    bits = sum(word << 64 * place for place, word in enumerate(told[0]))
    assert [cpu for cpu in range(200 * 64) if bits >> cpu & 1] == [*range(1000, 1056), 2047, 8191]
    assert told[1:] == [[2**64 - 1] * 128, [1 | 1 << 63, 1], [0], 3, 3, [0, 0], 2, 2]


def test_mig_devices_lead_to_their_parent(ask: Ask) -> None:
    """A MIG handle has names of its own and no place of its own; its parent's index list has gaps."""
    migs = [Mig(gpu=1, uuid="MIG-a", index=2, gpu_instance=9), Mig(gpu=1, uuid="MIG-b", compute_instance=1, name="1g")]
    told = ask(
        answers([gpu(0), gpu(1, cpus="0-3", nodes="0", numa=1), gpu(2, mig=True)], migs),
        """
n.nvmlInit()
gpus, migs = handles(), [n.nvmlDeviceGetHandleByUUID(uuid) for uuid in ("MIG-a", "MIG-b")]
parent = lambda mig: n.nvmlDeviceGetUUID(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig))
result = [[n.nvmlDeviceGetMigMode(h) + [n.nvmlDeviceGetMaxMigDeviceCount(h)] for h in gpus],
          [[n.nvmlDeviceGetUUID(m), n.nvmlDeviceGetIndex(m), n.nvmlDeviceGetGpuInstanceId(m),
            n.nvmlDeviceGetComputeInstanceId(m), parent(m)] for m in migs],
          [code(n.nvmlDeviceGetMigDeviceHandleByIndex, gpus[1], i) for i in range(4)],
          [n.nvmlDeviceIsMigDeviceHandle(h).value for h in (gpus[1], *migs)],
          [code(call, migs[0], *more) for call, *more in (
              (n.nvmlDeviceGetPciInfo,), (n.nvmlDeviceGetMinorNumber,), (n.nvmlDeviceGetMemoryAffinity, 1, 0),
              (n.nvmlDeviceGetCpuAffinityWithinScope, 1, 0), (n.nvmlDeviceGetNumaNodeId,))],
          [code(call, gpus[0]) for call in (n.nvmlDeviceGetGpuInstanceId, n.nvmlDeviceGetNumaNodeId)],
          n.nvmlDeviceGetName(migs[1])]
""",
    )
    assert told[0] == [[0, 0, 0], [1, 1, 7], [1, 1, 7]]
    assert told[1] == [["MIG-a", 2, 9, 0, "GPU-1"], ["MIG-b", 0, 1, 1, "GPU-1"]]
    assert told[2:] == [[0, 6, 0, 6], [0, 1, 1], [2] * 5, [2, 3], "1g"]


def test_every_function_answers(ask: Ask) -> None:
    """CALLS reaches every function, and without an error line none fails."""
    calls = "; ".join(CALLS.values())
    find = "gpu = n.nvmlDeviceGetHandleByIndex(0); mig = n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)"
    assert ask(ONE_OF_EACH, f"n.nvmlInit(); {find}; {calls}; result = 0") == 0


@pytest.mark.parametrize("function", CALLS)
def test_every_function_fails_as_told(ask: Ask, function: str) -> None:
    """Each code comes back as pynvml's error of that value, and the rest of the driver stays well."""
    script = f"""
path = os.environ["{VARIABLE}"]
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(0)
mig = n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
n.nvmlShutdown()
result = []
for value in {CODES}:
    open(path, "w").write({ONE_OF_EACH!r} + f"error {function} {{value}}\\n")
    started = code(n.nvmlInit)
    result.append(started or code(lambda: {CALLS[function]}))
    code(n.nvmlShutdown)
"""
    assert ask(ONE_OF_EACH, script) == list(CODES)


def test_an_error_of_one_gpu_spares_the_others(ask: Ask) -> None:
    """A GPU that fell off the bus takes its MIG devices with it; its neighbour goes on."""
    errors = [Error("nvmlDeviceGetUUID", 15, gpu=1), Error("nvmlDeviceGetHandleByIndex_v2", 4, gpu=2)]
    told = ask(
        answers([gpu(0), gpu(1), gpu(2)], [Mig(gpu=1, uuid="MIG-1")], errors, ancestors=[Ancestor(1, 0, 20)]),
        """
n.nvmlInit()
first, second, mig = [n.nvmlDeviceGetHandleByUUID(uuid) for uuid in ("GPU-0", "GPU-1", "MIG-1")]
result = [[code(n.nvmlDeviceGetUUID, h) for h in (first, second, mig)],
          [code(n.nvmlDeviceGetHandleByIndex, i) for i in range(4)],
          code(n.nvmlDeviceGetHandleByUUID, "GPU-9"), n.nvmlDeviceGetTopologyCommonAncestor(first, second)]
""",
    )
    assert told == [[0, 15, 15], [0, 0, 4, 2], 6, 20]
