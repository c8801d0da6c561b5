"""The container around a process: QoS class, sandbox, network namespace, irqbalance, who else binds."""

import pytest

from numapin.assignment import Realtime
from numapin.errors import CannotRead
from numapin.ids import CpuSet
from numapin.sources.cgroup import Limits
from numapin.sources.container import qos_class, read_container, read_realtime
from tests.sources.trees import Tree

NO_LIMITS = Limits(None, None, {}, None)
IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}

CLASSES = {
    "-997": "Guaranteed",
    "1000": "BestEffort",
    "3": "Burstable",
    "950": "Burstable",
    "999": "Burstable",
    "2": None,
    "0": None,
    "-998": None,
    "1001": None,
}


@pytest.mark.parametrize("score", CLASSES)
def test_the_qos_class_by_oom_score_adj(tree: Tree, score: str) -> None:
    found = read_container(tree({"/proc/self/oom_score_adj": f"{score}\n"}), NO_LIMITS, IN_POD)
    assert (found.in_pod, found.qos) == (True, CLASSES[score])


def test_outside_kubernetes_a_score_is_no_class(tree: Tree) -> None:
    """Docker's --oom-score-adj and systemd's OOMScoreAdjust give scores as well."""
    found = read_container(tree({"/proc/self/oom_score_adj": "500"}), NO_LIMITS, {})
    assert (found.in_pod, found.qos) == (False, None)


def test_the_score_of_guaranteed_is_a_pods_own(tree: Tree) -> None:
    """A pod may set enableServiceLinks: false; the variable stays, but an image may clear its environment."""
    found = read_container(tree({"/proc/self/oom_score_adj": "-997"}), NO_LIMITS, {})
    assert (found.in_pod, found.qos) == (True, "Guaranteed")


def test_an_unknown_score_is_no_class(tree: Tree) -> None:
    assert qos_class(None) is None
    assert read_container(tree({}), NO_LIMITS, IN_POD).qos is None


KERNEL = "Linux version 6.8.0-45-generic (buildd@lcy02) #45 SMP"
SANDBOXES = {
    "none": ({"/proc/version": KERNEL, "/proc/sys/kernel/osrelease": "6.8.0-45-generic"}, None),
    "gVisor": ({"/proc/sys/kernel/osrelease": "4.19.0-gvisor\n"}, "gVisor"),
    "gVisor before it said so": (
        {
            "/proc/sys/kernel/osrelease": "4.4.0",
            "/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016",
        },
        "gVisor",
    ),
    "Kata": (
        {"/proc/cmdline": "tsc=reliable root=/dev/pmem0p1 agent.log=debug systemd.unit=kata-containers.target"},
        "Kata",
    ),
    "Kata without a debug log": ({"/proc/cmdline": "root=/dev/vda1 systemd.unit=kata-containers.target"}, "Kata"),
    "another unit": ({"/proc/cmdline": "root=/dev/vda1 systemd.unit=multi-user.target xagent.log=debug"}, None),
    "no files": ({}, None),
}


@pytest.mark.parametrize(("files", "sandbox"), SANDBOXES.values(), ids=SANDBOXES)
def test_sandboxes_by_what_their_kernels_say(tree: Tree, files, sandbox) -> None:
    assert read_container(tree(files), NO_LIMITS, {}).sandbox == sandbox


@pytest.mark.parametrize(("files", "is_host"), [({"/proc/sys/net/core/netdev_budget": "300"}, True), ({}, False)])
def test_only_the_first_network_namespace_has_a_budget(tree: Tree, files, is_host: bool) -> None:
    assert read_container(tree(files | {"/proc/sys/net/core/somaxconn": "4096"}), NO_LIMITS, {}).host_network is is_host


BALANCERS = {
    "a socket": ({"/run/irqbalance/irqbalance812.sock": ""}, "/run/irqbalance/irqbalance812.sock"),
    "an abstract name": ({"/proc/net/unix": "ffff: 2 0 10000 1 1 99 @irqbalance812.sock\n"}, "process 812"),
    "other sockets": (
        {"/run/irqbalance/pid": "1", "/proc/net/unix": "ffff: 2 0 0 1 1 9 @/tmp/irqbalance.sock\n"},
        None,
    ),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("files", "seen"), BALANCERS.values(), ids=BALANCERS)
def test_irqbalance_by_its_socket(tree: Tree, files, seen) -> None:
    assert read_container(tree(files), NO_LIMITS, {}).irq_balancer == seen


def test_a_busy_host_has_more_sockets_than_fit_into_a_megabyte(tree: Tree) -> None:
    """The table has no bound: irqbalance stands where it stands, and nothing fails."""
    line = "ffff8881: 00000003 00000000 00000000 0001 03 123456 /run/systemd/journal/stdout\n"
    found = read_container(
        tree({"/proc/net/unix": line * 20_000 + "ffff: 2 0 0 1 1 9 @irqbalance7.sock\n"}), NO_LIMITS, {}
    )
    assert found.irq_balancer in (None, "process 7")


HOUSEKEEPING = {"0-1": CpuSet.parse("0-1"), "": None, "none": None, "99999": None}


@pytest.mark.parametrize("text", HOUSEKEEPING)
def test_housekeeping_cpus_of_cri_o(tree: Tree, text: str) -> None:
    found = read_container(tree({}), NO_LIMITS, {"OPENSHIFT_HOUSEKEEPING_CPUS": text})
    assert found.housekeeping_cpus == HOUSEKEEPING[text]


def test_the_default_cpus_of_interrupts(tree: Tree) -> None:
    found = read_container(tree({"/proc/irq/default_smp_affinity": "ffffffff,ffffff00\n"}), NO_LIMITS, {})
    assert found.default_irq_cpus == CpuSet.parse("8-63")


def test_limits_are_passed_on(tree: Tree) -> None:
    found = read_container(tree({}), Limits(2.5, 4096, {"2MB": 1 << 21}, None), {"NUMAPIN_APPLIED": "v1 0-3"})
    assert (found.cpu_quota, found.memory_max, found.huge_page_limits) == (2.5, 4096, {"2MB": 1 << 21})
    assert found.applied == "v1 0-3"


REALTIME = {
    "usual": (
        {"/proc/sys/kernel/sched_rt_runtime_us": "950000", "/proc/version": KERNEL},
        Realtime(950000, None, (6, 8)),
    ),
    "no throttling": ({"/proc/sys/kernel/sched_rt_runtime_us": "-1"}, Realtime(-1, None, None)),
    "two digits": ({"/proc/version": "Linux version 6.12.5"}, Realtime(None, None, (6, 12))),
    "no version": ({"/proc/version": "FreeBSD 14.0"}, Realtime()),
}


@pytest.mark.parametrize(("files", "expected"), REALTIME.values(), ids=REALTIME)
def test_what_decides_about_real_time(tree: Tree, files, expected) -> None:
    assert read_realtime(tree(files), NO_LIMITS) == expected


def test_the_real_time_budget_of_the_group(tree: Tree) -> None:
    assert read_realtime(tree({}), Limits(None, None, {}, 0)) == Realtime(None, 0, None)


SENSELESS = {
    "/proc/self/oom_score_adj": "much",
    "/proc/irq/default_smp_affinity": "all",
    "/proc/sys/kernel/sched_rt_runtime_us": "950ms",
}


@pytest.mark.parametrize("path", SENSELESS)
def test_what_makes_no_sense_is_named_with_its_file(tree: Tree, path: str) -> None:
    root = tree({path: SENSELESS[path]})
    with pytest.raises(CannotRead, match=f"^{path} cannot be understood: "):
        (read_container(root, NO_LIMITS, {}), read_realtime(root, NO_LIMITS))
