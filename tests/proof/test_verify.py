"""`numapin verify` on this machine: a stand-in for an engine, started by numapin, looked at from outside."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.change.launch import MODULE, environment
from tests.keeper.engine import Engine
from tests.render.test_schema import validator

RUN = ("run", "--policy", "best-effort", "--unknown", "warn", "--irq", "off")
CPUS = sorted(os.sched_getaffinity(0))
WORDS = ("--workers", "1", "--threads", "2")

several = pytest.mark.skipif(len(CPUS) < 2, reason="somewhere else needs a second CPU")


def bound(*options: str, words: tuple[str, ...] = WORDS, **variables: str) -> Engine:
    return Engine(*words, front=(*MODULE, *RUN, *options, "--"), variables=environment(**variables))


def verify(*words: str, front: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*front, *MODULE, "verify", *words]
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=60, check=False
    )


def test_a_server_that_is_where_it_was_put_is_aligned():
    with bound() as engine:
        done = verify("--pid", str(engine.pid), "--tree")
    first, memory, *tree = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert first.startswith("aligned: ")
    assert "with 2 processes below it" in first
    assert "anonymous memory is there" in first
    assert memory.startswith("memory: anonymous ")
    assert ["VLLM::" in line for line in tree] == [False, True, True]
    assert tree[2].startswith("    VLLM::Worker")


def test_the_report_keeps_to_its_schema():
    with bound() as engine:
        done = verify("--pid", str(engine.pid), "--format", "json")
    report = json.loads(done.stdout)
    validator("verify").validate(report)
    assert (report["verdict"], report["against"], report["counted"]) == ("aligned", "plan", "maps")
    assert {policy for one in report["processes"] for policy in one["memory_policies"]} == {"bind=static:0"}


@several
@pytest.mark.parametrize("quick", [False, True])
def test_a_worker_that_bound_itself_elsewhere_is_drift(quick):
    """And the variable that may have made it do so is named, where every thread is looked at."""
    one, other = str(CPUS[0]), str(CPUS[-1])
    with bound(front_mask(one), OMP_PROC_BIND="true") as engine:
        engine.tell(f"affinity {other}")
        words = ["--pid", str(engine.pid), *(["--quick"] if quick else [])]
        done = verify(*words)
    assert done.returncode == 78
    first, hint, *_ = done.stdout.splitlines()
    assert first.startswith("misaligned: ")
    assert f"may run on CPU {other}" in first
    assert "VLLM::Worker" in first
    assert f"on CPU {one}" in first.rpartition(" belong")[2]
    assert "OMP_PROC_BIND=true" in first
    assert "numapin keep --pid N" in hint


def front_mask(cpus: str) -> str:
    """What if the container had these CPUs."""
    return f"--cpus={cpus}"


def among_themselves(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A shell script in a process namespace of its own: other servers of this machine are not to be found there."""
    if os.geteuid():
        pytest.skip("a process namespace needs root")
    front = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c")
    script = script.replace("numapin", shlex.join(MODULE))
    return subprocess.run(
        [*front, script], env=environment(**variables), capture_output=True, text=True, timeout=60, check=False
    )


SERVER = "numapin run --policy best-effort --unknown warn --irq off"
AWAIT = "until numapin verify --quick >/dev/null 2>&1 || [ $? != 69 ]; do sleep 0.1; done"


@several
def test_it_never_judges_itself():
    """An exec probe has neither the server's affinity nor its policy, and perhaps another marker."""
    mask, other = CPUS[0], CPUS[-1]
    marker = f"NUMAPIN_APPLIED='v1 policy=restricted nodes=0 cpus={other} mems=0'"
    probe = f"env {marker} taskset -c {other} numapin verify --quick"
    done = among_themselves(f"{SERVER} --cpus {mask} -- sleep 50 & {AWAIT}; {probe}")
    assert done.returncode == 0, done
    assert f"with 1 thread is on CPU {mask} of node 0" in done.stdout


def test_without_a_server_it_cannot_tell():
    done = among_themselves("numapin verify; exit $?")
    assert (done.returncode, done.stdout) == (69, "")
    assert "there is no process here that numapin started" in done.stderr


def test_of_two_servers_neither_is_taken():
    script = f"{SERVER} -- sleep 50 & one=$!; {SERVER} -- sleep 50 & two=$!; sleep 2; echo $one, $two; numapin verify"
    done = among_themselves(f"{script}; exit $?")
    assert done.returncode == 69
    assert f"numapin started several processes here: {done.stdout.strip()}" in done.stderr


def test_a_server_that_numapin_did_not_start_is_compared_with_the_verdict_of_now():
    with Engine(*WORDS) as engine:
        words = ("--pid", str(engine.pid), "--policy", "best-effort", "--unknown", "warn", "--format", "json")
        done, quick = verify(*words), verify("--pid", str(engine.pid), "--quick")
    assert json.loads(done.stdout)["against"] == "verdict"
    assert quick.returncode == 69
    assert "was not started by numapin" in quick.stderr


def test_a_container_that_does_not_belong_together_is_told_as_check_tells_it():
    """In the form that was asked for, with the server beside it."""
    with Engine(*WORDS) as engine:
        done = verify("--pid", str(engine.pid), "--expect-gpus", "7", "--format", "json")
    report = json.loads(done.stdout)
    validator("verify").validate(report)
    assert done.returncode == 69
    assert (report["verdict"], report["against"]) == ("unknown", "verdict")
    assert "DEVICE_MISSING" in [reason["code"] for reason in report["reasons"]]
    assert len(report["processes"]) == 3


def test_what_the_kernel_refused_is_not_in_the_marker_and_no_drift():
    with bound("--memory", "off") as engine:
        content = Path(f"/proc/{engine.pid}/environ").read_bytes()
        done = verify("--pid", str(engine.pid))
    assert b" mems=\0" in content + b"\0"
    assert done.returncode == 0


@pytest.mark.parametrize(("words", "status"), [(("--pid", "4194303"), 69), (("--pid", "x"), 2), (("--pages", "x"), 2)])
def test_bad_input_has_its_status(words, status):
    assert verify(*words).returncode == status


def test_a_marker_that_is_none_is_named():
    with Engine(*WORDS, variables=environment(NUMAPIN_APPLIED="v9 nonsense")) as engine:
        done = verify("--pid", str(engine.pid))
    assert done.returncode == 69
    assert "NUMAPIN_APPLIED of process" in done.stderr


def test_a_probe_leaves_no_cause_for_kubernetes(tmp_path):
    """It would be taken for why the server ended."""
    place = tmp_path / "termination-log"
    place.touch()
    assert verify("--pid", "4194303", NUMAPIN_TERMINATION_LOG=str(place)).returncode == 69
    assert place.read_text() == ""


def test_the_cgroups_own_count_serves_where_it_is_asked_for():
    with bound() as engine:
        done = verify("--pid", str(engine.pid), "--pages", "cgroup", "--format", "json")
    report = json.loads(done.stdout)
    assert report["counted"] in ("cgroup", None)
    assert {one["pages"] for one in report["processes"]} == {None}
