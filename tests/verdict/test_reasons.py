"""Every reason code: from a machine in files to its sentence, its weight, and what it says to do."""

from pathlib import Path

import pytest

from numapin.cli import run
from numapin.reasons import Reason
from numapin.settings import Settings
from numapin.sources.machine import read_machine
from numapin.sources.opening import open_root
from numapin.verdict import Verdict, judge
from tests.machines.builder import build_machine
from tests.verdict.notice_cases import NOTICES
from tests.verdict.reason_cases import CONTAINER, GPU, MISALIGNED, NODES, UNKNOWN, Case

CASES = (*MISALIGNED, *UNKNOWN, *NOTICES)
GUARANTEED_POD = {"/proc/self/oom_score_adj": "-997\n"}


def build(case: Case, directory: Path, files: dict[str, str]) -> Path:
    root = build_machine(directory, case.machine)
    for path, text in {**case.files, **files}.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    if case.read_only:
        (root / case.read_only.lstrip("/")).chmod(0o444)
    return root


def verdict_of(case: Case, directory: Path, files: dict[str, str] | None = None) -> Verdict:
    settings = Settings(**case.settings)
    root = build(case, directory, files or {})
    return judge(*read_machine(open_root(str(root)), settings), settings)


def named(cases: tuple[Case, ...]) -> list[str]:
    return [f"{case.code}-{case.subject}" for case in cases]


@pytest.mark.parametrize("case", CASES, ids=named(CASES))
def test_a_reason_says_which_piece_is_where_and_what_to_do(case: Case, tmp_path: Path) -> None:
    verdict = verdict_of(case, tmp_path)
    found = [reason for reason in verdict.reasons if reason.code == case.code]
    assert found == [Reason(case.code, case.severity, case.subject, case.message, found[0].hint if found else "")]
    assert case.hint in found[0].hint


@pytest.mark.parametrize("case", MISALIGNED, ids=named(MISALIGNED))
def test_a_misalignment_comes_alone_and_is_the_verdict(case: Case, tmp_path: Path) -> None:
    """One cause is one reason: its sentence is the verdict's, and its hint says what remote access costs."""
    verdict = verdict_of(case, tmp_path)
    assert (verdict.status, verdict.sentence) == ("misaligned", case.message)
    assert [reason.code for reason in verdict.reasons] == [case.code]
    assert "(distance 21 instead of 10)" in verdict.reasons[0].hint


@pytest.mark.parametrize("case", MISALIGNED, ids=named(MISALIGNED))
def test_in_a_pod_the_hint_says_to_delete_the_pod_and_which_kubelet_setting_it_is(case: Case, tmp_path: Path) -> None:
    """A container restart gets the same CPUs and devices: nothing that `docker run` takes helps."""
    verdict = verdict_of(case, tmp_path, GUARANTEED_POD)
    hint = next(reason.hint for reason in verdict.reasons if reason.code == case.code)
    assert "A container restart gets the same CPUs and devices: delete the pod" in hint
    assert any(setting in hint for setting in ("topologyManager", "cpuManagerPolicy", "memoryManagerPolicy"))
    assert "--cpuset" not in hint


@pytest.mark.parametrize("case", UNKNOWN, ids=named(UNKNOWN))
def test_what_nobody_can_say_is_the_verdict_unless_it_only_warns(case: Case, tmp_path: Path) -> None:
    verdict = verdict_of(case, tmp_path)
    assert (verdict.status == "unknown") == (case.severity == "error")
    assert bool(verdict.errors) == (case.severity == "error")


@pytest.mark.parametrize("case", NOTICES, ids=named(NOTICES))
def test_a_notice_changes_no_verdict(case: Case, tmp_path: Path) -> None:
    verdict = verdict_of(case, tmp_path)
    assert (verdict.status, verdict.errors) == ("aligned", ())


def test_the_issues_sentence_is_said_word_for_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rdma = "rdma mlx5_0 pci=0000:9b:00.0 node=1 irqs=100 netdev=ib0\n"
    root = build_machine(tmp_path, f"{NODES}{GPU}{rdma}{CONTAINER}")
    status = run(["check", "--root", str(root)])
    first, hint, *rest = capsys.readouterr().out.splitlines()
    assert status == 78
    assert first == ("misaligned: mlx5_0 (0000:9b:00.0) is on node 1, GPU 0 (0000:3b:00.0) and CPUs 0-15 are on node 0")
    assert hint.startswith("  hint: Every copy between the nodes crosses the socket link (distance 21 instead of 10).")
    assert not any("mlx5_0" in line for line in rest)


def test_more_devices_than_expected_are_as_wrong_as_fewer(tmp_path: Path) -> None:
    verdict = verdict_of(Case("", "error", "", "", "", settings={"expect_gpus": 0}), tmp_path)
    assert [(reason.code, reason.message) for reason in verdict.errors] == [
        ("DEVICE_MISSING", "1 GPU is visible, --expect-gpus says 0")
    ]
