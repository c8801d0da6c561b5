"""Where every accelerator and NIC of a computer is said to be, and what the policies make of it."""

import json
from typing import Any

from tests.lab.guest.launch import driver, numapin, serving
from tests.lab.guest.machine import interface, numa_nodes
from tests.lab.guest.main import case


@case
def homes() -> dict[str, int]:
    return numa_nodes()


@case
def topology() -> dict[str, Any]:
    return dict(json.loads(numapin("show", "--format", "json")["out"]))


def check(*options: str, gpus: tuple[str, ...] = (), nics: tuple[str, ...] = ()) -> dict[str, Any]:
    """The report of a check of these devices, and its exit status."""
    named = ("--nics", ",".join(map(interface, nics))) if nics else ()
    ran = numapin("check", "--format", "json", *named, *options, variables=driver(*gpus) if gpus else {})
    if not ran["out"]:
        raise RuntimeError(ran["err"])
    return {**json.loads(ran["out"]), "status": ran["status"]}


def bound(*options: str, gpus: tuple[str, ...]) -> dict[str, Any]:
    """What the kernel shows of a server with these accelerators."""
    with serving("run", *options, mib=20, variables=driver(*gpus)) as server:
        seen = server.look()
    return {**seen, "said": server.said}
