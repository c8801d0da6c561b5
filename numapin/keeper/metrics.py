"""What the keeper counts, in Prometheus' text format (prometheus.io, exposition formats), for a textfile collector."""

import os
from collections import Counter
from collections.abc import Iterator


class Counts:
    """Counters and gauges of one keeper."""

    def __init__(self) -> None:
        self.threads = 0
        self.hot = 0
        self.workers = 0
        self.untold = 0
        self.placed = 0
        self.refused = 0
        self.lost_messages = 0
        self.repaired = Counter({"affinity": 0, "scheduling": 0, "interrupt": 0})

    def text(self) -> str:
        """The whole file."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _metric("threads", "gauge", "Threads of the server.", self.threads)
        yield from _metric("hot_threads", "gauge", "Threads with a CPU of their own.", self.hot)
        yield from _metric("workers", "gauge", "Worker processes beside their accelerator.", self.workers)
        yield from _metric("untold_workers", "gauge", "Worker processes whose accelerator is unknown.", self.untold)
        yield from _metric("placed_total", "counter", "Threads that were given other CPUs.", self.placed)
        yield from _metric("refused_total", "counter", "Changes that the kernel refused.", self.refused)
        yield from _metric("lost_messages_total", "counter", "Messages that nobody took.", self.lost_messages)
        name = "numapin_keeper_repaired_total"
        yield f"# HELP {name} What had changed and was put back."
        yield f"# TYPE {name} counter"
        yield from (f'{name}{{what="{what}"}} {count}' for what, count in self.repaired.items())


def _metric(name: str, kind: str, about: str, number: int) -> Iterator[str]:
    full = f"numapin_keeper_{name}"
    yield f"# HELP {full} {about}"
    yield f"# TYPE {full} {kind}"
    yield f"{full} {number}"


def write(path: str, text: str) -> None:
    """Put a file there at once, whole: a reader, or a keeper that is killed meanwhile, never leaves or sees a part.

    Raises OSError. The name before it has its final one is the same each time, so that nothing piles up.
    """
    before = f"{path}.numapin"
    with open(before, "w", encoding="ascii") as file:
        file.write(text)
    os.replace(before, path)
