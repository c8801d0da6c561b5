"""The stand-in is, as the kernel shows it, what the keeper's tests take it for."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.keeper.engine import Engine
from tests.keeper.engine import until as until_seconds

SECONDS = 10
until = partial(until_seconds, seconds=SECONDS, pause=0.02)
THREADS = {"NCCL Progress 0", "ZMQbg/IO/0", "ZMQbg/Reaper", "pt_nccl_watchdg"}
RENAMED = ("--workers", "2", "--rename-after", "0")
NEVER = ("--rename-after", "600")


def title(pid: int) -> str:
    """The command line of a process that has set its title: the title, and nothing but NULs behind it."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode()


def comm(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")


def names(pid: int) -> list[str]:
    """Of all threads, as the kernel has them."""
    return sorted((task / "comm").read_text().rstrip("\n") for task in Path(f"/proc/{pid}/task").iterdir())


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def below(pid: int) -> list[int]:
    """Every process under it."""
    return [one for child in children(pid) for one in (child, *below(child))]


def workers(engine: Engine) -> list[int]:
    """Children of the only child, in the order of their ranks."""
    (core,) = children(engine.pid)
    return children(core)


def devices(pid: int, folder: Path) -> set[str]:
    """Names of the files of that folder which it has open."""
    opened = (Path(os.readlink(one)) for one in Path(f"/proc/{pid}/fd").iterdir())
    return {file.name for file in opened if file.parent == folder}


def is_gone(pid: int) -> bool:
    """Whether it has ended; who adopted it may not have looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture
def gpus(tmp_path: Path) -> Path:
    for number in range(2):
        (tmp_path / f"nvidia{number}").touch()
    return tmp_path


def test_titles_names_and_ancestry_are_those_of_vllm():
    with Engine(*RENAMED) as engine:
        (core,) = children(engine.pid)
        assert (title(core), comm(core)) == ("VLLM::EngineCore", "VLLM::EngineCor")
        assert until(lambda: [title(one) for one in workers(engine)] == ["VLLM::Worker_TP0", "VLLM::Worker_TP1"])
        assert until(lambda: {comm(one) for one in workers(engine)} == {"VLLM::Worker_TP"})
        assert {parent(one) for one in workers(engine)} == {core}
        assert {"ZMQbg/IO/0", "ZMQbg/Reaper"} <= set(names(engine.pid))


def test_a_worker_is_called_by_its_rank_only_later():
    with Engine("--workers", "1", "--rename-after", "0.5") as engine:
        (worker,) = workers(engine)
        assert (title(worker), comm(worker)) == ("VLLM::Worker", "VLLM::Worker")
        assert until(lambda: title(worker) == "VLLM::Worker_TP0")


def test_threads_have_names_of_their_own_or_their_creators():
    with Engine("--workers", "1", "--threads", "3", *NEVER) as engine:
        (worker,) = workers(engine)
        assert until(lambda: names(worker) == sorted([*THREADS, *["VLLM::Worker"] * 4]))


def test_without_titles_only_the_variable_tells_the_rank():
    with Engine(*RENAMED, "--no-titles", "--variable") as engine:
        assert not any("VLLM" in title(one) or "VLLM" in comm(one) for one in below(engine.pid))
        found = [Path(f"/proc/{one}/environ").read_bytes().split(b"\0") for one in workers(engine)]
        assert [rank for rank, one in enumerate(found) if f"LOCAL_RANK={rank}".encode() in one] == [0, 1]


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ((), [{"nvidia0"}, {"nvidia1"}]),
        (("--open-all",), [{"nvidia0", "nvidia1"}] * 2),
        (("--open-shift",), [{"nvidia1"}, {"nvidia0"}]),
    ],
)
def test_devices_are_open(gpus: Path, words, opened):
    with Engine(*RENAMED, "--open", str(gpus), *words) as engine:
        assert [devices(one, gpus) for one in workers(engine)] == opened


def test_what_controls_the_devices_is_open_where_it_is_and_a_late_worker_needs_no_device(gpus: Path):
    (gpus / "nvidiactl").touch()
    with Engine(*RENAMED, "--open", str(gpus)) as engine:
        assert engine.tell("fork").startswith("forked ")
        opened = [{"nvidia0", "nvidiactl"}, {"nvidia1", "nvidiactl"}, {"nvidiactl"}]
        assert [devices(one, gpus) for one in workers(engine)] == opened


def test_a_start_that_fails_says_why():
    with pytest.raises(RuntimeError, match="unrecognized arguments: --nonsense"):
        Engine("--nonsense")


def test_a_worker_that_fails_is_no_answer():
    with Engine(*RENAMED) as engine, pytest.raises(RuntimeError, match="a process below has ended"):
        engine.tell("affinity of nobody")


def test_tree_says_what_the_kernel_says():
    with Engine(*RENAMED, "--threads", "1") as engine:
        engine.tell("grow")  # answered after the rename, by every worker
        tree = engine.tree()
        assert [one["pid"] for one in tree] == [engine.pid, *below(engine.pid)]
        assert [one["role"] for one in tree] == ["server", "core", "worker", "worker"]
        assert [one["rank"] for one in tree] == [None, None, 0, 1]
        assert all(sorted(one["threads"].values()) == names(one["pid"]) for one in tree)
        assert [one["title"] for one in tree[1:]] == [title(one["pid"]) for one in tree[1:]]


def test_it_grows_spawns_forks_renames_and_binds_as_it_is_told():
    with Engine("--workers", "1", "--rename-after", "0", "--mib", "16") as engine:
        (worker,) = workers(engine)
        assert resident(worker, after=lambda: told(engine, "grow", "grown")) >= 16 << 10
        before = len(names(engine.pid))
        told(engine, "spawn 4", "spawned")
        assert len(names(engine.pid)) == before + 4
        forked = int(engine.tell("fork").split()[1])
        assert workers(engine) == [worker, forked]
        told(engine, "rename something else", "renamed")
        assert (comm(worker), comm(forked)[:12]) == ("something else", "VLLM::Worker")
        cpu = min(os.sched_getaffinity(worker))
        told(engine, f"affinity {cpu}", "bound")
        assert os.sched_getaffinity(worker) == {cpu}


def told(engine: Engine, line: str, answer: str) -> None:
    assert engine.tell(line) == answer


def resident(pid: int, after) -> int:
    """By how many KiB its anonymous memory has grown after that."""

    def now() -> int:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    before = now()
    after()
    return now() - before


def test_another_program_in_the_same_process_has_the_same_children():
    with Engine(*RENAMED) as engine:
        there = below(engine.pid)
        assert engine.tell("reexec") == "ready"
        assert below(engine.pid) == there
        assert [one["pid"] for one in engine.tree()] == [engine.pid, *there]
        assert {"ZMQbg/IO/0", "ZMQbg/Reaper"} <= set(names(engine.pid))


@pytest.mark.parametrize("again", [False, True])
def test_nobody_outlives_a_killed_server(again):
    # Workers that wait for their rename do not read: the end of their input is not what ends them.
    with Engine("--workers", "2", *NEVER) as engine:
        if again:
            engine.tell("reexec")
        there = below(engine.pid)
        assert len(there) == 3
        os.kill(engine.pid, signal.SIGKILL)
        assert until(lambda: all(map(is_gone, there)))


@pytest.mark.parametrize("end", ["quit", "closed", "SIGTERM"])
def test_it_ends_with_status_0_and_takes_all_with_it(end):
    with Engine(*RENAMED) as engine:
        there = below(engine.pid)
        if end == "quit":
            engine.process.stdin.write("quit\n")
            engine.process.stdin.flush()
        elif end == "closed":
            engine.process.stdin.close()
        else:
            os.kill(engine.pid, signal.SIGTERM)
        assert engine.process.wait(SECONDS) == 0
        assert until(lambda: all(map(is_gone, there)))
