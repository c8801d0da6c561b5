"""The measurements of `bench`, one after the other: which there are, how long each may take, what came of them."""

import time
from collections.abc import Callable, Iterator

from numapin.assignment import Assignment
from numapin.ids import CpuSet
from numapin.kernel import bench
from numapin.speed import (
    COPY,
    FROM_DEVICE,
    LATENCY,
    READ,
    TO_DEVICE,
    WAKEUP,
    WAKEUP_P99,
    WRITE,
    Cell,
    Matrix,
    Pair,
    Quantity,
    copies_of,
)
from numapin.topology import Node, Topology
from numapin.units import GIGA, MIB, format_size
from numapin.values import value

LEAST_SECONDS = 0.02
"""Of one measurement, however little time is left for each."""
SPARE = 256 * MIB
"""What a node must have beyond what is measured: the kernel would answer a shortage by killing somebody."""

Numbers = dict[tuple[Quantity, Pair], Cell]


@value
class Task:
    """One measurement: numbers for some cells."""

    cells: tuple[tuple[Quantity, Pair], ...]
    measure: Callable[[float], tuple[float, ...]]
    """Told how many seconds it may take; a number for each cell. Raises OSError."""
    why: str = ""
    """Why it is not even tried."""


@value
class Machine:
    """What is measured, and with how much memory."""

    topology: Topology
    assignment: Assignment
    size: int
    """Bytes."""

    @property
    def rows(self) -> list[tuple[int, CpuSet]]:
        """Nodes of which this container has CPUs, and which."""
        allowed = self.assignment.cpus
        return [(node.id, node.cpus & allowed) for node in self.topology.nodes if node.cpus & allowed]

    @property
    def columns(self) -> list[Node]:
        """Nodes with memory that this container may use."""
        return [node for node in self.topology.nodes if node.id in self.assignment.mems]

    def lacks(self, node: Node) -> str:
        """Why a node's memory is not measured; empty where it can be."""
        if node.available_bytes is not None and node.available_bytes < self.size + SPARE:
            return f"node {node.id} has only {format_size(node.available_bytes)} available (--megabytes)"
        return ""


def trials(machine: Machine) -> Iterator[Task]:
    """The most telling first: the time may not be enough for all."""
    pairs = [(row, memory) for row in machine.rows for memory in machine.columns]
    yield from (_latency(machine, node, min(cpus), memory) for (node, cpus), memory in pairs)
    for quantity, kind in ((READ, bench.READ), (COPY, bench.COPY), (WRITE, bench.WRITE)):
        yield from (_bandwidth(machine, quantity, kind, row, memory) for row, memory in pairs)
    for node, cpus in machine.rows:
        for other, others in machine.rows:
            yield _wakeup((node, min(cpus)), (other, max(others)))
    gpus = [str(one.pci) for one in machine.assignment.accelerators if one.vendor == "nvidia" and one.pci]
    yield from (_copies(machine, pci, node, min(cpus)) for pci in gpus for node, cpus in machine.rows)


def _latency(machine: Machine, node: int, cpu: int, memory: Node) -> Task:
    cells = ((LATENCY, (str(node), str(memory.id))),)
    return Task(cells, lambda seconds: (bench.latency(cpu, memory.id, machine.size, seconds),), machine.lacks(memory))


def _bandwidth(machine: Machine, quantity: Quantity, kind: int, row: tuple[int, CpuSet], memory: Node) -> Task:
    node, cpus = row
    cells = ((quantity, (str(node), str(memory.id))),)
    return Task(
        cells,
        lambda seconds: (bench.bandwidth(cpus, memory.id, machine.size, seconds, kind) / GIGA,),
        machine.lacks(memory),
    )


def _wakeup(waker: tuple[int, int], sleeper: tuple[int, int]) -> Task:
    """From the first CPU of a node to the last of another, or of the same."""
    pair = (str(waker[0]), str(sleeper[0]))

    def measure(seconds: float) -> tuple[float, ...]:
        return tuple(nanoseconds / 1000 for nanoseconds in bench.wakeup(waker[1], sleeper[1], seconds))

    return Task(((WAKEUP, pair), (WAKEUP_P99, pair)), measure)


def _copies(machine: Machine, pci: str, node: int, cpu: int) -> Task:
    quantity = copies_of(pci)
    cells = ((quantity, (str(node), TO_DEVICE)), (quantity, (str(node), FROM_DEVICE)))
    home = next((memory for memory in machine.columns if memory.id == node), None)
    lacks = machine.lacks(home) if home else f"node {node} has no memory that this container may use"

    def measure(seconds: float) -> tuple[float, ...]:
        return tuple(rate / GIGA for rate in bench.copies(pci, cpu, node, machine.size, seconds))

    return Task(cells, measure, lacks)


def run(tasks: list[Task], seconds: float, advance: Callable[[int], object]) -> Numbers:
    """Each gets its part of the time that is left, less what the one before took to begin."""
    found: Numbers = {}
    end, overhead = time.monotonic() + seconds, 0.0
    for position, task in enumerate(tasks):
        left = end - time.monotonic()
        share = max(LEAST_SECONDS, left / (len(tasks) - position) - overhead)
        begin = time.monotonic()
        why = task.why or ("" if left > 0 else "the time was over (--seconds)")
        found.update(_measure(task, share, why))
        if not why:
            overhead = max(0.0, time.monotonic() - begin - share)
        advance(1)
    return found


def _measure(task: Task, seconds: float, why: str) -> Numbers:
    if why:
        return {cell: Cell(None, why) for cell in task.cells}
    try:
        numbers = task.measure(seconds)
    except OSError as error:
        return {cell: Cell(None, error.strerror or str(error)) for cell in task.cells}
    return {cell: Cell(number) for cell, number in zip(task.cells, numbers, strict=True)}


def matrices(numbers: Numbers) -> dict[str, Matrix]:
    """In the order in which they were measured."""
    quantities = dict.fromkeys(quantity for quantity, _ in numbers)
    return {
        quantity.key: Matrix(quantity, {pair: cell for (other, pair), cell in numbers.items() if other == quantity})
        for quantity in quantities
    }
