"""Which files tell this process's cpuset, in every way that groups are mounted and named."""

import pytest

from numapin.errors import CannotRead
from numapin.ids import CpuSet, NodeSet
from numapin.sources.cgroup import Cgroups, Cpuset
from tests.sources.trees import Tree

V2 = "30 20 0:27 {top} {point} ro,nosuid shared:4 - cgroup2 cgroup rw"
V1 = "34 20 0:31 {top} {point} ro - cgroup cgroup rw,{controllers}"
POD = "/kubepods.slice/kubepods-pod0b1c.slice/cri-containerd-77aa.scope"


def v2(top: str = "/", point: str = "/sys/fs/cgroup") -> str:
    return V2.format(top=top, point=point)


def v1(controllers: str, top: str = "/", point: str | None = None) -> str:
    return V1.format(top=top, point=point or f"/sys/fs/cgroup/{controllers}", controllers=controllers)


def new(directory: str, cpus: str, mems: str) -> dict[str, str]:
    return {f"{directory}/cpuset.cpus.effective": cpus, f"{directory}/cpuset.mems.effective": mems}


def old(directory: str, cpus: str, mems: str) -> dict[str, str]:
    return {f"{directory}/cpuset.effective_cpus": cpus, f"{directory}/cpuset.effective_mems": mems}


HOST = new("/sys/fs/cgroup", "0-63", "0-1")
OWN = "/kubepods/pod7/c1"

SITUATIONS = {
    "version 2 in a namespace of its own": ("0::/", [v2()], new("/sys/fs/cgroup", "2-9", "0"), "2-9", "0"),
    "version 2 in the host's namespace": (
        f"0::{POD}",
        [v2()],
        HOST | new(f"/sys/fs/cgroup{POD}", "4-7", "1"),
        "4-7",
        "1",
    ),
    "version 2, the host's path over the container's own mount": (
        f"0::{POD}",
        [v2()],
        new("/sys/fs/cgroup", "2-3", "0"),
        "2-3",
        "0",
    ),
    "version 2, controller off in the two lowest groups": (
        f"0::{POD}/container",
        [v2()],
        HOST | new(f"/sys/fs/cgroup{POD.rpartition('/')[0]}", "8-15", "1"),
        "8-15",
        "1",
    ),
    "version 2, the mount shows a part of the tree": (
        f"0::{POD}",
        [v2("/kubepods.slice", "/mnt/pods")],
        HOST | new(f"/mnt/pods{POD.removeprefix('/kubepods.slice')}", "1", "0"),
        "1",
        "0",
    ),
    "version 2, mounted before the namespace was made": ("0::/", [v2("/../../..")], HOST, None, None),
    "version 2, the process is outside of its namespace": ("0::/../x", [v2()], HOST, None, None),
    "version 2, no mountinfo": (
        "0::/",
        [],
        new("/sys/fs/cgroup", "6-7", "1") | {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu"},
        "6-7",
        "1",
    ),
    "version 2, mount point with blank and backslash": (
        "0::/",
        [v2(point="/sys/fs/c\\040g\\134")],
        new("/sys/fs/c g\\", "5", "0"),
        "5",
        "0",
    ),
    "version 2, cpuset.cpus is empty and inherited": (
        "0::/",
        [v2()],
        {"/sys/fs/cgroup/cpuset.cpus": "\n", "/sys/fs/cgroup/cpuset.mems": "\n"} | new("/sys/fs/cgroup", "0-3", "0"),
        "0-3",
        "0",
    ),
    "version 1, the container's mount is its own group": (
        f"12:cpuset:{OWN}\n4:cpu,cpuacct:{OWN}",
        [v1("cpu,cpuacct", OWN), v1("cpuset", OWN)],
        old("/sys/fs/cgroup/cpuset", "3-4", "1"),
        "3-4",
        "1",
    ),
    "version 1, the host's mount": (
        f"12:cpuset:{OWN}",
        [v1("cpuset")],
        old("/sys/fs/cgroup/cpuset", "0-63", "0-1") | old(f"/sys/fs/cgroup/cpuset{OWN}", "3-4", "1"),
        "3-4",
        "1",
    ),
    "version 1, namespaced path below the host's group": (
        "12:cpuset:/",
        [v1("cpuset", "/docker/77aa")],
        old("/sys/fs/cgroup/cpuset", "2", "0"),
        "2",
        "0",
    ),
    "version 1 before effective files": (
        "3:cpuset:/",
        [v1("cpuset")],
        {"/sys/fs/cgroup/cpuset/cpuset.cpus": "0-1", "/sys/fs/cgroup/cpuset/cpuset.mems": "0"},
        "0-1",
        "0",
    ),
    "version 1, cpuset mounted together with cpu": (
        "3:cpuset,cpu:/a:b",
        [v1("cpu,cpuset", point="/cgroup")],
        old("/cgroup/a:b", "7", "1"),
        "7",
        "1",
    ),
    "version 1, the group has no CPUs at all": (
        "3:cpuset:/",
        [v1("cpuset")],
        {"/sys/fs/cgroup/cpuset/cpuset.cpus": "", "/sys/fs/cgroup/cpuset/cpuset.mems": ""},
        None,
        None,
    ),
    "hybrid: the version 2 hierarchy has no say": (
        f"9:cpuset:{OWN}\n0::/user.slice",
        [v2(point="/sys/fs/cgroup/unified"), v1("cpuset", OWN)],
        new("/sys/fs/cgroup/unified", "0-63", "0-1") | old("/sys/fs/cgroup/cpuset", "10-11", "1"),
        "10-11",
        "1",
    ),
    "hybrid: cpuset has moved to version 2": (
        f"9:memory:{OWN}\n0::/",
        [v1("memory", OWN), v2(point="/sys/fs/cgroup/unified")],
        new("/sys/fs/cgroup/unified", "1-2", "0"),
        "1-2",
        "0",
    ),
    "nothing mounted": ("0::/", [], {}, None, None),
    "no files at all": (None, [], {}, None, None),
    "a list with the words that an empty nohz_full prints": (
        "0::/",
        [v2()],
        new("/sys/fs/cgroup", "(null)", "0"),
        None,
        "0",
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_the_cpuset_is_that_of_this_process(tree: Tree, situation) -> None:
    group, mounts, files, cpus, mems = situation
    own = {} if group is None else {"/proc/self/cgroup": f"{group}\n"}
    own |= {"/proc/self/mountinfo": "".join(f"{line}\n" for line in mounts)} if mounts else {}
    expected = Cpuset(
        None if cpus is None else CpuSet.parse(cpus),
        None if mems is None else NodeSet.parse(mems),
    )
    assert Cgroups(tree(own | files)).cpuset() == expected


SENSELESS = ("all", "0-", "-1", "3-1", "0;1", "0x3", "0,,1", "65536", "0-99999999999", "٣", "0 - 1", "\x00\x01")


@pytest.mark.parametrize("text", SENSELESS)
def test_a_list_that_makes_no_sense_is_named_with_its_file(tree: Tree, text: str) -> None:
    files = {"/proc/self/cgroup": "0::/", "/proc/self/mountinfo": v2()} | new("/sys/fs/cgroup", text, "0")
    with pytest.raises(CannotRead, match=r"^/sys/fs/cgroup/cpuset\.cpus\.effective cannot be understood: "):
        Cgroups(tree(files)).cpuset()


def test_lines_that_are_no_mounts_or_groups_are_passed_over(tree: Tree) -> None:
    noise = "\n\n30\n30 20 0:27 / /mnt rw - tmpfs\n30 20 - cgroup2 cgroup rw\n - cgroup2\n"
    groups = "\n0\n0:\nname=systemd\n0::/a\n"
    files = {"/proc/self/cgroup": groups, "/proc/self/mountinfo": f"{noise}{v2()}\n"} | new(
        "/sys/fs/cgroup/a", "5", "0"
    )
    assert Cgroups(tree(files)).cpuset().cpus == CpuSet.of([5])
