"""Eight nodes, one of them without memory: there the CPUs are bound to it, and memory to the nearest that has some."""

from typing import Any

from tests.lab.guest.main import case
from tests.lab.guest.placement import bound, check


@case
def last_node() -> dict[str, Any]:
    return bound(gpus=("gpu7",))


@case
def without_memory() -> dict[str, Any]:
    return bound(gpus=("gpu5",))


@case
def without_memory_checked() -> dict[str, Any]:
    return check(gpus=("gpu5",), nics=("nic5",))


@case
def spread() -> dict[str, Any]:
    return check("--policy", "restricted", gpus=("gpu0", "gpu7"))


@case
def spread_single() -> dict[str, Any]:
    return check(gpus=("gpu0", "gpu7"))
