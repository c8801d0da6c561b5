"""`numapin measure`: what the kernel, the CPU and a load say of a running server, beside an earlier measurement."""

from collections.abc import Mapping
from contextlib import ExitStack

from numapin.cli import session
from numapin.cli.options import Asked
from numapin.cli.progress import wait
from numapin.cli.saving import load, now, require_place, save
from numapin.cli.verifying import find_server, marker_of, pins
from numapin.counters import Counts
from numapin.errors import CannotRead, Exit, UsageError
from numapin.figures import Figure, Row, compare
from numapin.figures.counting import LINKS, Measured, counting
from numapin.figures.serving import NO_URL, RATE, serving
from numapin.ids import NodeSet
from numapin.kernel.perf import Counters, of_threads
from numapin.load import Asking, Loop
from numapin.render import figures as render
from numapin.server import Server
from numapin.sources import tasks
from numapin.sources.another import AnotherProcess
from numapin.sources.counters import read_counts
from numapin.sources.root import LiveRoot
from numapin.sources.server import PROC, Looking, read_marker, read_server
from numapin.sources.sockets import read_links
from numapin.values import replace, value

SCHEMA = "numapin.measure/v1"


@value
class Subject:
    """The server that is measured, and where it belongs."""

    pid: int
    started: tuple[int, int] | None
    judged: session.Judged
    nodes: NodeSet
    devices: Mapping[int, int]
    """Node of the device, by interrupt."""

    def lives(self) -> bool:
        """Whether it is still the process that it was."""
        return tasks.parent_and_start(PROC, self.pid) == self.started


def measure_server(asked: Asked) -> int:
    """Measure, show, save; 69 where a load was asked for and nothing of it was answered."""
    baseline = _baseline(asked.baseline)
    if asked.save == "":
        raise UsageError("--save needs a FILE")
    if asked.save:
        require_place(asked.save)
    subject = _subject(asked)
    figures, server = _measure(asked, subject)
    record = {
        "schema": SCHEMA,
        "taken": now(),
        "title": server.tree[0].title,
        "seconds": asked.seconds,
        "nodes": list(subject.nodes),
        "url": asked.url,
        "figures": render.record(figures),
    }
    if asked.format == "json":
        session.print_json(record)
    else:
        session.print_lines([f"{server.tree[0].label}, {asked.seconds} s; its node: {subject.nodes or 'unknown'}"])
        session.print_lines(render.table(_asked_for(compare(figures, baseline or {})), compared=baseline is not None))
    if asked.save:
        save(asked.save, record)
    answered = asked.url is None or any(one.kind is RATE and one.number is not None for one in figures)
    return Exit.ALIGNED if answered else Exit.CANNOT_TELL


def _asked_for(rows: tuple[Row, ...]) -> list[Row]:
    """Without --url, now and then, nobody waits for latencies."""
    return [row for row in rows if row.before is not None or row.notes[1] != NO_URL]


def _baseline(path: str | None) -> dict[str, Figure] | None:
    if path is None:
        return None
    try:
        return render.figures_of(load(path, SCHEMA))
    except ValueError as error:
        raise UsageError(f"{path} is no measurement: {error}") from None


def _subject(asked: Asked) -> Subject:
    """Read once who it is, and where it belongs: as it was started, else as the verdict of now says."""
    pid = asked.pid or find_server()
    started = tasks.parent_and_start(PROC, pid)
    if started is None:
        raise CannotRead(f"there is no process {pid} here", "A sidecar sees the server's under shareProcessNamespace.")
    # Interrupts are counted whatever `run` was to do with them.
    settings = replace(asked.settings, irq="try")
    judged = session.read_and_judge(AnotherProcess(pid), settings, to_plan=False)
    nodes = (read_marker(pid) or marker_of(judged.verdict)).memory_nodes
    devices = {pin.irq: pin.node for pin in pins(judged)}
    return Subject(pid, started, judged, nodes, devices)


def _measure(asked: Asked, subject: Subject) -> tuple[list[Figure], Server]:
    with ExitStack() as stack:
        before, _ = _look(subject, Looking(threads=False, pages="off"))
        events = Counters({**of_threads(before.busiest), LINKS: read_links(LiveRoot())})
        stack.callback(events.close)
        loop = _start_load(asked)
        wait(f"measuring process {subject.pid}", asked.seconds, subject.lives)
        answered = loop.stop() if loop else None
        counted = events.read()
        if not subject.lives():
            raise CannotRead(f"process {subject.pid} ended while it was measured")
        after, server = _look(subject, Looking(threads=False, pages=asked.pages))
    measured = Measured(before, after, counted, subject.judged.topology, subject.nodes, subject.devices)
    return [*serving(answered), *counting(measured)], server


def _look(subject: Subject, looking: Looking) -> tuple[Counts, Server]:
    server = read_server(subject.pid, looking)
    nodes = [node.id for node in subject.judged.topology.nodes]
    root = AnotherProcess(subject.pid)
    return read_counts(server.tree, root, subject.devices, nodes, server.pages), server


def _start_load(asked: Asked) -> Loop | None:
    if asked.url is None:
        return None
    return Loop(Asking(asked.url, asked.model, asked.clients, asked.tokens, asked.prompt_words))
