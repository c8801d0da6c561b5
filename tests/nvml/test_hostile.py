"""Answers files that make no sense, and callers that do not either: nvmlInit says 999 or 9, and nothing crashes."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.driver import SONAME, VARIABLE, Error, Gpu, Mig, answers, build

Ask = Callable[..., Any]  # conftest.py's fixture

GPU = Gpu(uuid="GPU-0", pci="0000:3b:00.0", cpus="0-3", nodes="0")
WHOLE = answers([GPU], [Mig(gpu=0, uuid="MIG-0")], [Error("nvmlDeviceGetUUID", 15, gpu=0)])
START = "driver 1\ngpu 0 uuid=GPU-0 pci=0:3b:0.0"

SENSELESS = {
    "empty": "",
    "only a comment": "# driver 1\n",
    "zeroes": "\0" * 4096,
    "zero in a line": "driver 1\0\n",
    "noise": bytes(range(256)) * 16,
    "line ends of another system": "driver 1\r\n",
    "longer than a megabyte": "# \n" * 400_000,
    "one endless line": "driver " + "1" * (1 << 20),
    "no version": "driver\n",
    "two versions": "driver 1 2\n",
    "version longer than NVML's buffer": f"driver {'1' * 80}\n",
    "unknown statement": "driver 1\ngpus 0\n",
    "no index": "driver 1\ngpu\n",
    "index that is no number": "driver 1\ngpu x uuid=GPU-0 pci=0:3b:0.0\n",
    "index that skips one": "driver 1\ngpu 1 uuid=GPU-0 pci=0:3b:0.0\n",
    "no uuid": "driver 1\ngpu 0 pci=0:3b:0.0\n",
    "no address": "driver 1\ngpu 0 uuid=GPU-0\n",
    "empty uuid": "driver 1\ngpu 0 uuid= pci=0:3b:0.0\n",
    "uuid longer than NVML's buffer": f"driver 1\ngpu 0 uuid={'G' * 80} pci=0:3b:0.0\n",
    "address in words": "driver 1\ngpu 0 uuid=GPU-0 pci=here\n",
    "device 32 of a bus": "driver 1\ngpu 0 uuid=GPU-0 pci=0:3b:20.0\n",
    "second function": "driver 1\ngpu 0 uuid=GPU-0 pci=0:3b:00.1\n",
    "unknown field": f"{START} cpu=0\n",
    "field without a value": f"{START} cpus\n",
    "negative minor": f"{START} minor=-1\n",
    "CPU beyond the kernel's most": f"{START} cpus=8192\n",
    "CPU beyond any number": f"{START} cpus=99999999999999999999\n",
    "negative CPU": f"{START} cpus=-1\n",
    "range backwards": f"{START} cpus=3-1\n",
    "range without an end": f"{START} cpus=3-\n",
    "list with a hole": f"{START} cpus=1,,2\n",
    "list without an end": f"{START} cpus=1,\n",
    "node beyond the kernel's most": f"{START} nodes=1024\n",
    "more GPUs than fit": answers([GPU] * 257),
    "MIG on no GPU": "driver 1\nmig 0 uuid=MIG-0\n",
    "MIG without a uuid": f"{START}\nmig 0 gi=1\n",
    "MIG with an address": f"{START}\nmig 0 uuid=MIG-0 pci=0:3b:0.0\n",
    "MIG index twice": answers([GPU], [Mig(gpu=0, uuid="MIG-a", index=1), Mig(gpu=0, uuid="MIG-b", index=1)]),
    "eight MIG devices": answers([GPU], [Mig(gpu=0, uuid="MIG-a")] * 8),
    "error of an unknown function": answers([GPU], errors=[Error("nvmlDeviceGetUuid", 15)]),
    "error of a function without codes": answers([GPU], errors=[Error("nvmlErrorString", 15)]),
    "error that is none": answers([GPU], errors=[Error("nvmlDeviceGetUUID", 0)]),
    "error without a code": f"{START}\nerror nvmlDeviceGetUUID\n",
    "error of an absent GPU": answers([GPU], errors=[Error("nvmlDeviceGetUUID", 15, gpu=1)]),
    "error of a GPU where none is asked": answers([GPU], errors=[Error("nvmlDeviceGetCount_v2", 15, gpu=0)]),
    "more errors than fit": answers([GPU], errors=[Error("nvmlDeviceGetUUID", 15)] * 1025),
    "ancestor of an absent GPU": f"{START}\nancestor 0 1 20\n",
    "ancestor that NVML has no word for": f"{START}\nancestor 0 0 15\n",
}

INIT = "result = [code(n.nvmlInit), code(n.nvmlDeviceGetCount), code(n.nvmlDeviceGetHandleByUUID, 'GPU-0')]"


@pytest.mark.parametrize("told", SENSELESS.values(), ids=SENSELESS.keys())
def test_senseless_answers_are_an_unknown_error(ask: Ask, told: str | bytes) -> None:
    """999, and half a file answers nothing: the library stays uninitialised."""
    assert ask(told, INIT) == [999, 1, 1]


def test_a_file_that_does_not_open_is_no_driver(ask: Ask, tmp_path: Path) -> None:
    """9 where there is no file, 999 where it is not a file; a pipe without a writer does not block."""
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    kinds = {tmp_path / "absent": 9, tmp_path / "circle": 9, tmp_path: 999, tmp_path / "pipe": 999}
    assert {path: ask(path, INIT)[0] for path in [*kinds, Path("/dev/zero")]} == kinds | {Path("/dev/zero"): 999}
    assert ask(tmp_path, f"del os.environ['{VARIABLE}']; {INIT}") == [9, 1, 1]


def test_broken_copies_of_a_good_file_never_crash(ask: Ask) -> None:
    """A thousand files with a few bytes changed, cut or doubled: each is a driver or is refused."""
    script = f"""
import random
path, good, chance = os.environ["{VARIABLE}"], {WHOLE.encode()!r}, random.Random(1)
result = set()
for _ in range(1000):
    broken = bytearray(good)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(broken) + 1)
        broken[start:start + chance.randint(0, 3)] = chance.choice(
            [b"", b"9", b"-", b",", b"=", b" ", b"\\n", b"#", b"\\xff", bytes(broken[:start])])
    open(path, "wb").write(broken)
    result.add(started := code(n.nvmlInit))
    for h in [] if started else handles():
        for call in (n.nvmlDeviceGetPciInfo, n.nvmlDeviceGetMinorNumber, n.nvmlDeviceGetMigMode):
            code(call, h)
        code(n.nvmlDeviceGetCpuAffinityWithinScope, h, 200, 1)
        code(n.nvmlDeviceGetMigDeviceHandleByIndex, h, 0)
    code(n.nvmlShutdown)
result = sorted(result)
"""
    assert ask(WHOLE, script) == [0, 999]


def test_a_name_that_is_not_text_reaches_pynvml(ask: Ask) -> None:
    """A board's name is bytes from its firmware; pynvml decodes it as UTF-8 and raises no NVMLError when it is not."""
    told = WHOLE.encode().replace(b"NVIDIA H100", b"NVIDIA \xff")
    script = """
n.nvmlInit()
try:
    n.nvmlDeviceGetName(handles()[0])
except Exception as error:
    result = type(error).__name__
"""
    assert ask(told, script) == "UnicodeDecodeError"


def test_senseless_handles_and_buffers_are_invalid(ask: Ask) -> None:
    """What a caller in C can get wrong: foreign pointers, none at all, and buffers that are too small."""
    script = """
n.nvmlInit()
lib, good, room = n.nvmlLib, handles()[0], ctypes.create_string_buffer(96)
address = ctypes.cast(good, ctypes.c_void_p).value
handle = lambda value: ctypes.c_void_p(value)
result = [[lib.nvmlDeviceGetIndex(handle(value), room) for value in (0, 1, address + 8, address - 8, 2**64 - 8)],
          [lib.nvmlDeviceGetIndex(good, None), lib.nvmlDeviceGetCount_v2(None), lib.nvmlDeviceGetName(good, None, 96),
           lib.nvmlDeviceGetHandleByIndex_v2(0, None), lib.nvmlDeviceGetHandleByUUID(None, room),
           lib.nvmlDeviceGetHandleByPciBusId_v2(None, room), lib.nvmlDeviceGetMigMode(good, room, None)],
          [lib.nvmlDeviceGetName(good, room, 5), lib.nvmlSystemGetDriverVersion(room, 0)]]
"""
    assert ask(WHOLE, script) == [[2] * 5, [2] * 7, [7, 7]]


def test_init_and_shutdown_are_counted(ask: Ask) -> None:
    """As nvml.h says: the last nvmlShutdown closes, one more is an error; nvmlInit_v2 serves callers in C and Go."""
    script = """
n._LoadNvmlLibrary()
lib, count = n.nvmlLib, ctypes.c_uint()
steps = [lib.nvmlShutdown(), lib.nvmlInit_v2(), lib.nvmlInitWithFlags(0), lib.nvmlShutdown()]
steps += [lib.nvmlDeviceGetCount_v2(ctypes.byref(count)), lib.nvmlShutdown(), lib.nvmlShutdown()]
lib.nvmlErrorString.restype = ctypes.c_char_p
result = [steps, [lib.nvmlErrorString(value).decode() for value in (0, 9, 999, -1)]]
"""
    words = ["Success", "Driver Not Loaded", "Unknown Error", "Unknown Error"]
    assert ask(WHOLE, script) == [[1, 0, 0, 0, 0, 0, 1], words]


def test_build_compiles_once(tmp_path: Path) -> None:
    """A second build finds the first; the library is alone in its folder and loads."""
    library = build(tmp_path)
    made = library.stat().st_mtime_ns
    assert build(tmp_path) == library
    assert library.stat().st_mtime_ns == made
    assert [path.name for path in library.parent.iterdir()] == [SONAME]
    assert ctypes.CDLL(str(library)).nvmlShutdown() == 1
