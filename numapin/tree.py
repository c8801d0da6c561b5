"""A running server as a value: its processes and their threads, as /proc shows them at one moment."""

from collections.abc import Mapping

from numapin.values import field, value

MOST_TITLE = 4096
"""Characters of a command line that are looked at: expressions of profiles are matched against it."""


@value
class Thread:
    """One thread."""

    tid: int
    name: str
    """/proc/<pid>/task/<tid>/comm: at most 15 characters, inherited from the thread that made this one."""


@value
class Process:
    """One process of the server's tree."""

    pid: int
    parent: int
    title: str
    """Its command line with blanks between the words; what setproctitle(3) made of it."""
    threads: tuple[Thread, ...] = ()
    """The main thread, whose tid is the pid, is among them while it lives."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of its initial environment, those that may say which worker it is."""
    devices: frozenset[str] | None = None
    """Paths of the accelerators' device files that it holds open; None where that cannot be seen."""
    names: frozenset[str] = frozenset()
    """All names that its main thread was seen to have, the present one too: its unnamed threads have one of them."""
    memory_policy: str | None = None
    """As numa_maps(5) spells it, `bind=static:0`; None where it cannot be seen."""

    @property
    def label(self) -> str:
        """How messages call it: `VLLM::Worker_TP0 (process 45)`."""
        word = self.title.split(" ")[0]
        leader = next((thread.name for thread in self.threads if thread.tid == self.pid), "")
        # A command line, /usr/bin/python3 /usr/bin/vllm …, says less than what the main thread is called.
        name = leader or word.rpartition("/")[2] if "/" in word else word or leader
        return f"{name or 'a process without a title'} (process {self.pid})"

    def name(self, tid: int) -> str:
        """How messages call one of its threads: `NCCL Progress 0 (thread 99 of VLLM::Worker_TP0 (process 45))`."""
        found = next((thread.name for thread in self.threads if thread.tid == tid), "")
        return f"{found or 'a thread without a name'} (thread {tid} of {self.label})"


Tree = tuple[Process, ...]
"""All processes of a server, itself first, each after its parent."""
