"""Which threads a glob means. Names have 15 characters, are inherited, and change (PR_SET_NAME(2const), proc(5))."""

from fnmatch import fnmatchcase

from numapin.engine import HotRule
from numapin.tree import Process, Thread

MOST_NAME = 15
"""Bytes that the kernel keeps of a thread's name (TASK_COMM_LEN less the NUL)."""


def matches(rule: HotRule, process: Process, thread: Thread) -> bool:
    """Whether a rule means this thread.

    A name that is the main thread's too, or was before it was renamed, was only inherited from it: it means the main
    thread alone. Otherwise `VLLM::Worker*` would make all forty threads of a worker hot.
    """
    if not fnmatchcase(process.title, rule.process):
        return False
    if thread.tid == process.pid:
        return _means_leader(rule.thread, process, thread)
    # VLLM::Worker_TP0 was VLLM::Worker before; whoever comes later did not see that.
    inherited = thread.name in process.names or (thread.name and process.title.startswith(thread.name))
    return not inherited and fits(rule.thread, thread.name)


def _means_leader(glob: str, process: Process, thread: Thread) -> bool:
    """A main thread is also called what its process is: setproctitle(3) sets both, and only the title is whole."""
    title = process.title.split(" ")[0]
    return fnmatchcase(title, glob) if title.startswith(thread.name) else fits(glob, thread.name)


def fits(glob: str, name: str) -> bool:
    """Whether a name is what a glob means, or what the kernel left of it: `VLLM::EngineCore` is VLLM::EngineCor."""
    if fnmatchcase(name, glob):
        return True
    if len(name.encode()) < MOST_NAME:
        return False
    # What was cut off may be what the rest of the glob stands for; but not where a star already took all that was left.
    beginnings = (glob[:end] for end in range(1, len(glob)))
    return any(fnmatchcase(name, one) for one in beginnings if one[-1] not in "*[")
