"""Who there is: a server's processes and threads, followed from one look to the next at little cost.

Listing the threads of a process is cheap, reading a name costs a hundred times as much. New threads are found at every
look; a name is read again when its age has doubled, and at least once a minute: names are set after a thread was made.
"""

from collections.abc import Iterable, Iterator

from numapin.sources import tasks
from numapin.tree import Process, Thread, Tree

MOST_SECONDS = 60.0
"""The longest that a name, or a worker's devices, are believed."""

ENDED_SECONDS = 10.0
"""The longest that a thread which ended is still counted, where nobody new came."""

SOON = 5.0
"""After so many seconds a process that has no accelerator open yet is looked at again."""


class _Member:
    """A process of the tree, and when its parts are to be read again."""

    def __init__(self, pid: int, parent: int) -> None:
        self.pid, self.parent = pid, parent
        self.title = ""
        self.listed: list[str] = []
        self.threads: dict[int, Thread] = {}
        self.due: dict[int, tuple[float, float]] = {}
        """By thread: when its name is to be read again, and when it was first seen."""
        self.facts_due = 0.0
        self.variables: dict[str, str] = {}
        self.devices: frozenset[str] | None = None
        self.memory_policy: str | None = None
        self.names: frozenset[str] = frozenset()
        self.seen = Process(pid, parent, "")


class Census:
    """Follows a server's tree. A process is its own, or a descendant's, child; once in, it stays in while it lives."""

    def __init__(self, proc: str, server: int, own: int, variables: Iterable[str], devices: Iterable[str]) -> None:
        self._proc, self._server, self._own = proc, server, own
        self._variables, self._devices = tuple(variables), tuple(devices)
        self._members: dict[int, _Member] = {}
        self._strangers: set[int] = set()
        self._listed: list[str] = []
        self._last: str | None = None
        self._list_due = 0.0
        self.tree: Tree = ()

    def look(self, now: float) -> bool:
        """Look again, at a time in seconds; whether `tree` is another than before."""
        somebody = self._may_be_new(now)
        if somebody:
            self._find_processes()
        for member in self._members.values():
            if somebody:
                self._find_threads(member, now)
            self._read_names(member, now)
            self._read_title(member, now)
        tree = tuple(member.seen for member in self._in_order())
        changed = tree != self.tree
        self.tree = tree
        return changed

    def _may_be_new(self, now: float) -> bool:
        """Whether a process or thread was made since the last look; now and then to find those that ended."""
        last = tasks.last_id(self._proc)
        if last is not None and last == self._last and now < self._list_due:
            return False
        self._last, self._list_due = last, now + ENDED_SECONDS
        return True

    def _find_processes(self) -> None:
        listed = tasks.processes(self._proc)
        if listed == self._listed:
            return
        self._listed, there = listed, tasks.numbers(listed)
        self._strangers &= there
        for pid in set(self._members) - there:
            del self._members[pid]
        new = there - self._members.keys() - self._strangers - {self._own}
        parents = {pid: known[0] for pid in new if (known := tasks.parent_and_start(self._proc, pid))}
        # A child may have a lower id than its parent: look until nobody is added.
        while found := [pid for pid, parent in parents.items() if self._belongs(pid, parent)]:
            for pid in found:
                self._members[pid] = _Member(pid, parents.pop(pid))
        self._strangers |= parents.keys()

    def _belongs(self, pid: int, parent: int) -> bool:
        return pid == self._server or parent in self._members

    def _find_threads(self, member: _Member, now: float) -> None:
        listed = tasks.threads(self._proc, member.pid)
        # Comparing the names as they come costs a tenth of making numbers of them.
        if listed != member.listed:
            member.listed, there = listed, tasks.numbers(listed)
            member.threads = {tid: thread for tid, thread in member.threads.items() if tid in there}
            member.due = {tid: due for tid, due in member.due.items() if tid in there}
            for tid in sorted(there - member.threads.keys()):
                member.due[tid] = (now, now)
                member.threads[tid] = Thread(tid, "")

    def _read_names(self, member: _Member, now: float) -> None:
        for tid, (due, first) in member.due.items():
            if due <= now:
                name = tasks.thread_name(self._proc, member.pid, tid)
                if name is not None and name != member.threads[tid].name:
                    member.threads[tid] = Thread(tid, name)
                    member.names |= {name} if tid == member.pid else set()
                member.due[tid] = (now + min(max(now - first, 1.0), MOST_SECONDS), first)

    def _read_title(self, member: _Member, now: float) -> None:
        title = tasks.title(self._proc, member.pid)
        if title != member.title:
            # A process that changes its title changes its main thread's name too, or has become another program.
            member.title, member.facts_due = title, now
            member.due[member.pid] = (now, now)
        if member.facts_due <= now:
            member.variables = tasks.variables(self._proc, member.pid, self._variables)
            member.devices = tasks.open_files(self._proc, member.pid, self._devices) if self._devices else None
            member.memory_policy = tasks.memory_policy(self._proc, member.pid, member.pid)
            member.facts_due = now + (SOON if self._devices and not member.devices else MOST_SECONDS)
        threads = tuple(member.threads.values())
        facts = (member.variables, member.devices, member.names, member.memory_policy)
        member.seen = Process(member.pid, member.parent, title, threads, *facts)

    def _in_order(self) -> Iterator[_Member]:
        """Each process after its parent."""
        waiting = dict(sorted(self._members.items()))
        while ready := [member for member in waiting.values() if member.parent not in waiting]:
            for member in ready:
                yield waiting.pop(member.pid)
