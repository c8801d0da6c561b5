"""A capture of an emulated computer replays without it: the same verdict, plan and picture.

UPDATE_GOLDEN=1 keeps the captures, and what was said of them, in tests/machines/lab, for runs without an emulator.
"""

import json
import os
from pathlib import Path

from numapin.cli import run
from tests.lab.computers import EIGHT_NODES, MEMORY_NODE, SUB_NODES, TWO_SOCKETS
from tests.lab.rounds import Round
from tests.machines.lab_captures import KEPT, REPORTS

ROUNDS = (
    Round(TWO_SOCKETS, ("interrupts", "links", "captured")),
    Round(MEMORY_NODE, ("cpusets", "managed", "captured"), "6.12"),
    Round(SUB_NODES, ("placement", "sub_nodes", "captured")),
    Round(EIGHT_NODES, ("placement", "eight_nodes", "captured")),
)


def test_a_capture_says_what_the_computer_said(seen, request, tmp_path, capsys):
    case = seen["replayed"]
    file = tmp_path / "capture"
    file.write_text(case["capture"])
    for name in REPORTS:
        run([name, "--root", str(file), "--format", "json"])
        assert json.loads(capsys.readouterr().out) == json.loads(case["reports"][name]), name
    if os.environ.get("UPDATE_GOLDEN"):
        _keep(KEPT / request.node.callspec.params["seen"].computer.name, case)


def _keep(directory: Path, case):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "capture").write_text(case["capture"])
    for name in REPORTS:
        (directory / f"{name}.json").write_text(case["reports"][name])


def test_nothing_private_is_in_it(seen, tmp_path, capsys):
    file = tmp_path / "capture"
    file.write_text(seen["replayed"]["capture"])
    assert run(["capture", "--check", str(file)]) == 0, capsys.readouterr().out
