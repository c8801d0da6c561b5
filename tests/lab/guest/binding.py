"""What numapin binds, as the kernel shows it of the server and of the server's child."""

from typing import Any

from tests.lab.guest import process
from tests.lab.guest.launch import Server, driver, numapin, serving
from tests.lab.guest.machine import numa_nodes
from tests.lab.guest.main import case


def _seen(server: Server) -> dict[str, Any]:
    return {"server": server.look(), "child": process.look(process.children(server.pid)[0])}


@case
def homes() -> dict[str, int]:
    return numa_nodes()


@case
def bare() -> dict[str, Any]:
    """Without numapin: what the other cases would look like if it did nothing."""
    with serving() as server:
        return _seen(server)


@case
def bound() -> dict[str, Any]:
    """The accelerator is on node 1: so must be everything."""
    with serving("run", variables=driver("gpu1")) as server:
        seen = _seen(server)
    return {**seen, "said": server.said}


@case
def bound_to_the_first_node() -> dict[str, Any]:
    with serving("run", variables=driver("gpu0")) as server:
        return _seen(server)


@case
def restricted() -> dict[str, Any]:
    """An accelerator on each node: bound to both."""
    with serving("run", "--policy", "restricted", variables=driver("gpu0", "gpu1")) as server:
        return _seen(server)


@case
def preferred() -> dict[str, Any]:
    with serving("run", "--memory-policy", "preferred", variables=driver("gpu1")) as server:
        return _seen(server)


@case
def spanning() -> dict[str, Any]:
    return numapin("run", "--", "/bin/true", variables=driver("gpu0", "gpu1"))


@case
def unknown() -> dict[str, Any]:
    """This accelerator's root complex has no node."""
    return numapin("run", "--", "/bin/true", variables=driver("gpu2"))
