"""Stands for an inference engine as the kernel sees one: vLLM's process tree, titles and thread names.

standin.py [options]     server → VLLM::EngineCore → VLLM::Worker, later VLLM::Worker_TP0, _TP1 …

It obeys lines on standard input, each answered by one line on standard output; see `Server`. At its end, or at its
death, nothing of it is left.
"""

import _thread
import argparse
import ctypes
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
ROOM = "_" * 64
"""An argument that only makes the command line long enough for a title."""
PAGE = mmap.PAGESIZE
NAMED = ("NCCL Progress 0", "ZMQbg/IO/0", "ZMQbg/Reaper", "pt_nccl_watchdg")
ANSWERS = {"grow": "grown", "rename": "renamed", "affinity": "bound"}


def set_name(name: str) -> None:
    """The calling thread's."""
    LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def set_title(title: str) -> None:
    """As setproctitle does it: over the arguments in memory, and as the name of the calling thread."""
    with open("/proc/self/stat") as file:
        numbers = file.read().rpartition(")")[2].split()
    start, end = int(numbers[45]), int(numbers[46])
    ctypes.memmove(start, title.encode()[: end - start - 1].ljust(end - start, b"\0"), end - start)
    set_name(title)


def start_thread(name: str = "", spin: bool = False) -> None:
    """A thread that sleeps, or spins, under a name of its own or under its maker's; it has the name on return.

    Not of `threading`, which from Python 3.14 on names every thread for the kernel too.
    """
    unnamed = _thread.allocate_lock()
    unnamed.acquire()

    def work() -> None:
        if name:
            set_name(name)
        unnamed.release()
        while True:
            os.sched_yield() if spin else time.sleep(3600)

    _thread.start_new_thread(work, ())
    unnamed.acquire()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def parse_list(text: str) -> set[int]:
    ends = [part.split("-") for part in text.split(",")]
    return {cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def describe(role: str, rank: int | None = None) -> dict:
    tasks = Path("/proc/self/task")
    names = {int(task.name): (task / "comm").read_text().strip() for task in tasks.iterdir()}
    with open("/proc/self/cmdline") as file:
        title = file.read().strip("\0").replace("\0", " ")
    return {"pid": os.getpid(), "role": role, "rank": rank, "title": title, "threads": names}


class Child:
    """A process below, obeying lines as the server does."""

    def __init__(self, *words: str, variables: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-S", __file__, *words, "--room", ROOM]
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env={**os.environ, **(variables or {})}
        )
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._hear()

    def _hear(self) -> str:
        return self.stdout.readline().strip() or sys.exit("a process below has ended")

    def tell(self, line: str) -> str:
        self.stdin.write(f"{line}\n")
        self.stdin.flush()
        return self._hear()


class Worker:
    """Has an accelerator open, and memory."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.kept = asked, []
        self.title("VLLM::Worker")
        self.kept += [os.open(file, os.O_RDONLY) for file in self._devices()]
        for name in NAMED:
            start_thread(name, spin=asked.spin and name.startswith("NCCL"))
        for _ in range(asked.threads):
            start_thread()
        self.renamed = time.monotonic() + asked.rename_after

    def title(self, title: str) -> None:
        if not self.asked.no_titles:
            set_title(title)

    def _devices(self) -> list[Path]:
        """Its own, or all, and what controls them; a worker that was forked later may have none of its own."""
        rank, many = self.asked.rank, self.asked.workers
        if not self.asked.open:
            return []
        own = (rank + 1) % many if self.asked.open_shift and rank < many else rank
        numbers = range(many) if self.asked.open_all else [own]
        files = [Path(self.asked.open, f"nvidia{name}") for name in (*numbers, "ctl")]
        return [file for file in files if file.exists() or (rank < many and file.name != "nvidiactl")]

    def wait(self) -> None:
        """The rename, which comes after the device was set up; from then on lines alone."""
        time.sleep(max(0.0, self.renamed - time.monotonic()))
        self.title(f"VLLM::Worker_TP{self.asked.rank}")

    def obey(self, word: str, rest: str) -> str:
        if word == "grow":
            area = mmap.mmap(-1, self.asked.mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            for place in range(0, self.asked.mib << 20, PAGE):
                area[place] = 1
            self.kept.append(area)
        elif word == "rename":
            set_name(rest)
        elif word == "affinity":
            os.sched_setaffinity(0, parse_list(rest))
        return json.dumps([describe("worker", self.asked.rank)]) if word == "tree" else "done"


class Core:
    """EngineCore: starts the workers and hands lines on to them."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        if not asked.no_titles:
            set_title("VLLM::EngineCore")
        start_thread("ZMQbg/IO/0")
        self.workers = [self._worker(rank) for rank in range(asked.workers)]

    def _worker(self, rank: int) -> Child:
        variables = {"LOCAL_RANK": str(rank)} if self.asked.variable else {}
        return Child("--role", "worker", "--rank", str(rank), *self.asked.words, variables=variables)

    def wait(self) -> None:
        """It has nothing to wait for."""

    def obey(self, word: str, rest: str) -> str:
        if word == "fork":
            self.workers.append(self._worker(len(self.workers)))
            return str(self.workers[-1].process.pid)
        chosen = self.workers if word in ("grow", "tree") else self.workers[:1]
        told = [worker.tell(f"{word} {rest}") for worker in chosen]
        if word == "tree":
            return json.dumps([describe("core"), *(one for line in told for one in json.loads(line))])
        return "done"


class Server:
    """What is asked on standard input: grow, spawn K, fork, rename NAME, affinity LIST, reexec, tree, quit."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        for name in NAMED[1:3]:
            start_thread(name)
        pipes = os.environ.get("STANDIN_PIPES")
        if pipes:
            # The same process in another program: its children are still there.
            reading, writing = (os.fdopen(int(number), mode) for number, mode in zip(pipes.split(), "rw", strict=True))
            self.core = Child.__new__(Child)
            self.core.stdout, self.core.stdin = reading, writing
        else:
            self.core = Child("--role", "core", *asked.words)

    def wait(self) -> None:
        """It has nothing to wait for."""

    def obey(self, word: str, rest: str) -> str:
        if word == "spawn":
            for _ in range(int(rest)):
                start_thread()
            return "spawned"
        if word == "reexec":
            descriptors = [self.core.stdout.fileno(), self.core.stdin.fileno()]
            for descriptor in descriptors:
                os.set_inheritable(descriptor, True)
            os.environ["STANDIN_PIPES"] = " ".join(map(str, descriptors))
            os.execv(sys.executable, [sys.executable, "-S", __file__, *self.asked.words])
        told = self.core.tell(f"{word} {rest}")
        if word == "tree":
            return json.dumps([describe("server"), *json.loads(told)])
        return f"forked {told}" if word == "fork" else ANSWERS.get(word, "unknown")


ROLES = {"server": Server, "core": Core, "worker": Worker}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name, default in (("workers", 0), ("threads", 0), ("mib", 1), ("rank", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("open-all", "open-shift", "variable", "no-titles", "spin"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--open")
    parser.add_argument("--rename-after", type=float, default=0.3)
    parser.add_argument("--role", choices=ROLES, default="server")
    parser.add_argument("--room")
    asked = parser.parse_args()
    asked.words = [word for word in sys.argv[1:] if word not in {ROOM, "--room"}]
    if "--role" in asked.words:
        asked.words = asked.words[asked.words.index("--role") + 2 :]
    return asked


def main() -> None:
    asked = read_options()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if asked.role != "server":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    process = ROLES[asked.role](asked)
    say("ready")
    process.wait()
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "quit":
            break
        say(process.obey(word, rest))
    os._exit(0)


if __name__ == "__main__":
    main()
