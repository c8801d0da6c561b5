"""`numapin keep`: judge another process's container, then become its keeper."""

import os

from numapin.apply import refusals
from numapin.cli.options import Asked
from numapin.cli.running import say_verdict, stop
from numapin.cli.session import read_and_judge
from numapin.errors import CannotRead, Exit, NumapinError, UsageError
from numapin.kernel.starting import become_keeper, keeper_of
from numapin.log import open_log
from numapin.plan import Command
from numapin.sources import tasks
from numapin.sources.another import AnotherProcess
from numapin.sources.process import effective_uid, read_permissions, read_status
from numapin.sources.root import LiveRoot
from numapin.steps import StartKeeper
from numapin.values import replace

PROC = "/proc"


class NotOurs(NumapinError):
    """A process that this user may not change."""

    exit = Exit.REFUSED


def keep_process(asked: Asked) -> int:
    """Become the keeper of the process that `--pid` names; the exit status where that must not or cannot be.

    Raises UsageError without a process id, CannotRead where there is no such process, NotOurs where it is another's.
    """
    pid = asked.pid
    if pid is None:
        raise UsageError("keep needs --pid N", "numapin run --keep starts a server and its keeper together")
    _require_ours(pid)
    log = open_log(asked.settings.log_format)
    judged = read_and_judge(AnotherProcess(pid), replace(asked.settings, keep=True))
    plan = judged.plan(_running(pid))
    say_verdict(log, judged)
    refused = tuple(one for one in refusals(plan) if one.step.kind == "keeper")
    step = next((one.step for one in plan.steps if isinstance(one.step, StartKeeper)), None)
    if judged.exit or refused or step is None:
        return stop(log, judged, refused, asked.termination_log)
    log("info", str(step), kind=step.kind)
    return become_keeper(step.orders, pid)


def _running(pid: int) -> Command:
    """The server's command line as it shows: its engine is told by it."""
    words = tuple(tasks.title(PROC, pid).split(" "))
    return Command(words[0], words)


def _require_ours(pid: int) -> None:
    if pid == os.getpid():
        raise UsageError(f"process {pid} is numapin itself")
    if tasks.parent_and_start(PROC, pid) is None:
        raise CannotRead(f"there is no process {pid} here", "A sidecar sees the server's under shareProcessNamespace.")
    own, other = read_status(LiveRoot()), read_status(AnotherProcess(pid))
    permissions = read_permissions(LiveRoot(), own)
    if effective_uid(other.values) != effective_uid(own.values) and not permissions.has_sys_nice:
        hint = "Run the keeper as that user, or with CAP_SYS_NICE and CAP_SYS_PTRACE."
        raise NotOurs(f"process {pid} belongs to user {effective_uid(other.values)}, not to this one", hint)
    if keeper_of(pid):
        raise UsageError(f"process {pid} has a keeper already", "End that one, or go on with it.")
