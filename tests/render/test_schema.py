"""The JSON reports keep to the schemas that ship in the package."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from numapin.cli import run
from numapin.home import Locator
from numapin.reasons import MEANINGS
from tests.machines.builder import build_machine

MACHINE = """
    node 0 cpus=0-7 memory=64G distances=10,21
    node 1 cpus=8-15 memory=64G distances=21,10
    gpu 0000:3b:00.0 node=0
    gpu 0000:9b:00.0
    rdma mlx5_0 pci=0000:9c:00.0 node=1 irqs=100-103 netdev=ib0
    nic eth1 pci=0000:5e:00.1 node=0 irqs=200
    container cpus=0-9 mems=0-1
"""


def validator(name: str) -> Draft202012Validator:
    schema = json.loads(files("numapin.render").joinpath(f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    run(list(arguments))
    report = json.loads(capsys.readouterr().out)
    assert isinstance(report, dict)
    return report


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_a_report_keeps_to_its_schema(
    command: str, policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build_machine(tmp_path, MACHINE)
    report = printed(capsys, command, "--root", str(root), "--policy", policy, "--rt-main", "1", "--format", "json")
    validator("report").validate(report)
    assert report["policy"] == policy


def test_a_report_with_a_keeper_and_an_engine_keeps_to_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build_machine(tmp_path, MACHINE)
    words = ("--policy", "restricted", "--unknown", "warn", "--hot", "nccl", "--engine", "vllm", "--format", "json")
    report = printed(capsys, "plan", "--root", str(root), *words, "--", "vllm", "serve")
    validator("report").validate(report)
    kinds = [step["kind"] for step in report["steps"]]  # type: ignore[attr-defined]
    assert {"keeper", "environment"} <= set(kinds)
    assert report["engine"] == {
        "name": "vllm",
        "flags": ["--numa-bind", "--numa-bind-nodes", "0", "--numa-bind-cpus", "0-7"],
    }


def test_a_topology_keeps_to_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = build_machine(tmp_path, MACHINE)
    shown = printed(capsys, "show", "--root", str(root), "--format", "json")
    validator("topology").validate(shown)
    assert [node["id"] for node in shown["nodes"]] == [0, 1]  # type: ignore[attr-defined]


def test_the_schema_refuses_what_is_no_report() -> None:
    assert list(validator("report").iter_errors({"schema": "numapin.report/v1", "verdict": "fine"}))


def test_the_schema_names_every_source_of_a_home() -> None:
    """The sources that home.py can answer with are those that the schema lists."""
    source = Path(str(files("numapin").joinpath("home.py"))).read_text()
    listed = validator("report").schema["$defs"]["source"]["enum"]
    assert all(f'"{name}"' in source for name in listed if name)
    assert Locator.__doc__


def test_every_reason_code_is_spelled_as_the_schema_wants() -> None:
    assert all(code.replace("_", "").isupper() for code in MEANINGS)
