"""Memory by node, from numa_maps and from the cgroup's own count."""

import mmap
import os

import pytest

from numapin.server import Pages
from numapin.sources.captured import DirectoryRoot
from numapin.sources.cgroup import Cgroups
from numapin.sources.pages import parse_maps, read_cgroup_pages, read_maps
from tests.sources.trees import write_files

MAPS = """\
55d8 bind=static:0 file=/usr/bin/python3.11 mapped=800 mapmax=3 N0=700 N1=100 kernelpagesize_kB=4
55e0 bind=static:0 heap anon=100 dirty=100 N0=90 N1=10 kernelpagesize_kB=4
7f00 bind=static:0 stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
7f01 bind=static:0 file=/memfd:nccl\\040(deleted) dirty=5 N1=5 kernelpagesize_kB=4
7f02 bind=static:0 file=/dev/shm/psm_1 dirty=5 N1=5 kernelpagesize_kB=4
7f03 bind=static:0 file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N0=2 kernelpagesize_kB=2048
7f04 default
7f05 default file=/tmp/N7\\0759\\040N8\\0759 mapped=1 N0=1 kernelpagesize_kB=4
"""


def test_kinds_are_kept_apart_and_pages_have_sizes():
    assert parse_maps(MAPS) == Pages(
        {0: 93 * 4096 + 4 * 1024 * 1024, 1: 10 * 4096}, {1: 10 * 4096}, {0: 701 * 4096, 1: 100 * 4096}
    )


@pytest.mark.parametrize(
    "text", ["", "\0\xff", "7f00 N0=1", "x N99999999999=1 kernelpagesize_kB=4", "kernelpagesize_kB="]
)
def test_what_is_no_numa_maps_counts_nothing(text):
    assert parse_maps(text) == Pages()


def test_this_process_has_its_memory_somewhere():
    """As the kernel of this machine writes it: 32 MiB more are 32 MiB more."""
    before = read_maps("/proc", os.getpid())
    with mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        for place in range(0, 32 << 20, mmap.PAGESIZE):
            area[place] = 1
        after = read_maps("/proc", os.getpid())
    assert before is not None
    assert after is not None
    more = sum(after.anonymous.values()) - sum(before.anonymous.values())
    assert 31 << 20 <= more <= 64 << 20
    assert sum(after.file.values()) > 1 << 20
    assert read_maps("/proc", 1 << 23) is None


V2 = "anon N0=4096 N1=8192\nfile N0=100 N1=50\nshmem N0=60 N1=0\nanon_thp N0=0 N1=0\n"
V1 = "total=9 N0=9\nfile=1 N0=1\nanon=2 N0=2\nhierarchical_total=9 N0=9\n"
V1 += "hierarchical_file=3 N0=3\nhierarchical_anon=5 N0=4 N1=1\n"


@pytest.mark.parametrize("mark", ["cgroup.subtree_control", "cgroup.sane_behavior"])
def test_the_root_group_is_not_a_servers(tmp_path, mark):
    """On a bare host it has everybody's memory: version 2's has no cgroup.type, version 1's one file more."""
    files = {
        "/proc/self/cgroup": "0::/\n",
        "/proc/self/mountinfo": "30 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
        "/sys/fs/cgroup/memory.numa_stat": V2,
        f"/sys/fs/cgroup/{mark}": "",
    }
    root = DirectoryRoot(str(write_files(tmp_path, files)))
    assert read_cgroup_pages(root, Cgroups(root)) is None
    write_files(tmp_path, {"/sys/fs/cgroup/cgroup.type": "domain\n"})
    assert (read_cgroup_pages(root, Cgroups(root)) is None) is (mark == "cgroup.sane_behavior")


@pytest.mark.parametrize(
    ("mount", "place", "text", "expected"),
    [
        ("cgroup2 cgroup rw", "", V2, Pages({0: 4096, 1: 8192}, {0: 60, 1: 0}, {0: 40, 1: 50})),
        ("cgroup cgroup rw,memory", "/memory", V1, Pages({0: 4 * 4096, 1: 4096}, {}, {0: 3 * 4096})),
        ("cgroup2 cgroup rw", "", "", None),
        ("cgroup2 cgroup rw", "", "anon N99999999=1\nshmem\n", Pages({}, {}, {})),
    ],
)
def test_the_cgroup_counts_for_all_its_processes(tmp_path, mount, place, text, expected):
    files = {
        "/proc/self/cgroup": "4:memory:/a\n" if place else "0::/a\n",
        "/proc/self/mountinfo": f"30 20 0:27 / /sys/fs/cgroup{place} rw - {mount}\n",
        f"/sys/fs/cgroup{place}/a/memory.numa_stat": text,
        f"/sys/fs/cgroup{place}/memory.numa_stat": V2,
    }
    root = DirectoryRoot(str(write_files(tmp_path, files)))
    assert read_cgroup_pages(root, Cgroups(root)) == expected
