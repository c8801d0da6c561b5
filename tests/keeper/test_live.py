"""The keeper beside a stand-in for vLLM, on this machine: it finds, places, puts back, says, and ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.change.launch import MODULE, environment
from tests.keeper.engine import SECONDS, Engine, until
from tests.keeper.test_bad_input import keep

RUN = ("run", "--policy", "best-effort", "--unknown", "warn", "--memory", "try", "--irq", "off", "--engine", "vllm")
CPUS = sorted(os.sched_getaffinity(0))

several = pytest.mark.skipif(len(CPUS) < 2, reason="a CPU of its own, and one more, are two")


def kept(*options: str, words: tuple[str, ...] = ("--workers", "1", "--threads", "3"), **variables: str) -> Engine:
    return Engine(*words, front=(*MODULE, *RUN, *options, "--"), variables=environment(**variables))


def masks(engine: Engine) -> dict[int, tuple[str, set[int]]]:
    """Name and CPUs of every thread of the engine."""
    found = {tid: name for one in engine.tree() for tid, name in one["threads"].items()}
    return {tid: (name, os.sched_getaffinity(tid)) for tid, name in found.items()}


def is_alone(engine: Engine, name: str) -> bool:
    """Whether the only thread of that name has a CPU of its own."""
    shown = masks(engine)
    (own,) = [cpus for called, cpus in shown.values() if called == name]
    others = [cpus for called, cpus in shown.values() if called != name]
    return len(own) == 1 and not any(own & cpus for cpus in others)


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@several
def test_a_hot_thread_has_its_cpu_and_new_threads_are_kept_off_it(tmp_path: Path):
    metrics = tmp_path / "numapin.prom"
    with kept("--hot", "NCCL Progress*", "--rt", "off", "--metrics", str(metrics)) as engine:
        assert until(lambda: is_alone(engine, "NCCL Progress 0")), engine.said()
        engine.tell("spawn 20")
        assert until(lambda: is_alone(engine, "NCCL Progress 0"))
        assert "NCCL Progress 0 (thread " in engine.said()
        assert until(lambda: "numapin_keeper_hot_threads 1\n" in metrics.read_text())
        keeper = engine.keeper()
        assert os.sched_getaffinity(keeper) <= set.union(
            *(one for name, one in masks(engine).values() if "NCCL" not in name)
        )
    assert until(lambda: is_gone(keeper))
    assert [one.name for one in tmp_path.iterdir()] == ["numapin.prom"]


@several
def test_what_somebody_else_binds_is_put_back_and_said_once():
    with kept("--hot", "VLLM::Worker*", "--rt", "off") as engine:
        main = next(one["pid"] for one in engine.tree() if one["role"] == "worker")
        assert until(lambda: len(os.sched_getaffinity(main)) == 1)
        own = os.sched_getaffinity(main)
        for _ in range(2):
            engine.tell(f"affinity {','.join(map(str, CPUS))}")
            assert until(lambda: os.sched_getaffinity(main) == own)
        assert engine.said().count("was put back") == 1


@several
def test_a_server_may_rename_fork_and_become_another_program():
    with kept("--hot", "NCCL*", "--rt", "off") as engine:
        assert until(lambda: is_alone(engine, "NCCL Progress 0"))
        keeper = engine.keeper()
        engine.tell("reexec")
        engine.tell("rename something else")
        child = int(engine.tell("fork").split()[1])
        assert until(lambda: f"(process {child})" in engine.said())
        assert engine.keeper() == keeper
        assert until(lambda: not os.sched_getaffinity(engine.pid) & os.sched_getaffinity(hot_thread(engine)))


def hot_thread(engine: Engine) -> int:
    return next(tid for tid, (name, _) in masks(engine).items() if name.startswith("NCCL"))


@several
def test_five_thousand_threads_are_all_placed():
    with kept("--hot", "NCCL*", "--rt", "off") as engine:
        assert until(lambda: is_alone(engine, "NCCL Progress 0"))
        engine.tell("spawn 5000")
        assert until(lambda: is_alone(engine, "NCCL Progress 0"))
        assert engine.keeper()


def test_a_keeper_may_be_asked_for_without_any_reason():
    with kept("--keep") as engine:
        assert until(engine.keeper)
        keeper = engine.keeper()
        assert "start keeper: cpus=" in engine.said()
    assert until(lambda: is_gone(keeper))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_keeper_ends_with_the_server_and_delays_nothing(number):
    """It holds no pipe: whoever reads the server's output sees its end at once."""
    with kept("--keep") as engine:
        assert until(engine.keeper)
        keeper = engine.keeper()
        for name in os.listdir(f"/proc/{keeper}/fd"):
            assert not os.readlink(f"/proc/{keeper}/fd/{name}").startswith("pipe:")
        os.kill(engine.pid, number)
        assert engine.process.wait(SECONDS) == (0 if number == signal.SIGTERM else -number)
        assert engine.process.stdout.read() == ""
        assert until(lambda: is_gone(keeper))


def test_the_keeper_is_nobodys_child_to_wait_for():
    with kept("--keep") as engine:
        assert until(engine.keeper)
        status = Path(f"/proc/{engine.keeper()}/status").read_text()
        assert f"PPid:\t{engine.pid}\n" not in status
        assert Path(f"/proc/{engine.keeper()}/comm").read_text() == "numapin-keeper\n"
        children = Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split()
        assert len(children) == 1


def test_a_keeper_that_is_killed_takes_nothing_with_it():
    with kept("--keep") as engine:
        assert until(engine.keeper)
        os.kill(engine.keeper(), signal.SIGKILL)
        assert until(lambda: not engine.keeper())
        assert engine.tell("spawn 1") == "spawned"
        assert engine.end() == 0


def test_it_speaks_on_the_servers_stderr_also_where_that_is_a_pipe():
    script = "import time; time.sleep(4)"
    command = [
        *MODULE,
        *RUN,
        "--hot",
        "python*",
        "--rt",
        "off",
        "--log-format",
        "json",
        "--",
        sys.executable,
        "-c",
        script,
    ]
    done = subprocess.run(command, env=environment(), stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 0
    assert any("start keeper" in one["event"] for one in told)
    assert any(one["event"].startswith("keeper: ") for one in told)


def test_a_second_numapin_in_the_chain_finds_the_keeper_of_the_first():
    with kept("--keep", "--", *MODULE, *RUN, "--keep") as engine:
        assert until(engine.keeper)
        lines = [line for line in engine.said().splitlines() if "start keeper" in line]
        assert [line.endswith("(already)") for line in lines] == [False, True]


def test_a_process_has_one_keeper():
    with kept("--keep") as engine:
        assert until(engine.keeper)
        done = keep("--pid", str(engine.pid), *RUN[1:])
        assert (done.returncode, "has a keeper already" in done.stderr) == (2, True)


@several
def test_a_server_that_runs_already_gets_a_keeper():
    with Engine("--workers", "1") as engine:
        command = [*MODULE, "keep", "--pid", str(engine.pid), *RUN[1:], "--hot", "NCCL*", "--rt", "off"]
        with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as keeper:
            assert until(lambda: is_alone(engine, "NCCL Progress 0"))
            assert engine.keeper() == keeper.pid
            engine.end()
            assert keeper.wait(SECONDS) == 0
            assert f"process {engine.pid} has ended, and so does its keeper" in keeper.stderr.read()


def test_a_keeper_in_the_foreground_ends_when_it_is_told():
    with Engine() as engine:
        command = [*MODULE, "keep", "--pid", str(engine.pid), *RUN[1:]]
        with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as keeper:
            assert until(lambda: Path(f"/proc/{keeper.pid}/comm").read_text() == "numapin-keeper\n")
            keeper.terminate()
            assert keeper.wait(SECONDS) == 0
        assert engine.tell("spawn 1") == "spawned"


def test_a_keeper_that_cannot_be_forked_is_a_refusal_and_one_server_is_started():
    """RLIMIT_NPROC of another user's: --hot may be refused, what is required may not."""
    script = (
        "import os, resource, sys\n"
        "from numapin.cli import commands, keep, run\n"
        "from numapin import commission\n"
        "from numapin.kernel import starting\n"
        "from numapin.sources import profiles\n"
        "count = [0]\n"
        "real = os.fork\n"
        "def fork():\n"
        "    count[0] += 1\n"
        "    if count[0] == int(os.environ['FAILS']):\n"
        "        raise OSError(11, 'no')\n"
        "    return real()\n"
        "os.fork = fork\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    for number in ("1", "2"):
        command = [sys.executable, "-c", script, *RUN, "--keep", "--", "echo", "served"]
        done = subprocess.run(
            command, env=environment(FAILS=number), capture_output=True, text=True, timeout=30, check=False
        )
        assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr
        assert "start keeper: cpus=" in done.stderr
        assert "(refused)" in done.stderr
