"""What a process may do, from /proc/self/{status,limits,uid_map,mountinfo}."""

import os
import resource

import pytest

from numapin.assignment import Permissions
from numapin.errors import CannotRead
from numapin.ids import CpuSet, NodeSet
from numapin.sources.process import read_permissions, read_status
from numapin.sources.root import LiveRoot
from tests.sources.trees import Tree

STATUS = """Name:\tpython3
Uid:\t1000\t0\t1000\t1000
CapInh:\t0000000000000000
CapEff:\t00000000a80425fb
CapBnd:\t00000000a88425fb
NoNewPrivs:\t1
Seccomp:\t2
Seccomp_filters:\t1
Cpus_allowed:\tff00
Cpus_allowed_list:\t8-15
Mems_allowed:\t00000000,00000003
Mems_allowed_list:\t0-1
"""
LIMITS = "Limit                     Soft Limit           Hard Limit           Units     \n"
RTPRIO = "Max realtime priority     {}                   {}                   \n"


def permissions(tree: Tree, **files: str) -> Permissions:
    names = {f"/proc/self/{name}": text for name, text in files.items()}
    root = tree(names)
    return read_permissions(root, read_status(root))


def test_the_status_file_tells_affinity_and_memory_nodes(tree: Tree) -> None:
    status = read_status(tree({"/proc/self/status": STATUS}))
    assert (status.affinity, status.mems) == (CpuSet.parse("8-15"), NodeSet.parse("0-1"))
    assert status.values["Name"] == "python3"


def test_another_process_is_read_by_its_number(tree: Tree) -> None:
    root = tree({"/proc/self/status": STATUS, "/proc/7/status": "Name:\tworker\nCpus_allowed_list:\t3\n"})
    assert read_status(root, "7").affinity == CpuSet.of([3])


@pytest.mark.parametrize("files", [{}, {"/proc/self/status": ""}, {"/proc/self/status": "Cpus_allowed_list"}])
def test_a_missing_line_is_unknown(tree: Tree, files) -> None:
    status = read_status(tree(files))
    assert (status.affinity, status.mems) == (None, None)


def test_permissions_of_a_container_that_may_regain_sys_nice(tree: Tree) -> None:
    """CAP_SYS_NICE (bit 23) is bounding but not effective: what the seccomp profile tests, and what the kernel asks."""
    found = permissions(tree, status=STATUS)
    assert (found.has_sys_nice, found.may_have_sys_nice) == (False, True)
    assert (found.cap_effective, found.cap_bounding) == (0xA80425FB, 0xA88425FB)
    assert (found.uid, found.seccomp_filter, found.no_new_privs) == (0, True, True)


def test_permissions_where_no_file_tells(tree: Tree) -> None:
    assert permissions(tree) == Permissions()


CAPABILITIES = {
    "Docker's fourteen": ("00000000a80425fb", False),
    "Docker's and SYS_NICE": ("00000000a88425fb", True),
    "CRI-O's nine": ("00000000000005fb", False),
    "CRI-O's and SYS_NICE": ("00000000008005fb", True),
    "all": ("000001ffffffffff", True),
    "none": ("0000000000000000", False),
    "no number": ("ALL", False),
    "too long": ("f" * 17, False),
}


@pytest.mark.parametrize(("mask", "has"), CAPABILITIES.values(), ids=CAPABILITIES)
def test_sys_nice_is_bit_23(tree: Tree, mask: str, has: bool) -> None:
    assert permissions(tree, status=f"CapEff:\t{mask}").has_sys_nice is has


@pytest.mark.parametrize(("mode", "is_filter"), [("0", False), ("1", False), ("2", True), ("", False)])
def test_only_seccomp_mode_2_filters_by_call(tree: Tree, mode: str, is_filter: bool) -> None:
    assert permissions(tree, status=f"Seccomp:\t{mode}").seccomp_filter is is_filter


MAPS = {
    "the first namespace": ("         0          0 4294967295\n", False),
    "rootless": ("         0       1000          1\n", True),
    "rootless with a range": ("0 1000 1\n1 100000 65536\n", True),
    "identity of a part": ("0 0 65536", True),
    "Kubernetes hostUsers: false": ("0 131072 65536", True),
    "not mapped yet": ("", False),
}


@pytest.mark.parametrize(("uid_map", "inside"), MAPS.values(), ids=MAPS)
def test_a_user_namespace_is_a_map_that_is_not_the_identity(tree: Tree, uid_map: str, inside: bool) -> None:
    assert permissions(tree, uid_map=uid_map).user_namespace is inside


@pytest.mark.parametrize(
    ("soft", "limit"), [("0", 0), ("1", 1), ("99", 99), ("unlimited", 99), ("500", 99), ("-5", 0), ("many", 0)]
)
def test_the_real_time_limit_is_the_soft_one(tree: Tree, soft: str, limit: int) -> None:
    assert permissions(tree, limits=LIMITS + RTPRIO.format(soft, "99")).rtprio_limit == limit


def mounts(*lines: str) -> str:
    return "".join(f"{30 + i} 20 0:{i} / {line} - proc proc rw\n" for i, line in enumerate(lines))


MOUNTS = {
    "nothing over /proc": (mounts("/ rw", "/proc rw,nosuid"), False),
    "a container": (mounts("/ rw", "/proc rw", "/proc/irq ro,relatime"), True),
    "all of /proc": (mounts("/ rw", "/proc ro"), True),
    "only another folder": (mounts("/ rw", "/proc rw", "/proc/irqs ro", "/proc/sys ro"), False),
    "made writable again on top": (mounts("/ rw", "/proc/irq ro", "/proc/irq rw"), False),
    "made read-only on top": (mounts("/ rw", "/proc/irq rw", "/proc/irq ro"), True),
    "the root file system alone": (mounts("/ ro", "/proc rw"), False),
    "an option that only begins like it": (mounts("/ rw", "/proc/irq rootcontext"), False),
    "no table": ("", False),
}


@pytest.mark.parametrize(("mountinfo", "read_only"), MOUNTS.values(), ids=MOUNTS)
def test_proc_irq_is_read_only_by_its_last_mount(tree: Tree, mountinfo: str, read_only: bool) -> None:
    assert permissions(tree, mountinfo=mountinfo).proc_irq_read_only is read_only


@pytest.mark.parametrize("line", ["Cpus_allowed_list:\tall", "Mems_allowed_list:\t-1", "Cpus_allowed_list:\t0-70000"])
def test_a_list_that_makes_no_sense_is_named_with_its_file(tree: Tree, line: str) -> None:
    with pytest.raises(CannotRead, match=r"^/proc/self/status cannot be understood: "):
        read_status(tree({"/proc/self/status": line}))


@pytest.mark.parametrize("uids", ["", "0", "0\tx", "0\t-1", "0\t" + "9" * 5000])
def test_a_user_that_makes_no_sense_is_unknown(tree: Tree, uids: str) -> None:
    assert permissions(tree, status=f"Uid:\t{uids}").uid is None


def test_this_process_is_what_the_kernel_says() -> None:
    root = LiveRoot()
    status = read_status(root)
    found = read_permissions(root, status)
    assert status.affinity == CpuSet.of(os.sched_getaffinity(0))
    assert found.uid == os.geteuid()
    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    assert found.rtprio_limit == (99 if soft == resource.RLIM_INFINITY else min(soft, 99))
