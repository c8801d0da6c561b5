"""`numapin bench`: this machine's memory from each node to each, within a time and an amount of memory."""

from collections.abc import Iterator

from numapin.assignment import Assignment
from numapin.cli import session
from numapin.cli.options import Asked
from numapin.cli.progress import progress
from numapin.cli.saving import now, require_place, save
from numapin.errors import CannotRead, Exit
from numapin.render import speed as render
from numapin.settings import BENCH_FILE
from numapin.sources.machine import read_machine
from numapin.sources.memory_speed import SCHEMA, may_have_huge_pages, read_cache_bytes, read_claims
from numapin.sources.root import LiveRoot
from numapin.speed.claims import disagreements
from numapin.trials import Machine, matrices, run, trials
from numapin.units import MIB, format_size
from numapin.values import replace


def bench_machine(asked: Asked) -> int:
    """Measure, show, save."""
    place = BENCH_FILE if asked.save == "" else asked.save
    if place is not None:
        require_place(place)
    root = LiveRoot()
    topology, assignment = read_machine(root, replace(asked.settings, rdma=("none",), nics=("none",)))
    machine = Machine(topology, assignment, _size(asked.megabytes, assignment))
    tasks = list(trials(machine))
    if not tasks:
        raise CannotRead("this kernel shows no node here that has CPUs or memory of this container")
    with progress("measuring", len(tasks)) as advance:
        measured = matrices(run(tasks, asked.seconds, advance))
    remarks = [*_remarks(machine, read_cache_bytes(root), huge_pages=may_have_huge_pages(root))]
    remarks += disagreements(measured, topology, read_claims(root, topology))
    facts = {"seconds": asked.seconds, "megabytes": machine.size // MIB, "cpus": str(assignment.cpus)}
    results = {"matrices": render.record(measured.values()), "remarks": remarks}
    record = {"schema": SCHEMA, "taken": now(), **facts, **results}
    if asked.format == "json":
        session.print_json(record)
    else:
        session.print_lines(render.tables(measured))
        session.print_lines(remarks)
    if place is not None:
        save(place, record)
    return Exit.ALIGNED


def _size(megabytes: int, assignment: Assignment) -> int:
    """Bytes to measure with; no more than a quarter of what this container may use."""
    limit = assignment.container.memory_max
    return min(megabytes * MIB, limit // 4) if limit else megabytes * MIB


def _remarks(machine: Machine, cache: int, *, huge_pages: bool) -> Iterator[str]:
    """What these figures are not."""
    if len(machine.columns) < 2:
        yield "there is memory of one node here: what memory of another costs cannot be shown"
    if len(machine.rows) < 2:
        yield "there are CPUs of one node here: what a wake-up across nodes costs cannot be shown"
    if not huge_pages:
        yield "transparent huge pages are off: the latencies hold misses of the TLB too"
    if machine.size < 4 * cache:
        yield (
            f"{format_size(machine.size)} are less than four times the last cache ({format_size(cache)}), which makes "
            f"the figures better than memory is: use --megabytes {4 * cache // MIB}"
        )
