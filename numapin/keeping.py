"""The keeper's own process: puts together what reads, what decides, what changes and what speaks, and waits in between.

It is started by `numapin.kernel.starting` with its orders on standard input, and ends when the server does.
"""

import contextlib
import gc
import os
import pickle
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from numapin.errors import Exit
from numapin.ids import CpuSet, printable
from numapin.keeper import Keeper
from numapin.keeper.interrupts import Interrupts
from numapin.keeper.metrics import Counts, write
from numapin.keeper.telling import Teller
from numapin.kernel.starting import ORDERS, keeper_name
from numapin.kernel.threads import LinuxThreads
from numapin.log import Level, Log, open_log
from numapin.orders import Orders
from numapin.placement.workers import VISIBLE
from numapin.sources import tasks
from numapin.sources.another import AnotherProcess
from numapin.sources.census import Census
from numapin.sources.cgroup import Cgroups
from numapin.values import value

PROC = "/proc"
SECONDS = 0.9
"""Between two looks, each of which takes a little itself: a new thread is found within a second."""
INTERRUPT_SECONDS, METRICS_SECONDS = 10.0, 15.0


@value
class Post:
    """What the keeper was started with, beside its orders."""

    pid: int
    pidfd: int | None
    stderr: bool
    """It speaks on its own stderr; else on the server's, a pipe, which it opens for each message and does not hold."""
    foreground: bool
    """Somebody waits for it."""


def main() -> NoReturn:
    """Keep until the server ends."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(Exit.ALIGNED))
    post = _post(sys.argv[1:])
    with os.fdopen(ORDERS, "rb", closefd=False) as file:
        orders = pickle.load(file)  # noqa: S301 -- written by our own starter, on memory that nobody else has
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), ORDERS)
    with contextlib.suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write("numapin-keeper")
    counts = Counts()
    log = open_log(orders.log_format, None if post.stderr else _server_log(post.pid, counts))
    if not _is_alone(post.pid):
        log("error", f"process {post.pid} has a keeper already")
        sys.exit(Exit.USAGE if post.foreground else Exit.ALIGNED)
    try:
        _Watch(post, orders, log, counts).keep()
    except Exception as error:
        log("error", f"the keeper ends, this is a bug in numapin: {type(error).__name__}: {error}")
        if os.environ.get("NUMAPIN_DEBUG"):
            raise
        sys.exit(Exit.BUG)
    if post.foreground:
        log("info", f"process {post.pid} has ended, and so does its keeper")
    sys.exit(Exit.ALIGNED)


def _post(words: list[str]) -> Post:
    """`--pid 1 --pidfd 3 --stderr --foreground`: written by our own starter."""
    pidfd = int(words[words.index("--pidfd") + 1]) if "--pidfd" in words else None
    return Post(int(words[words.index("--pid") + 1]), pidfd, "--stderr" in words, "--foreground" in words)


_SOCKETS: list[Any] = []
"""Holds the keeper's name for as long as it lives."""


def _is_alone(pid: int) -> bool:
    """Bind the name that a keeper of this process has: of two that start at once, one gets it."""
    import _socket  # noqa: PLC0415 -- the module socket costs a megabyte for its enumerations

    holder = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    try:
        holder.bind(f"\0{keeper_name(pid)}")
    except OSError:
        return False
    _SOCKETS.append(holder)
    return True


def _server_log(pid: int, counts: Counts) -> Callable[[str], None]:
    def write_to_server(text: str) -> None:
        counts.lost_messages += not tell_server(pid, text)

    return write_to_server


def _speaking(log: Log) -> Log:
    def say(level: Level, line: str, /, **fields: Any) -> None:
        log(level, f"keeper: {printable(line)}", **fields)

    return say


def tell_server(pid: int, text: str) -> bool:
    """Write on the server's stderr, opened for this alone: a pipe's reader must see its end when the server ends.

    Appending, so that a log file is not written over; never waiting for a reader that is slow or gone.
    """
    try:
        descriptor = os.open(
            f"{PROC}/{pid}/fd/2", os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        )
        try:
            return os.write(descriptor, text.encode("utf-8", "backslashreplace")) > 0
        finally:
            os.close(descriptor)
    except OSError:
        return False


class _Watch:
    """One keeper at its post."""

    def __init__(self, post: Post, orders: Orders, log: Log, counts: Counts) -> None:
        self._post, self._orders, self._counts = post, orders, counts
        self._started = tasks.parent_and_start(PROC, post.pid)
        now = time.monotonic()
        threads = LinuxThreads()
        variables = (*VISIBLE, *(orders.workers.variables if orders.workers else ()))
        devices = [share.device for share in orders.shares if share.device]
        self._census = Census(PROC, post.pid, os.getpid(), variables, devices)
        self._teller = Teller(orders, _speaking(log), counts, now)
        self._keeper = Keeper(orders, threads, self._teller, counts)
        self._interrupts = Interrupts(orders.interrupts, threads, self._teller, counts)
        self._cgroups = Cgroups(AnotherProcess(post.pid))
        self._allowed = orders.cpus
        self._due = {"interrupts": now, "metrics": now}
        self._written = ""

    def keep(self) -> None:
        """Look, place, compare, wait; until the server has ended."""
        # What is here now stays: it need not be looked through again and again.
        gc.collect()
        gc.freeze()
        poll = select.poll()
        if self._post.pidfd is not None:
            poll.register(self._post.pidfd, select.POLLIN)
        while self._lives():
            self._look(time.monotonic())
            if poll.poll(SECONDS * 1000):
                break

    def _lives(self) -> bool:
        """Whether the server is still the process that it was; a pidfd would have woken us."""
        return self._post.pidfd is not None or tasks.parent_and_start(PROC, self._post.pid) == self._started

    def _look(self, now: float) -> None:
        changed = self._census.look(now)
        # Every time: whoever finds a thread moved must know whether the cpuset has changed before blaming somebody.
        allowed = self._cpuset()
        changed |= allowed != self._allowed
        self._allowed = allowed
        if changed:
            self._keeper.tend(self._census.tree, self._allowed, now)
            self._keeper.step_aside(tasks.numbers(tasks.threads(PROC, os.getpid())))
        self._keeper.check()
        self._teller.wait(self._census.tree, now)
        if self._is_due("interrupts", now, INTERRUPT_SECONDS):
            self._interrupts.check()
        self._write_metrics(now)

    def _is_due(self, what: str, now: float, seconds: float) -> bool:
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    def _cpuset(self) -> CpuSet:
        """The server's cpuset of now; what it was where nobody says."""
        cpus = self._cgroups.cpuset().cpus
        return self._allowed if cpus is None else cpus

    def _write_metrics(self, now: float) -> None:
        path = self._orders.metrics
        if path is None:
            return
        text = self._counts.text()
        if text == self._written and not self._is_due("metrics", now, METRICS_SECONDS):
            return
        try:
            write(path, text)
            self._written = text
        except OSError as error:
            self._teller.unwritten(path, error.strerror or "unknown error")
