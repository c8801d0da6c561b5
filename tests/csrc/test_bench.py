"""csrc/bench.h on any machine: what is refused, what is left behind, and figures. No test says how fast one is."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from ctypes.util import find_library
from pathlib import Path

import pytest

from numapin._bench import ffi, lib
from numapin._native import ffi as native_ffi
from numapin._native import lib as native

READ, WRITE, COPY = 0, 1, 2
KIB, MIB = 1 << 10, 1 << 20
CPU = min(os.sched_getaffinity(0))
NOWHERE = -1  # no node: the kernel puts the memory where it likes
ABSENT_CPU, ABSENT_NODE = 8000, 1000
SHORT = 0.02

# The functions of the driver whose refusal ends the work, as copies.c names them.
CALLS = sorted(set(re.findall(r"CALL\(copies, (cu\w+)", (Path(__file__).parents[2] / "csrc/copies.c").read_text())))

# In a process of its own: the loader reads LD_LIBRARY_PATH at its start.
COPIES = """
import ctypes, json, sys
from numapin._bench import ffi, lib
up, down, why = ffi.new("double *"), ffi.new("double *"), ffi.new("char[]", int(sys.argv[2]))
returned = lib.numapin_bench_copies(sys.argv[1].encode(), CPU, -1, 1 << 20, 0.02, up, down, why, len(why))
held = ctypes.CDLL("libcuda.so.1").standin_held() if len(sys.argv) > 3 else 0
print(json.dumps([returned, up[0], down[0], ffi.string(why).decode(), held]))
""".replace("CPU", str(CPU))


def latency(cpu=CPU, node=NOWHERE, size=16 * KIB, seconds=SHORT):
    """What the call returned, the nanoseconds, and whether huge pages were there."""
    nanoseconds, huge = ffi.new("double *"), ffi.new("int *", -1)
    return lib.numapin_bench_latency(cpu, node, size, seconds, nanoseconds, huge), nanoseconds[0], huge[0]


def bandwidth(cpus=(CPU,), node=NOWHERE, size=2 * MIB, seconds=SHORT, kind=READ):
    rate = ffi.new("double *")
    return lib.numapin_bench_bandwidth(list(cpus), len(cpus), node, size, seconds, kind, rate), rate[0]


def wakeup(waker=CPU, sleeper=CPU, seconds=SHORT):
    median, p99 = ffi.new("double *"), ffi.new("double *")
    return lib.numapin_bench_wakeup(waker, sleeper, seconds, median, p99), median[0], p99[0]


def policy() -> tuple[int, bytes]:
    mode, words = native_ffi.new("int *"), native_ffi.new("unsigned long[]", 64)
    assert native.numapin_get_mempolicy(mode, words, 4096) == 0
    return mode[0], bytes(native_ffi.buffer(words))


def resident_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def everything(node=NOWHERE) -> list[int]:
    """What each call returned that works on memory or CPUs."""
    kinds = [bandwidth(node=node, kind=kind)[0] for kind in (READ, WRITE, COPY)]
    return [latency(node=node)[0], wakeup()[0], *kinds]


@pytest.fixture
def node() -> int:
    """The first node with memory that this process may use: a list such as 0-1,4 begins with it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    allowed = next(line.split()[1] for line in lines if line.startswith("Mems_allowed_list:"))
    return int(allowed.replace("-", ",").split(",")[0])


@pytest.fixture(scope="module")
def standin(tmp_path_factory) -> Path:
    """The folder of a libcuda.so.1 made of cuda.c."""
    folder = tmp_path_factory.mktemp("cuda")
    source = Path(__file__).with_name("cuda.c")
    made = folder / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", made, source], check=True)
    return folder


def copies(folder: Path, fails="", pci="0000:65:00.0", length=200):
    """What the call returned, both rates, why, and what the stand-in still holds."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder), "FAILS": fails}
    words = [sys.executable, "-c", COPIES, pci, str(length), *(["held"] if any(folder.iterdir()) else [])]
    return json.loads(subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout)


def test_a_large_buffer_takes_longer_than_one_that_fits_the_first_cache(node):
    """Less than a huge page is on none; nor is anything where the administrator said never."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    never = not setting.exists() or "[never]" in setting.read_text()
    small, large = latency(node=node), latency(node=node, size=64 * MIB)
    assert small[0] == large[0] == 0
    assert 0.2 < small[1] < large[1] < 2000
    assert small[2] == 0
    assert large[2] in ({0} if never else {0, 1})


def test_the_smallest_buffers_have_a_latency():
    assert {latency(size=size)[0] for size in (64, 65, 128, 4097)} == {0}


@pytest.mark.parametrize("kind", [READ, WRITE, COPY])
@pytest.mark.parametrize("size", [128 * 1024, 8 * MIB])
def test_every_kind_has_a_bandwidth(kind, size, node):
    """Between what a floppy disk does and what no core's own cache does."""
    returned, rate = bandwidth(node=node, size=size, kind=kind)
    assert returned == 0
    assert 1e6 < rate < 1e13


def test_all_cpus_stream_together_and_one_may_be_named_twice(node):
    cpus = sorted(os.sched_getaffinity(0))[:8]
    assert bandwidth([*cpus, CPU], node=node, size=16 * MIB)[0] == 0


def test_a_wake_up_has_a_median_and_a_slower_percentile():
    for waker in sorted(os.sched_getaffinity(0))[:2]:
        returned, median, p99 = wakeup(waker)
        assert returned == 0
        assert 0 < median <= p99


def test_a_cpu_that_is_not_here_is_refused():
    """Also as the last of several, when the others wait for it already; and one that no kernel can have."""
    for absent in (ABSENT_CPU, 1 << 31):
        assert latency(absent)[0] == -errno.EINVAL
        assert bandwidth([CPU, absent])[0] == -errno.EINVAL
        assert bandwidth([absent])[0] == -errno.EINVAL
        assert wakeup(absent)[0] == -errno.EINVAL
        assert wakeup(CPU, absent)[0] == -errno.EINVAL


def test_a_node_that_is_not_here_is_refused():
    for absent in (ABSENT_NODE, 1 << 20):
        assert latency(node=absent)[0] == -errno.EINVAL
        assert bandwidth([CPU, CPU], node=absent)[0] == -errno.EINVAL


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_no_time_is_refused(seconds):
    assert latency(seconds=seconds)[0] == -errno.EINVAL
    assert bandwidth(seconds=seconds)[0] == -errno.EINVAL
    assert wakeup(seconds=seconds)[0] == -errno.EINVAL


def test_no_memory_no_cpus_and_no_such_kind_are_refused():
    """No memory is also less than a line, or than a share for each thread; more than there can be is ENOMEM."""
    assert [latency(size=size)[0] for size in (0, 63)] == [-errno.EINVAL] * 2
    assert bandwidth(size=0)[0] == bandwidth([CPU, CPU], size=255)[0] == -errno.EINVAL
    assert [latency(size=size)[0] for size in (2**64 - 1, 2**62)] == [-errno.ENOMEM] * 2
    assert bandwidth(size=2**64 - 1)[0] == -errno.ENOMEM
    assert bandwidth([])[0] == bandwidth(kind=3)[0] == bandwidth(kind=-1)[0] == -errno.EINVAL


def test_a_call_ends_when_its_time_is_over():
    for call in (latency, bandwidth, wakeup):
        start = time.monotonic()
        assert call(seconds=0.2)[0] == 0
        assert 0.1 < time.monotonic() - start < 5


def test_memory_threads_and_files_are_given_back(node):
    """Also by the calls that fail half-way: bound to no node, on no CPU."""
    everything(node)  # the stacks that the C library keeps for the next threads
    before, files, tasks = resident_kib(), os.listdir("/proc/self/fd"), os.listdir("/proc/self/task")
    for _ in range(3):
        latency(node=node, size=64 * MIB)
        bandwidth([CPU, CPU], node=node, size=64 * MIB)
        bandwidth([CPU, ABSENT_CPU], node=node, size=64 * MIB)
        latency(node=ABSENT_NODE, size=64 * MIB)
    assert resident_kib() - before < 16 * 1024
    assert len(os.listdir("/proc/self/task")) == len(tasks)
    assert len(os.listdir("/proc/self/fd")) == len(files)


def test_other_python_threads_run_meanwhile():
    """The call gives up the interpreter's lock: this thread counts while another is in the call."""
    for call in (latency, bandwidth, wakeup):
        counted = 0
        with ThreadPoolExecutor() as pool:
            called = pool.submit(call, seconds=0.3)
            while not called.done():
                time.sleep(0.005)
                counted += 1
        assert called.result()[0] == 0
        assert counted > 2


def test_affinity_and_policy_of_the_caller_stay(node):
    before = os.sched_getaffinity(0), policy()
    assert everything(node) == [0] * 5
    assert everything(ABSENT_NODE) == [-errno.EINVAL, 0] + [-errno.EINVAL] * 3
    assert (os.sched_getaffinity(0), policy()) == before


def test_calls_from_several_threads_do_not_meet(node):
    """No function keeps state."""
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(everything, [node] * 3)) == [[0] * 5] * 3


@pytest.mark.skipif(find_library("cuda") is not None, reason="this machine has a driver")
def test_copies_without_a_driver_say_so(tmp_path):
    assert copies(tmp_path) == [-errno.ENOSYS, 0, 0, "libcuda.so.1 is not here", 0]


def test_copies_go_both_ways_and_leave_nothing_with_the_driver(standin):
    returned, up, down, why, held = copies(standin)
    assert (returned, why, held) == (0, "", 0)
    assert up > 0
    assert down > 0


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_the_driver_refuses_is_named_and_nothing_stays_taken(name, standin):
    returned, _, _, why, held = copies(standin, fails=name)
    assert (returned, why, held) == (-errno.EIO, f"{name}: unspecified launch failure", 0)


def test_why_is_cut_to_the_room_there_is(standin):
    assert copies(standin, pci="0000:66:00.0")[::3] == [-errno.EIO, "cuDeviceGetByPCIBusId: no such device"]
    assert copies(standin, fails="cuInit", length=8)[3] == "cuInit:"


def test_a_driver_without_a_function_is_no_driver(tmp_path):
    empty = tmp_path / "libcuda.so.1"
    source = "int cuInit(unsigned flags) { return flags; } int standin_held(void) { return 0; }"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", empty, "-x", "c", "-"], input=source, text=True, check=True)
    assert copies(tmp_path)[::3] == [-errno.ENOSYS, "libcuda.so.1 has no cuGetErrorString"]


def test_copies_refuse_what_the_others_refuse():
    """Before a driver is looked for: a CPU that is not here, no memory, no time."""
    up, down, why = ffi.new("double *"), ffi.new("double *"), ffi.new("char[]", 100)
    for cpu, size, seconds in ((ABSENT_CPU, MIB, SHORT), (CPU, 0, SHORT), (CPU, MIB, 0.0)):
        returned = lib.numapin_bench_copies(b"0000:65:00.0", cpu, NOWHERE, size, seconds, up, down, why, len(why))
        assert returned == -errno.EINVAL
