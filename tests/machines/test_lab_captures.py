"""The emulated computers without an emulator: their captures are judged as the computers were."""

import json

import pytest

from numapin.cli import run
from tests.machines.lab_captures import COMPUTERS, KEPT, REPORTS


@pytest.mark.parametrize("name", COMPUTERS)
@pytest.mark.parametrize("report", REPORTS)
def test_a_capture_says_what_the_computer_said(name: str, report: str, capsys: pytest.CaptureFixture[str]) -> None:
    run([report, "--root", str(KEPT / name / "capture"), "--format", "json"])
    assert json.loads(capsys.readouterr().out) == json.loads((KEPT / name / f"{report}.json").read_text())
