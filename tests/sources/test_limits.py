"""CPU time, memory, huge pages and the real-time budget, in the spelling of both versions of control groups."""

import pytest

from numapin.errors import CannotRead
from numapin.sources.cgroup import Cgroups, Limits
from tests.sources.trees import Tree

GIB = 1 << 30
V1_UNLIMITED = "9223372036854771712"
"""PAGE_COUNTER_MAX on 64 bits with pages of 4 KiB; with pages of 64 KiB it is 9223372036854710272."""

NEW = {"/proc/self/cgroup": "0::/pod/leaf", "/proc/self/mountinfo": "30 20 0:27 / /cg ro - cgroup2 cgroup rw"}
OLD = {
    "/proc/self/cgroup": "4:cpu,cpuacct:/pod/leaf\n5:memory:/pod/leaf\n6:hugetlb:/pod/leaf",
    "/proc/self/mountinfo": "\n".join(
        f"{number} 20 0:{number} / /cg/{name} rw - cgroup cgroup rw,{name}"
        for number, name in ((31, "cpu,cpuacct"), (32, "memory"), (33, "hugetlb"))
    ),
}
CPU = "/cg/cpu,cpuacct/pod/leaf"

VERSION_2 = {
    "nothing is limited": (
        {"cpu.max": "max 100000", "memory.max": "max", "hugetlb.2MB.max": "max"},
        Limits(None, None, {}, None),
    ),
    "all is limited": (
        {"cpu.max": "250000 100000", "memory.max": f"{64 * GIB}", "hugetlb.2MB.max": f"{GIB}", "hugetlb.1GB.max": "0"},
        Limits(2.5, 64 * GIB, {"2MB": GIB}, None),
    ),
    "both huge page sizes": (
        {"hugetlb.2MB.max": f"{GIB}", "hugetlb.1GB.max": f"{8 * GIB}", "hugetlb.1GB.rsvd.max": "4096"},
        Limits(None, None, {"2MB": GIB, "1GB": 8 * GIB}, None),
    ),
    "a period of its own": ({"cpu.max": "12500 50000"}, Limits(0.25, None, {}, None)),
    "the short form that only a write may have": ({"cpu.max": "max"}, Limits(None, None, {}, None)),
    "a period of zero divides nothing": ({"cpu.max": "100000 0"}, Limits(None, None, {}, None)),
    "no files": ({}, Limits(None, None, {}, None)),
}


@pytest.mark.parametrize(("files", "expected"), VERSION_2.values(), ids=VERSION_2)
def test_limits_of_version_2(tree: Tree, files, expected) -> None:
    root = tree(NEW | {f"/cg/pod/leaf/{name}": text for name, text in files.items()})
    assert Cgroups(root).limits() == expected


VERSION_1 = {
    "nothing is limited": (
        {
            f"{CPU}/cpu.cfs_quota_us": "-1",
            f"{CPU}/cpu.cfs_period_us": "100000",
            "/cg/memory/pod/leaf/memory.limit_in_bytes": V1_UNLIMITED,
            "/cg/hugetlb/pod/leaf/hugetlb.2MB.limit_in_bytes": "9223372036852678656",
        },
        Limits(None, None, {}, None),
    ),
    "nothing is limited, pages of 64 KiB": (
        {"/cg/memory/pod/leaf/memory.limit_in_bytes": "9223372036854710272"},
        Limits(None, None, {}, None),
    ),
    "all is limited": (
        {
            f"{CPU}/cpu.cfs_quota_us": "150000",
            f"{CPU}/cpu.cfs_period_us": "100000",
            f"{CPU}/cpu.rt_runtime_us": "950000",
            "/cg/memory/pod/leaf/memory.limit_in_bytes": f"{GIB}",
            "/cg/hugetlb/pod/leaf/hugetlb.1GB.limit_in_bytes": f"{2 * GIB}",
        },
        Limits(1.5, GIB, {"1GB": 2 * GIB}, 950000),
    ),
    "no real-time budget": ({f"{CPU}/cpu.rt_runtime_us": "0"}, Limits(None, None, {}, 0)),
}


@pytest.mark.parametrize(("files", "expected"), VERSION_1.values(), ids=VERSION_1)
def test_limits_of_version_1(tree: Tree, files, expected) -> None:
    assert Cgroups(tree(OLD | files)).limits() == expected


def test_limits_of_the_hugetlb_controller_with_no_limit_for_gigabytes(tree: Tree) -> None:
    """Each size rounds 2^63 down to a multiple of itself: a page of 1 GiB is unlimited at 9223372035781033984."""
    files = {"/cg/hugetlb/pod/leaf/hugetlb.1GB.limit_in_bytes": "9223372035781033984"}
    assert Cgroups(tree(OLD | files)).limits().huge_pages == {}


def test_a_pod_wide_cpu_limit_counts_where_the_container_has_none(tree: Tree) -> None:
    """Pod-level resources: the container's group says max, the pod's above it does not."""
    files = {"/cg/pod/leaf/cpu.max": "max 100000", "/cg/pod/cpu.max": "200000 100000"}
    files |= {"/cg/pod/leaf/memory.max": "max", "/cg/pod/memory.max": f"{GIB}"}
    assert Cgroups(tree(NEW | files)).limits() == Limits(2.0, GIB, {}, None)


def test_the_tightest_limit_in_sight_counts(tree: Tree) -> None:
    files = {"/cg/pod/leaf/cpu.max": "400000 100000", "/cg/pod/cpu.max": "200000 100000"}
    files |= {"/cg/pod/leaf/memory.max": f"{8 * GIB}", "/cg/pod/memory.max": f"{GIB}"}
    assert Cgroups(tree(NEW | files)).limits() == Limits(2.0, GIB, {}, None)


def test_quota_and_period_of_version_1_are_those_of_one_group(tree: Tree) -> None:
    """The pod allows 50 of 50 ms; the leaf's period of 100 ms belongs to the leaf's quota, which is none."""
    above = CPU.removesuffix("/leaf")
    files = {f"{CPU}/cpu.cfs_quota_us": "-1", f"{CPU}/cpu.cfs_period_us": "100000"}
    files |= {f"{above}/cpu.cfs_quota_us": "50000", f"{above}/cpu.cfs_period_us": "50000"}
    assert Cgroups(tree(OLD | files)).limits().cpu_quota == 1.0


SENSELESS = {
    "cpu.max": ("", "one two", "1e5 100000", "-1 100000 3", "100000"),
    "memory.max": ("MAX", "1 2", "1_000", "٤٠٩٦", "9" * 30, "0x", "1.5G"),
    "hugetlb.2MB.max": ("none", "12 MB"),
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SENSELESS.items() for text in texts])
def test_a_limit_that_makes_no_sense_is_named_with_its_file(tree: Tree, name: str, text: str) -> None:
    with pytest.raises(CannotRead, match=rf"^/cg/pod/leaf/{name} cannot be understood: "):
        Cgroups(tree(NEW | {f"/cg/pod/leaf/{name}": text})).limits()
