"""Real interfaces in network namespaces of the tests' own, read through this machine's root and the real pyroute2."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from numapin.sources.root import LiveRoot

pytestmark = pytest.mark.usefixtures("namespaces")

HOST_ONLY = "/proc/sys/net/core/netdev_budget"
PRELUDE = """
import json
from numapin.sources.cgroup import Limits
from numapin.sources.container import read_container
from numapin.sources.links import function_below, hidden_parent, read_interfaces
from numapin.sources.netlink import read_link
from numapin.sources.root import LiveRoot
root = LiveRoot()
link = lambda name: (one := read_link(root, name)) and [one.kind, one.parent_namespace]
"""


def inside(commands: str, expression: str) -> object:
    """An expression in a namespace of its own with a /sys of its own, after these commands have made interfaces."""
    script = f'mount -t sysfs sysfs /sys && {commands or "true"} && exec "$0" -c "$1"'
    source = f"{PRELUDE}\nprint(json.dumps({expression}))"
    command = ["unshare", "-mn", "sh", "-c", script, sys.executable, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "Unknown device type" in done.stderr or "not supported" in done.stderr:
        pytest.skip(f"this kernel has no such interface: {commands}: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def own_namespace_is_the_first() -> bool:
    """Whether these tests themselves run where process 1 of the host does; a container's tests do not."""
    return LiveRoot().read(HOST_ONLY) is not None


def test_only_the_first_network_namespace_shows_the_budget() -> None:
    """net_core_table is registered for init_net alone: what the reader takes for "this is the host's network"."""
    question = f"[root.read({HOST_ONLY!r}), root.read('/proc/sys/net/core/somaxconn') is not None]"
    assert inside("", question) == [None, True]
    if own_namespace_is_the_first():
        assert int(LiveRoot().read(HOST_ONLY) or "") > 0


def test_a_namespace_of_its_own_is_not_the_hosts_network() -> None:
    assert inside("", "read_container(root, Limits(None, None, {}, None), {}).host_network") is False


def test_a_veth_says_nothing_and_hides_nothing() -> None:
    """The interface of every pod: the kernel calls its peer a parent, sysfs none, and no card is missing."""
    made = "ip link add eth0 type veth peer name peer0"
    assert inside(made, "[read_interfaces(root), function_below(root, 'eth0')]") == [[[], []], None]
    assert inside(made, "link('eth0')") == ["veth", None]


def test_a_veth_whose_peer_is_elsewhere_names_the_namespace() -> None:
    """What a pod has: the peer stays with the host."""
    made = "ip link add eth0 type veth peer name peer0 && { unshare -n sleep 3 >/dev/null 2>&1 & sleep 0.3; }"
    moved = f"{made} && ip link set peer0 netns $!"
    kind, namespace = inside(moved, "link('eth0')")
    assert kind == "veth"
    assert isinstance(namespace, int)


def test_a_bridge_lies_on_its_port_and_that_on_no_card() -> None:
    made = "ip link add eth0 type veth peer name peer0 && ip link add br0 type bridge && ip link set eth0 master br0"
    assert inside(made, "[root.names('/sys/class/net/br0').count('lower_eth0'), function_below(root, 'br0')]") == [
        1,
        None,
    ]


STACKED: dict[str, str] = {
    "vlan": "ip link add link eth0 name top type vlan id 5",
    "macvlan": "ip link add link eth0 name top type macvlan",
    "ipvlan": "ip link add link eth0 name top type ipvlan",
    "macvtap": "ip link add link eth0 name top type macvtap",
    "bond": "ip link add top type bond && ip link set eth0 master top",
}


@pytest.mark.parametrize("kind", STACKED)
def test_a_stacked_interface_over_a_veth_is_noted(kind: str) -> None:
    """DEVTYPE in sysfs and the kind in netlink are the same word, and the lower link is named."""
    made = f"ip link add eth0 type veth peer name peer0 && {STACKED[kind]}"
    answer = inside(made, "[link('top'), [[n.code, n.subject, n.message] for n in read_interfaces(root)[1]]]")
    message = "top lies on eth0, which are not one PCI function"
    assert answer == [[kind, None], [["NODE_UNKNOWN", "top", message]]]


ELSEWHERE = "top is a {} interface whose parent is in another network namespace: its NIC is not to be seen"


@pytest.mark.parametrize("kind", ["macvlan", "ipvlan", "vlan"])
def test_a_stacked_interface_whose_parent_stayed_behind_says_so(kind: str) -> None:
    """As a CNI plugin does it: made on the host's card, then moved. sysfs has no lower link here; netlink knows."""
    link = f"{STACKED[kind]} && ip link set top netns $!"
    # Both namespaces must live on: with the parent its macvlan goes, wherever that is.
    wait = "sleep 5 >/dev/null 2>&1 & unshare -n sleep 5 >/dev/null 2>&1 & sleep 0.3"
    made = f"ip link add eth0 type veth peer name peer0 && {{ {wait}; }} && {link}"
    mounted = "mount -t sysfs sysfs /sys"
    enter = f'{made} && exec nsenter -t $! -n unshare -m sh -c \'{mounted} && exec "$0" -c "$1"\' "$0" "$1"'
    answer = inside(enter, "[root.names('/sys/class/net'), [n.message for n in read_interfaces(root)[1]]]")
    assert answer == [["lo", "top"], [ELSEWHERE.format(kind)]]


def test_an_interface_that_is_not_there_is_unknown() -> None:
    assert inside("", "[link('eth9'), link('x' * 40), link('')]") == [None, None, None]


def test_every_interface_of_this_machine_with_a_card_has_its_function() -> None:
    """sysfs read by hand: the last PCI address in the real path of the device link."""
    read: Callable[[str], object] = os.path.realpath
    code = f"{PRELUDE}\nprint(json.dumps([[one.name, str(one.pci)] for one in read_interfaces(root)[0]]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    for name, address in json.loads(done.stdout):
        assert f"/{address}" in str(read(f"/sys/class/net/{name}/device"))
    cards = [name for name in os.listdir("/sys/class/net") if "/pci" in str(read(f"/sys/class/net/{name}/device"))]
    assert sorted(cards) == sorted(name for name, _ in json.loads(done.stdout))
