"""A capture replays: what was said of the machine is said of its capture, and nothing private is in it."""

import json
import tarfile
from pathlib import Path

import pytest

from numapin.cli import run
from tests.machines.builder import build_machine
from tests.machines.captured import GPU_HOSTS, archive

VARIABLES = "CUDA_VISIBLE_DEVICES=GPU-77aa;HF_TOKEN=hf_secret;KUBERNETES_SERVICE_HOST=10.96.0.1;HOSTNAME=web-1"
PRIVATE = f"""
    node 0 cpus=0-3 memory=64G distances=10,21
    node 1 cpus=4-7 memory=64G distances=21,10
    gpu 0000:3b:00.0 node=0 uuid=GPU-6b6f11aa-1234-4abc-8def-0123456789ab
    gpu 0000:9b:00.0 node=1 uuid=GPU-77aa22bb-5678-4abc-8def-0123456789ab
    container cpus=0-3 mems=0 env={VARIABLES}
    file /proc/version Linux version 6.8.0 (builder@example.com) #1 SMP
    file /proc/cmdline root=UUID=0c1b7a55-3c6d-4b0a-9f43-1d2b3c4d5e6f agent.log=debug
    file /proc/self/cgroup 0::/kubepods/pod0c1b7a55-3c6d-4b0a-9f43-1d2b3c4d5e6f/web
"""


def reports(capsys: pytest.CaptureFixture[str], root: Path) -> list[object]:
    """What check, plan and show say of a root, but for the GPUs' serial numbers."""
    found = []
    for command in (["check"], ["plan"], ["show"]):
        run([*command, "--root", str(root), "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        for accelerator in report["assignment"]["accelerators"]:
            accelerator.pop("uuid")
        found.append(report)
    return found


def captured(root: Path, into: Path) -> Path:
    assert run(["capture", "--root", str(root), "-o", str(into)]) == 0
    return into


@pytest.mark.parametrize("name", GPU_HOSTS)
def test_a_capture_is_judged_as_the_machine_was(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tarfile.open(archive(name)) as packed:
        packed.extractall(tmp_path / "machine", filter="fully_trusted")
    machine = tmp_path / "machine"
    file = captured(machine, tmp_path / "capture")
    capsys.readouterr()
    assert reports(capsys, file) == reports(capsys, machine)


def test_this_machine_replays_from_its_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = captured(Path("/"), tmp_path / "capture")
    capsys.readouterr()
    assert reports(capsys, file) == reports(capsys, Path("/"))


def test_nothing_private_is_in_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = build_machine(tmp_path / "machine", PRIVATE)
    file = captured(machine, tmp_path / "capture")
    text = file.read_text()
    for secret in ("hf_secret", "HOSTNAME", "10.96", "builder", "0c1b7a55", "6b6f11aa", "77aa22bb", "root="):
        assert secret not in text
    assert "agent.log=debug" in text
    assert run(["capture", "--check", str(file)]) == 0
    assert "nothing in it looks like" in capsys.readouterr().out


def test_a_prefix_of_a_uuid_still_names_its_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CUDA_VISIBLE_DEVICES names the second GPU by the beginning of its UUID; so does the capture's."""
    machine = build_machine(tmp_path / "machine", PRIVATE)
    file = captured(machine, tmp_path / "capture")
    capsys.readouterr()
    assert reports(capsys, file) == reports(capsys, machine)
    run(["check", "--root", str(file), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [one["pci"] for one in report["assignment"]["accelerators"]] == ["0000:9b:00.0"]


def test_a_capture_with_something_private_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "capture"
    file.write_text("numapin capture 1\nfile proc/self/environ\n\tHOST=10.1.2.3\n")
    assert run(["capture", "--check", str(file)]) == 69
    assert "line 3 should not leave the machine: a network address" in capsys.readouterr().out


def test_what_is_no_capture_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "capture"
    file.write_text("numapin capture 1\nfile sys/a\n\t1\nnonsense\n")
    assert run(["check", "--root", str(file)]) == 2
    assert "line 4 is 'nonsense'" in capsys.readouterr().err


def test_a_capture_that_cannot_be_written_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capture", "-o", str(tmp_path / "absent" / "capture")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def loaded_host() -> list[str]:
    """16 GPUs, 32 NICs with 64 interrupts each, 1,024 CPUs on 8 nodes."""
    nodes = [f"node {node} cpus={128 * node}-{128 * node + 127} distances={'21,' * 7}21" for node in range(8)]
    gpus = [f"gpu {number:04x}:17:00.0 node={number // 2}" for number in range(16)]
    nics = [
        f"rdma mlx5_{number} pci={number:04x}:3c:00.0 node={number // 4} "
        f"irqs={1000 + 64 * number}-{1063 + 64 * number} netdev=ib{number}"
        for number in range(32)
    ]
    return [*nodes, *gpus, *nics, "container cpus=0-1022"]


def test_a_fully_loaded_host_is_a_small_attachment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = build_machine(tmp_path / "machine", *loaded_host())
    file = captured(machine, tmp_path / "capture")
    capsys.readouterr()
    assert file.stat().st_size < 2_000_000
    assert reports(capsys, file) == reports(capsys, machine)
