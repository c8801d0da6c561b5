"""What only netlink tells of an interface: its kind, and whether its parent is in another namespace."""

import struct
from array import array
from typing import Any

from numapin.sources.parsing import read
from numapin.sources.root import Root
from numapin.values import value

CAPTURED = "/numapin/netlink.json"
SIOCETHTOOL = 0x8946
ETHTOOL_GDRVINFO = 3
DRVINFO_BYTES = 196


@value
class Link:
    """An interface as RTM_GETLINK tells it (rtnetlink(7))."""

    kind: str | None
    """IFLA_INFO_KIND: vlan, macvlan, ipvlan, veth ..."""
    parent_namespace: int | None
    """IFLA_LINK_NETNSID: the number of the namespace that its parent is in; None where it is in this one."""


def read_link(root: Root, name: str) -> Link | None:
    """What netlink says of an interface; None where there is no such interface, or nobody to ask."""
    if not root.is_live:
        return (read(root, CAPTURED, parse_links) or {}).get(name)
    try:
        from pyroute2 import IPRoute, NetlinkError  # noqa: PLC0415 -- 130 ms; few containers have such interfaces
    except ImportError:
        return None
    try:
        with IPRoute() as route:
            found = list(route.link("get", ifname=name))
    except (NetlinkError, OSError):
        return None
    return _link(found[0]) if found else None


def driver(root: Root, name: str) -> str | None:
    """The driver of an interface (ETHTOOL_GDRVINFO, linux/ethtool.h): a hundred times cheaper than loading pyroute2."""
    if not root.is_live:
        link = (read(root, CAPTURED, parse_links) or {}).get(name)
        return link.kind if link else None
    import fcntl  # noqa: PLC0415 -- only interfaces with another end need it
    import socket  # noqa: PLC0415

    answer = array("B", struct.pack("=I", ETHTOOL_GDRVINFO) + bytes(DRVINFO_BYTES - 4))
    request = struct.pack("16sP", name.encode(), answer.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anything:
        try:
            fcntl.ioctl(anything, SIOCETHTOOL, request)
        except OSError:
            return None
    return answer.tobytes()[4:36].partition(b"\0")[0].decode("ascii", "replace")


def _link(message: Any) -> Link:
    info = message.get_attr("IFLA_LINKINFO")
    kind = info.get_attr("IFLA_INFO_KIND") if info else None
    return Link(kind, message.get_attr("IFLA_LINK_NETNSID"))


def record(link: Link) -> dict[str, Any]:
    """An answer as a capture keeps it; the other way round from `parse_links`."""
    return {"kind": link.kind, "parent_namespace": link.parent_namespace}


def parse_links(text: str) -> dict[str, Link]:
    """The answers that a capture kept as JSON. Raises ValueError where the text is not such a record."""
    import json  # noqa: PLC0415 -- only captures need it

    try:
        record = json.loads(text)
        return {name: Link(entry.get("kind"), entry.get("parent_namespace")) for name, entry in record.items()}
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a record of netlink answers: {error!r}") from None
