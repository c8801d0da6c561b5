"""Who there is: a tree followed from one look to the next, through a /proc that is written for the test."""

import os
from pathlib import Path

import pytest

from numapin.sources import census as module
from numapin.sources import tasks
from numapin.sources.census import Census


class Proc:
    """A /proc of files."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def start(self, pid: int, parent: int, title: str, *names: str, environ: str = "", policy: str = "default") -> None:
        folder = self.place / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "stat").write_text(f"{pid} (a) b (c)) S {parent} " + " ".join(["0"] * 17) + f" {pid * 7} 0\n")
        (folder / "environ").write_text(environ)
        (folder / "task" / str(pid)).mkdir(parents=True)
        maps = f"55d8 {policy} file=/x mapped=1 N0=1\n55d9 default\n"
        (folder / "task" / str(pid) / "numa_maps").write_text(maps)
        self.title(pid, title)
        for place, name in enumerate(names):
            self.name(pid, pid + place, name)

    def title(self, pid: int, title: str) -> None:
        (self.place / str(pid) / "cmdline").write_text(title.replace(" ", "\0") + "\0\0\0")

    def name(self, pid: int, tid: int, name: str) -> None:
        folder = self.place / str(pid) / "task" / str(tid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "comm").write_text(f"{name}\n")

    def open(self, pid: int, number: int, target: str) -> None:
        (self.place / str(pid) / "fd" / str(number)).symlink_to(target)

    def end(self, pid: int, tid: int | None = None) -> None:
        place = self.place / str(pid) if tid is None else self.place / str(pid) / "task" / str(tid)
        place.rename(self.place / f"gone-{pid}-{tid}")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    found = Proc(tmp_path)
    found.start(1, 0, "vllm serve", "vllm", "ZMQbg/IO/0")
    found.start(30, 1, "VLLM::EngineCore", "VLLM::EngineCor")
    # A child may have a lower id than its parent.
    found.start(20, 30, "VLLM::Worker", "VLLM::Worker", "NCCL Progress 0", environ="A=1\0LOCAL_RANK=3\0B=2\0")
    found.start(40, 0, "sh", "sh")
    found.start(41, 40, "top", "top")
    found.start(50, 1, "numapin-keeper", "keeper")
    (tmp_path / "self").mkdir()
    return found


def census(proc: Proc, **others) -> Census:
    told = {"variables": ["LOCAL_RANK"], "devices": ["/dev/nvidia0", "/dev/nvidia1"]} | others
    return Census(str(proc.place), server=1, own=50, **told)


def test_the_tree_is_the_server_and_what_descends_from_it(proc):
    """Neither a shell that somebody opened in the container, nor the keeper itself."""
    found = census(proc)
    assert found.look(0)
    assert [one.pid for one in found.tree] == [1, 30, 20]
    assert [one.title for one in found.tree] == ["vllm serve", "VLLM::EngineCore", "VLLM::Worker"]
    assert [thread.name for thread in found.tree[2].threads] == ["VLLM::Worker", "NCCL Progress 0"]
    assert found.tree[2].variables == {"LOCAL_RANK": "3"}


def test_nothing_new_is_the_same_tree(proc):
    found = census(proc)
    found.look(0)
    before = found.tree
    assert not found.look(1)
    assert found.tree == before


def test_new_threads_and_processes_are_found_at_the_next_look(proc):
    found = census(proc)
    found.look(0)
    proc.name(1, 5, "new")
    proc.start(60, 20, "child", "child")
    assert found.look(1)
    assert [thread.tid for thread in found.tree[0].threads] == [1, 2, 5]
    assert [one.pid for one in found.tree] == [1, 30, 20, 60]
    proc.end(60)
    proc.end(1, 5)
    assert found.look(2)
    assert [one.pid for one in found.tree] == [1, 30, 20]
    assert [thread.tid for thread in found.tree[0].threads] == [1, 2]


def test_nobody_is_new_while_the_last_id_is_the_same(proc):
    """What costs most is left out; who ended is found out later."""
    (proc.place / "sys/kernel").mkdir(parents=True)
    last = proc.place / "sys/kernel/ns_last_pid"
    last.write_text("50\n")
    found = census(proc)
    found.look(0)
    proc.end(1, 2)
    proc.name(1, 5, "new")
    assert not found.look(1)
    last.write_text("51\n")
    assert found.look(2)
    assert [thread.tid for thread in found.tree[0].threads] == [1, 5]
    proc.end(1, 5)
    assert not found.look(3)
    assert found.look(3 + module.ENDED_SECONDS)


def test_a_name_is_read_again_when_its_age_has_doubled(proc):
    """At 1, 2, 4, 8, 16 seconds, and then at least once a minute."""
    found = census(proc)
    found.look(0)
    proc.name(1, 2, "later")
    assert found.look(1)
    for second in range(2, 40):
        found.look(second)
    proc.name(1, 2, "much later")
    assert not found.look(41)
    assert found.look(41 + module.MOST_SECONDS)
    assert found.tree[0].threads[1].name == "much later"


def test_a_new_title_brings_the_new_name_with_it(proc):
    """vLLM renames its workers after the device was set up, minutes after their start."""
    found = census(proc)
    for second in range(0, 300, 1):
        found.look(second)
    proc.title(20, "VLLM::Worker_TP3")
    proc.name(20, 20, "VLLM::Worker_TP")
    proc.open(20, 7, "/dev/nvidia1")
    assert found.look(300)
    assert (found.tree[2].title, found.tree[2].devices) == ("VLLM::Worker_TP3", {"/dev/nvidia1"})
    found.look(301)
    assert found.tree[2].threads[0].name == "VLLM::Worker_TP"
    assert found.tree[2].names == {"VLLM::Worker", "VLLM::Worker_TP"}


def test_devices_and_policies_are_looked_for(proc):
    proc.open(20, 7, "/dev/nvidia1")
    proc.open(20, 8, "/dev/null")
    proc.open(20, 9, "socket:[7]")
    found = census(proc)
    found.look(0)
    assert [one.devices for one in found.tree] == [frozenset(), frozenset(), {"/dev/nvidia1"}]
    assert {one.memory_policy for one in found.tree} == {"default"}


def test_descriptors_that_cannot_be_seen_are_none(proc):
    (proc.place / "20" / "fd").rmdir()
    found = census(proc)
    found.look(0)
    assert found.tree[2].devices is None


def test_a_server_that_ended_is_an_empty_tree(proc):
    found = census(proc)
    found.look(0)
    for pid in (1, 20, 30):
        proc.end(pid)
    assert found.look(1)
    assert found.tree == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("55d8 bind=static:0-1 file=/usr/bin/python", "bind=static:0-1"),
        ("55d8 prefer (many)=static:0 anon=1", "prefer (many)=static:0"),
        ("55d8 default\n", "default"),
        ("", None),
        ("55d8", None),
    ],
)
def test_the_policy_is_that_of_the_first_mapping(tmp_path, text, expected):
    place = tmp_path / "7" / "task" / "7"
    place.mkdir(parents=True)
    (place / "numa_maps").write_text(text)
    assert tasks.memory_policy(str(tmp_path), 7, 7) == expected
    assert tasks.memory_policy(str(tmp_path), 7, 8) is None


@pytest.mark.parametrize("stat", ["", "7", "7 (x", "7 (x) S\n", "7 (x) S one two", "\0" * 100])
def test_a_stat_that_says_nothing_is_none(tmp_path, stat):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(stat)
    assert tasks.parent_and_start(str(tmp_path), 7) is None


def test_this_very_process_is_read_as_the_kernel_shows_it():
    parent, start = tasks.parent_and_start("/proc", os.getpid())
    assert parent == os.getppid()
    assert start > 0
    assert tasks.thread_name("/proc", os.getpid(), os.getpid()) == Path("/proc/self/comm").read_text().strip()
    words = Path("/proc/self/cmdline").read_text().strip("\0").split("\0")
    assert tasks.title("/proc", os.getpid()) == " ".join(words)
    with open(os.devnull) as file:
        assert tasks.open_files("/proc", os.getpid(), [os.devnull, "/dev/none"]) == {os.devnull}
        assert file
