"""What lies on a NIC: bonds, VLANs, macvlan, ipvlan, veth; and RDMA devices in both namespace modes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.guest.launch import numapin
from tests.lab.guest.machine import addresses, interface, modprobe, run
from tests.lab.guest.main import case
from tests.lab.guest.setting import network

UVERBS = Path("/dev/infiniband")


def _devices(front: tuple[str, ...], *options: str) -> dict[str, Any]:
    """The network and RDMA devices of a check's report: where each is said to be; and the reasons."""
    ran = numapin("check", "--format", "json", *options, front=front)
    if not ran["out"]:
        raise RuntimeError(ran["err"])
    report = json.loads(ran["out"])
    kinds = {kind: report["assignment"][kind] for kind in ("nics", "rdma")}
    return {
        "status": ran["status"],
        "addresses": addresses(),
        "reasons": {reason["subject"]: reason for reason in report["reasons"]},
        **{kind: {one["name"]: one for one in found} for kind, found in kinds.items()},
    }


@contextmanager
def _stacked(kind: str, *options: str, on: str) -> Iterator[None]:
    """An interface of this kind, named for it, on another one."""
    run("ip", "link", "add", "link", on, "name", f"{kind}0", "type", kind, *options)
    try:
        yield
    finally:
        run("ip", "link", "del", f"{kind}0")


def _with_parent(kind: str, *options: str) -> dict[str, Any]:
    """In the namespace of the NIC it lies on."""
    with network("own", "nic1") as front:
        port = run(*front, "ls", "/sys/class/net").stdout.split()
        nic = next(name for name in port if name.startswith("eth"))
        run("ip", "-n", "own", "link", "add", "link", nic, "name", f"{kind}0", "type", kind, *options)
        found = _devices(front, "--nics", f"{kind}0")
        run("ip", "-n", "own", "link", "del", f"{kind}0")
    return found


def _alone(kind: str, *options: str) -> dict[str, Any]:
    """In a namespace without the NIC it lies on, as a container network plugin does it."""
    with _stacked(kind, *options, on=interface("nic1")), network("own") as front:
        run("ip", "link", "set", f"{kind}0", "netns", "own")
        found = _devices(front)
        found["uevent"] = run(*front, "cat", f"/sys/class/net/{kind}0/uevent").stdout
        run("ip", "-n", "own", "link", "set", f"{kind}0", "netns", "1")
    return found


@case
def vlan() -> dict[str, Any]:
    return _with_parent("vlan", "id", "7")


@case
def macvlan() -> dict[str, Any]:
    return _with_parent("macvlan", "mode", "bridge")


@case
def ipvlan() -> dict[str, Any]:
    return _with_parent("ipvlan")


@case
def macvlan_alone() -> dict[str, Any]:
    return _alone("macvlan", "mode", "bridge")


@case
def ipvlan_alone() -> dict[str, Any]:
    return _alone("ipvlan")


@case
def vlan_alone() -> dict[str, Any]:
    return _alone("vlan", "id", "8")


@case
def veth_alone() -> dict[str, Any]:
    """What most containers have: no NIC below it, and nothing to judge."""
    with network("own") as front:
        run("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1", "netns", "own")
        found = _devices(front)
        run("ip", "link", "del", "veth0")
    return found


def _bonded(*devices: str) -> dict[str, Any]:
    modprobe("bonding")
    with network("own", *devices) as front:
        run("ip", "-n", "own", "link", "add", "bond0", "type", "bond", "mode", "active-backup")
        for name in run(*front, "ls", "/sys/class/net").stdout.split():
            if name.startswith("eth"):
                run("ip", "-n", "own", "link", "set", name, "down")
                run("ip", "-n", "own", "link", "set", name, "master", "bond0")
        found = _devices(front)
        run("ip", "-n", "own", "link", "del", "bond0")
    return found


@case
def bond() -> dict[str, Any]:
    """Over one card's port."""
    return _bonded("nic1")


@case
def bond_of_two() -> dict[str, Any]:
    """Over ports of cards on different nodes."""
    return _bonded("nic0", "nic1")


@contextmanager
def _soft_rdma() -> Iterator[None]:
    """Soft RoCE on the NICs of both nodes: rxe0 and rxe1."""
    modprobe("crc32_generic")  # which rdma_rxe needs, and does not say so
    modprobe("rdma_rxe", "ib_uverbs")
    for number in (0, 1):
        port = interface(f"nic{number}")
        run("ip", "link", "set", port, "up")
        run("rdma", "link", "add", f"rxe{number}", "type", "rxe", "netdev", port)
    try:
        yield
    finally:
        for number in (0, 1):
            run("rdma", "link", "del", f"rxe{number}", check=False)


def _only(number: int) -> tuple[str, ...]:
    """A /dev/infiniband with one device, as a device plugin gives it."""
    script = f'mount -t tmpfs none {UVERBS}; touch {UVERBS}/uverbs{number}; exec "$@"'
    return ("unshare", "--mount", "sh", "-ec", script, "sh")


def _number(device: str) -> int:
    """Of the device file of an RDMA device."""
    files = Path("/sys/class/infiniband_verbs").glob("uverbs*/ibdev")
    return next(int(file.parent.name.removeprefix("uverbs")) for file in files if file.read_text().strip() == device)


def _set_mode(mode: str) -> None:
    modprobe("ib_core")
    run("rdma", "system", "set", "netns", mode)


def _in_mode(mode: str) -> dict[str, Any]:
    """A container with the second of two devices, in the network namespace that has the NICs, and in another."""
    _set_mode(mode)
    with _soft_rdma():
        only = _only(_number("rxe1"))
        host = _devices(only)
        with network("own") as front:
            other = _devices((*front, *only))
            there = run(*front, "ls", "/sys/class/infiniband").stdout.split()
    return {"host": host, "other": other, "there": there}


@case
def rdma_shared() -> dict[str, Any]:
    return _in_mode("shared")


@case
def rdma_exclusive() -> dict[str, Any]:
    return _in_mode("exclusive")
