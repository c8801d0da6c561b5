"""Network interfaces and the PCI functions under them: /sys/class/net (Documentation/ABI/testing/sysfs-class-net)."""

from collections.abc import Mapping

from numapin.assignment import NetworkInterface, Note, RdmaDevice
from numapin.ids import PciAddress
from numapin.sources import netlink
from numapin.sources.drivers import read_address
from numapin.sources.pci import exists, function_of
from numapin.sources.root import Root

NET = "/sys/class/net"
STACKED = ("vlan", "macvlan", "ipvlan", "bond", "macvtap")
"""Kinds of interfaces that only pass on to another one."""


def read_interfaces(root: Root) -> tuple[tuple[NetworkInterface, ...], tuple[Note, ...]]:
    """Interfaces of this network namespace with a PCI function under them, and those that hide theirs."""
    functions = _functions(root)
    found = tuple(NetworkInterface(name, address) for name, address in functions.items() if address)
    return found, tuple(Note("NODE_UNKNOWN", name, hidden_parent(root, name)) for name in _stacked(root, functions))


def unexplained(root: Root) -> list[str]:
    """Interfaces that are stacked on another one, of which sysfs does not show what is at the bottom."""
    return _stacked(root, _functions(root))


def _functions(root: Root) -> dict[str, PciAddress | None]:
    return {name: function_below(root, name) for name in root.names(NET)}


def _stacked(root: Root, functions: Mapping[str, PciAddress | None]) -> list[str]:
    return [name for name, address in functions.items() if address is None and _kind(root, name) in STACKED]


def function_below(root: Root, name: str) -> PciAddress | None:
    """The PCI function that an interface, or those it is stacked on, lies on; None where there is none, or several."""
    found: set[PciAddress | None] = set()
    seen: set[str] = set()
    pending = [name]
    while pending:
        interface = pending.pop()
        if interface in seen or "/" in interface:
            continue
        seen.add(interface)
        address = function_of(root, f"{NET}/{interface}/device")
        below = [] if address else lower(root, interface)
        pending += below
        if not below:
            found.add(address)
    # A bond over ports of two cards, or over a card and nothing, has no one place.
    return found.pop() if len(found) == 1 else None


def lower(root: Root, name: str) -> list[str]:
    """The interfaces that this one is stacked on, as far as they are in this namespace: its lower_<name> links."""
    return [entry.removeprefix("lower_") for entry in root.names(f"{NET}/{name}") if entry.startswith("lower_")]


def hidden_parent(root: Root, name: str) -> str:
    """Why no PCI function is to be seen under an interface, asking netlink where sysfs is silent."""
    below = lower(root, name)
    if below:
        return f"{name} lies on {', '.join(sorted(below))}, which are not one PCI function"
    link = netlink.read_link(root, name)
    if link and link.parent_namespace is not None:
        kind = link.kind or "virtual"
        return f"{name} is a {kind} interface whose parent is in another network namespace: its NIC is not to be seen"
    return f"{name} is a virtual interface without a NIC in sight"


def _kind(root: Root, name: str) -> str:
    """The kind of an interface: DEVTYPE of its uevent file, which macvlan leaves out; then its driver tells.

    Asking it costs an ioctl, and is of use only where the interface has its other end somewhere else (iflink).
    """
    lines = (root.read(f"{NET}/{name}/uevent") or "").splitlines()
    told = next((line.partition("=")[2] for line in lines if line.startswith("DEVTYPE=")), "")
    if told or root.read(f"{NET}/{name}/iflink") == root.read(f"{NET}/{name}/ifindex"):
        return told
    return netlink.driver(root, name) or ""


def plugin_functions(root: Root, environment: Mapping[str, str]) -> tuple[list[PciAddress], list[Note]]:
    """The PCI functions that SR-IOV device plugins name in PCIDEVICE_<resource>, or in its _INFO alone.

    Values are comma lists of addresses; a subfunction's is a name of the auxiliary bus (`mlx5_core.sf.4`).
    """
    found: list[PciAddress] = []
    notes: list[Note] = []
    for variable in sorted(environment):
        if not variable.startswith("PCIDEVICE_"):
            continue
        for token in _named(variable, environment[variable]):
            address = read_address(token) or function_of(root, f"/sys/bus/auxiliary/devices/{token.replace('/', '')}")
            if address and exists(root, address):
                found.append(address)
            else:
                message = f"{variable} names {token}, which is no PCI function of this machine"
                notes.append(Note("DEVICE_ABSENT", token, message))
    return list(dict.fromkeys(found)), list(dict.fromkeys(notes))


def _named(variable: str, value: str) -> list[str]:
    if not variable.endswith("_INFO"):
        return [token.strip() for token in value.split(",") if token.strip()]
    import json  # noqa: PLC0415 -- only these variables need it

    try:
        record = json.loads(value)
    except (ValueError, RecursionError):
        return []
    return list(record) if isinstance(record, dict) else []


def interface_of(root: Root, address: PciAddress) -> str:
    """The interface of a function in this namespace, or the function's address where it has none."""
    names = root.names(f"/sys/bus/pci/devices/{address}/net")
    return names[0] if names else str(address)


def own_interfaces(
    root: Root, environment: Mapping[str, str], rdma: tuple[RdmaDevice, ...], host_network: bool
) -> tuple[tuple[NetworkInterface, ...], tuple[Note, ...]]:
    """The interfaces of this container beside those of its RDMA devices.

    The host's network namespace shows every interface of the host: there only those that a plugin named are ours.
    """
    functions, notes = plugin_functions(root, environment)
    named = [NetworkInterface(interface_of(root, address), address) for address in functions]
    seen, hidden = ((), ()) if host_network else read_interfaces(root)
    taken = {device.pci for device in rdma}
    unique = {one.pci: one for one in (*seen, *named) if one.pci not in taken}
    return tuple(sorted(unique.values(), key=lambda one: one.name)), (*notes, *hidden)
