"""Containers in which a step is refused: by a seccomp profile, by a read-only /proc. What is said then."""

from pathlib import Path

import pytest

from tests.containers import seccomp
from tests.containers.machine import NIC, Machine
from tests.containers.process import SNAPSHOT, parse
from tests.containers.runtime import run

REFUSED = 77


@pytest.fixture(scope="module")
def docker(tmp_path_factory) -> tuple[str, ...]:
    """Options for a container under Docker's seccomp rules."""
    return "--security-opt", seccomp.like_docker(tmp_path_factory.mktemp("seccomp"))


def test_dockers_rules_refuse_memory_and_the_way_out_is_said(image, cpu, docker):
    """77, no server, and a sentence that names the call, the profile and the capability that opens it."""
    done = run(image, "/bin/echo", "the server", options=(*cpu.only, *docker))

    assert done.status == REFUSED
    assert "the server" not in done.out
    assert "set_mempolicy" in done.err
    assert "seccomp" in done.err
    assert "SYS_NICE" in done.err
    assert "Traceback" not in done.err


def test_dockers_rules_with_memory_as_a_wish(image, cpu, docker):
    """--memory try, by variable as a pod would set it: the server starts on its CPU, with a warning, unbound."""
    done = run(image, *SNAPSHOT, options=(*cpu.only, *docker, "--env", "NUMAPIN_MEMORY=try"))
    server = parse(done.out)

    assert done.status == 0
    assert "set_mempolicy" in done.err
    assert server.policies == {"default"}
    assert server.status["Cpus_allowed_list"] == str(cpu.number)


@pytest.mark.parametrize("user", [(), ("--user", "1000")], ids=["root", "non-root"])
def test_dockers_rules_with_the_capability(image, cpu, docker, user):
    """--cap-add SYS_NICE opens the rule, also for a user who cannot use it: the rule reads the bounding set."""
    done = run(image, *SNAPSHOT, options=(*cpu.only, *docker, *user, "--cap-add", "SYS_NICE"))

    assert done.status == 0
    assert parse(done.out).policies == {f"bind=static:{cpu.node}"}


def test_a_termination_log_gets_the_cause(image, cpu, docker, tmp_path):
    """The file that the kubelet mounts there, mode 0666, is written in place."""
    log = tmp_path / "termination-log"
    log.touch(mode=0o666)
    log.chmod(0o666)
    mount = ("--volume", f"{log}:/dev/termination-log")
    done = run(image, "/bin/true", options=(*cpu.only, *docker, *mount, "--user", "1000", "--read-only"))

    assert done.status == REFUSED
    assert "set_mempolicy" in log.read_text()
    assert log.stat().st_size <= 4096


def test_interrupts_cannot_be_moved_where_proc_irq_is_read_only(image, cpu, tmp_path):
    """--irq require on a NIC with interrupts: /proc/irq is read-only in every container, and that is what is said."""
    machine = Machine(cpu, gpu=cpu.node, nic=cpu.node)
    options = machine.options(tmp_path)
    interrupts = tmp_path / "sys/devices/pci0000:9b" / NIC / "msi_irqs"
    interrupts.mkdir()
    (interrupts / _interrupt_elsewhere(cpu)).write_text("msix\n")
    done = run(image, "/bin/echo", "the server", options=(*options, "--env", "NUMAPIN_IRQ=require"))

    assert done.status == REFUSED
    assert "the server" not in done.out
    assert "/proc/irq" in done.err
    assert "read-only" in done.err


def _interrupt_elsewhere(cpu) -> str:
    """Number of an interrupt of this machine that may come to other CPUs too, so that there is something to move."""
    lists = Path("/proc/irq").glob("[0-9]*/smp_affinity_list")
    return next(file.parent.name for file in lists if file.read_text().strip() != str(cpu.number))
