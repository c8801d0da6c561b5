"""Lists and masks, as the kernel prints them: lib/vsprintf.c's %*pbl and %*pb."""

import glob
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numapin.ids import CpuSet, IdSet, NodeSet, PciAddress
from numapin.sources.opening import open_root
from tests.machines.captured import GPU_HOSTS, HWLOC, archive

ids = st.sets(st.integers(0, 2048))


def as_list(members: set[int]) -> str:
    """The kernel's list format, the slow way: one member after the other."""
    text = ""
    for member in sorted(members):
        begins, goes_on = member - 1 not in members, member + 1 in members
        if begins:
            text += f",{member}"
        elif not goes_on:
            text += f"-{member}"
    return text[1:]


def as_mask(members: set[int], bits: int) -> str:
    """The kernel's mask format, bit by bit: words of 32 bits, the highest first and only as wide as its bits."""
    digits = ""
    for low in range(0, bits, 4):
        digit = sum(1 << bit for bit in range(4) if low + bit in members)
        digits = f"{digit:x}{',' if low and not low % 32 else ''}{digits}"
    return digits


@given(ids)
def test_a_set_prints_as_the_kernels_list_and_reads_back(members: set[int]) -> None:
    assert str(IdSet.of(members)) == as_list(members)
    assert IdSet.parse(as_list(members)) == IdSet.of(members)


@given(ids, st.integers(0, 100))
def test_a_set_prints_as_the_kernels_mask_and_reads_back(members: set[int], spare: int) -> None:
    bits = max(members, default=0) + 1 + spare
    assert IdSet.of(members).format_mask(bits) == as_mask(members, bits)
    assert IdSet.parse_mask(as_mask(members, bits)) == IdSet.of(members)


@given(ids, ids)
def test_sets_are_sets(one: set[int], other: set[int]) -> None:
    first, second = IdSet.of(one), IdSet.of(other)
    assert set(first & second) == one & other
    assert set(first | second) == one | other
    assert set(first - second) == one - other
    assert (first <= second, first < second, bool(first), len(first)) == (
        one <= other,
        one < other,
        bool(one),
        len(one),
    )
    assert list(first) == sorted(one)
    assert all((member in first) == (member in one) for member in one | other)


@given(st.lists(st.integers(0, 300), max_size=6))
def test_a_list_reads_in_any_order_and_with_repetitions(members: list[int]) -> None:
    assert set(CpuSet.parse(",".join(map(str, members)))) == set(members)


@pytest.mark.parametrize("text", ["3-1", "1-", "-1", "a", "1,,2", "1;2", "0-65536", "1.5", "²", "0x3", "1 2", "1-2-3"])
def test_a_list_that_the_kernel_does_not_write_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is (not a list like 0-3,8|out of range)") as raised:
        NodeSet.parse(text)
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize("text", ["", "g", "1,,2", "123456789", "ffffffff,", "-1", ",".join(["1"] * 3000)])
def test_a_mask_that_the_kernel_does_not_write_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is (not a mask like|out of range)"):
        CpuSet.parse_mask(text)


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7))
def test_a_pci_address_prints_as_sysfs_names_it(domain: int, bus: int, device: int, function: int) -> None:
    """Also where the domain has more than four digits, and as NVML writes it."""
    text = f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}"
    assert str(PciAddress.parse(text)) == text
    assert str(PciAddress.parse(f"{domain:08X}:{bus:02X}:{device:02X}.{function:X}")) == text


@pytest.mark.parametrize("name", ["online", "possible", "present"])
def test_this_kernels_cpu_lists_read_and_print_the_same(name: str) -> None:
    text = Path(f"/sys/devices/system/cpu/{name}").read_text().strip()
    assert str(CpuSet.parse(text)) == text == as_list(set(CpuSet.parse(text)))


def test_this_kernels_masks_and_lists_are_the_same_sets() -> None:
    """The mask of a node is as wide as the CPUs that are possible."""
    possible = CpuSet.parse(Path("/sys/devices/system/cpu/possible").read_text())
    nodes = glob.glob("/sys/devices/system/node/node[0-9]*")
    if not nodes:
        pytest.skip("this kernel shows no NUMA node in /sys/devices/system/node")
    for node in nodes:
        text, mask = (Path(node, name).read_text().strip() for name in ("cpulist", "cpumap"))
        assert str(CpuSet.parse(text)) == text
        assert CpuSet.parse(text).format_mask(max(possible) + 1) == mask
        assert CpuSet.parse_mask(mask) == CpuSet.parse(text)


EDITED = {
    "nvidiagpunumanodes": "hwloc took CPUs out of its cpumap files, to make it smaller, and not out of cpulist",
    "20s390-2g6s4c": "a kernel without NUMA, which shows no node",
    "2arm-2c": "a kernel without NUMA, which shows no node",
    "2i386-2c-nohugepage": "a kernel without NUMA, which shows no node",
    "2i386-2t-hugepagesizecount": "a kernel without NUMA, which shows no node",
    "2ps3-2t": "a kernel without NUMA, which shows no node",
}
"""Captured machines whose nodes have no pair of cpumap and cpulist to compare, and why."""


@pytest.mark.parametrize("name", [name for name in (*GPU_HOSTS, *HWLOC) if name not in EDITED])
def test_a_captured_machines_masks_and_lists_are_the_same_sets(name: str) -> None:
    """Every cpumap is printed as its kernel printed it, and says the same as the cpulist beside it."""
    root = open_root(str(archive(name)))
    place = "/sys/devices/system/node"
    nodes = [node for node in root.names(place) if node.removeprefix("node").isdigit()]
    assert nodes
    for node in nodes:
        mask, text = (root.read(f"{place}/{node}/{file}") for file in ("cpumap", "cpulist"))
        assert mask is not None or text is not None
        if mask is not None:
            assert CpuSet.parse_mask(mask).format_mask(width(mask)) == mask
        if text is not None:
            assert str(CpuSet.parse(text)) == text
        if mask is not None and text is not None:
            assert CpuSet.parse_mask(mask) == CpuSet.parse(text)


def width(mask: str) -> int:
    """How many bits the kernel printed, to the digit."""
    return 32 * mask.count(",") + 4 * len(mask.partition(",")[0])
