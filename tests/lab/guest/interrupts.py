"""Where the interrupts of the machine may go, before and after numapin."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.guest.launch import driver, numapin
from tests.lab.guest.machine import interface, interrupt_affinities, interrupts, run
from tests.lab.guest.main import case
from tests.lab.guest.setting import READ_ONLY_IRQ, Cgroup, network

DEFAULT = Path("/proc/irq/default_smp_affinity")
NICS = ("nic0", "nic1", "virtio1")


def _scatter() -> dict[str, str]:
    """Every NIC's interrupts to CPU 0, which no case asks for; the affinities of all interrupts then."""
    for nic in NICS:
        for number in interrupts(nic):
            Path(f"/proc/irq/{number}/smp_affinity_list").write_text("0")
    return interrupt_affinities()


@contextmanager
def _nics_up() -> Iterator[None]:
    for nic in NICS:
        run("ip", "link", "set", interface(nic), "up")
    yield


def _moved(front: tuple[str, ...], *options: str) -> dict[str, Any]:
    """What a run of numapin beside node 1's accelerator did to the interrupts of the whole machine."""
    before = _scatter()
    ran = numapin("run", *options, "--", "/bin/true", front=front, variables=driver("gpu1"))
    after = interrupt_affinities()
    changed = {number: after[number] for number in after if after[number] != before[number]}
    return {**ran, "changed": changed, "own": {nic: list(map(str, interrupts(nic))) for nic in NICS}}


_NARROW: list[Cgroup] = []


def _cgroup() -> tuple[str, ...]:
    """CPUs 5 and 6, of the four of node 1."""
    if not _NARROW:
        _NARROW.append(Cgroup("narrow", cpuset_cpus="5-6", cpuset_mems="1"))
    return _NARROW[0].front


@case
def host_network() -> dict[str, Any]:
    """In the host's network namespace nobody can say which NICs are ours."""
    with _nics_up():
        return _moved(())


@case
def host_network_named() -> dict[str, Any]:
    return _moved((), "--nics", interface("nic1"))


@case
def own_network() -> dict[str, Any]:
    """A container's: one NIC in its network namespace, two CPUs of the node."""
    with network("own", "nic1") as front:
        return _moved((*_cgroup(), *front))


@case
def own_network_virtio() -> dict[str, Any]:
    with network("own", "virtio1") as front:
        return _moved((*_cgroup(), *front))


@case
def local() -> dict[str, Any]:
    with network("own", "nic1") as front:
        return _moved((*_cgroup(), *front), "--irq-cpus", "local")


@case
def off() -> dict[str, Any]:
    with network("own", "nic1") as front:
        return _moved((*_cgroup(), *front), "--irq", "off")


@case
def kept_free() -> dict[str, Any]:
    """The runtime took the container's CPUs out of the default affinity, to keep interrupts away from them."""
    before = DEFAULT.read_text()
    DEFAULT.write_text("1f")
    try:
        with network("own", "nic1") as front:
            return _moved((*_cgroup(), *front))
    finally:
        DEFAULT.write_text(before)


@case
def read_only() -> dict[str, Any]:
    with network("own", "nic1") as front:
        return _moved((*_cgroup(), *front, *READ_ONLY_IRQ))


@case
def read_only_required() -> dict[str, Any]:
    with network("own", "nic1") as front:
        return _moved((*_cgroup(), *front, *READ_ONLY_IRQ), "--irq", "require")


@case
def nic_away() -> dict[str, Any]:
    """A NIC of node 0 beside an accelerator of node 1."""
    with network("own", "nic0") as front:
        return _moved((*_cgroup(), *front))


@case
def nic_unknown() -> dict[str, Any]:
    with network("own", "nic2") as front:
        return _moved((*_cgroup(), *front))
