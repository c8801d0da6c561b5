"""Two nodes a socket: neighbours are two nodes to --align numa, and one place to --align socket."""

from typing import Any

from tests.lab.guest.main import case
from tests.lab.guest.placement import bound, check


@case
def neighbours() -> dict[str, Any]:
    """The accelerator is on node 0, the NIC on node 1 of the same socket."""
    return check(gpus=("gpu0",), nics=("nic1",))


@case
def neighbours_by_socket() -> dict[str, Any]:
    return check("--align", "socket", gpus=("gpu0",), nics=("nic1",))


@case
def across_by_socket() -> dict[str, Any]:
    return check("--align", "socket", gpus=("gpu0",), nics=("nic2",))


@case
def bound_to_node() -> dict[str, Any]:
    return bound(gpus=("gpu2",))


@case
def bound_to_socket() -> dict[str, Any]:
    return bound("--align", "socket", gpus=("gpu2",))
