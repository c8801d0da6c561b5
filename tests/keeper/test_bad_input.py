"""`keep` and the keeper's options given what cannot be: a sentence, and the status of the contract."""

import os
import subprocess
import sys

import pytest

from tests.change.launch import MODULE, environment


def keep(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MODULE, "keep", *words], env=environment(), capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ((), 2, "keep needs --pid N"),
        (("--pid", "0"), 2, "'0' is no number from 1 to 4194304"),
        (("--pid", "4194303"), 69, "there is no process 4194303 here"),
        (("--pid", "1", "--hot", "NCCL*=50"), 2, "'50' is no number from 1 to 49"),
        (("--pid", "1", "--hot-nice", "NCCL*=5"), 2, "'5' is no number from -20 to -1"),
        (("--pid", "1", "--hot", "=1"), 2, "'=1' names no thread"),
        (("--pid", "1", "--metrics", "numapin.prom"), 2, "'numapin.prom' is no absolute path"),
        (("--pid", "1", "--workers", "no such"), 2, "'no such' is no name of a profile"),
    ],
)
def test_what_cannot_be_is_a_sentence(words, status, sentence):
    done = keep(*words)
    assert (done.returncode, done.stderr.startswith("numapin: ")) == (status, True), done.stderr
    assert sentence in done.stderr


def test_a_profile_that_is_not_there_is_named_with_those_that_are():
    done = keep("--pid", str(os.getpid()), "--policy", "best-effort", "--unknown", "warn", "--engine", "vlm")
    assert done.returncode == 2
    assert "--engine vlm: there is no such profile. There are nccl, sglang, tensorrt-llm" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_users_process_is_refused():
    script = "import os; from numapin.cli import keep, run; os.setuid(65534); print(run(['keep', '--pid', '1']))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "77\n"
    assert "process 1 belongs to user 0, not to this one" in done.stderr
