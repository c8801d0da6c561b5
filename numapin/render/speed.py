"""What `bench` measured, as tables and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numapin.render.figures import DASH
from numapin.speed import Matrix

Json = dict[str, Any]


def record(matrices: Iterable[Matrix]) -> list[Json]:
    """Each matrix as an object; null where a number could not be had, and `why` says why, by row and column."""
    return [
        {
            "key": one.quantity.key,
            "name": one.quantity.name,
            "unit": one.quantity.unit,
            "rows": list(one.rows),
            "columns": list(one.columns),
            "values": [[one.number(row, column) for column in one.columns] for row in one.rows],
            "why": {f"{row},{column}": cell.why for (row, column), cell in one.cells.items() if cell.why},
        }
        for one in matrices
    ]


def tables(matrices: Mapping[str, Matrix]) -> Iterator[str]:
    """All of them, one below the other, and a footnote for every dash."""
    notes: list[str] = []
    for matrix in matrices.values():
        yield f"{matrix.quantity.name} ({matrix.quantity.unit}): from CPUs of a row"
        yield from _table(matrix, notes)
        yield ""
    yield from (f"[{number}] {note}" for number, note in enumerate(notes, 1))


def _table(matrix: Matrix, notes: list[str]) -> Iterator[str]:
    head = ["", *(_named(column) for column in matrix.columns)]
    lines = [[_named(row), *(_cell(matrix, row, column, notes) for column in matrix.columns)] for row in matrix.rows]
    widths = [max(len(line[place]) for line in [head, *lines]) for place in range(len(head))]
    for line in [head, *lines]:
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))


def _named(name: str) -> str:
    return f"node {name}" if name.isdecimal() else name.replace("_", " ")


def _cell(matrix: Matrix, row: str, column: str, notes: list[str]) -> str:
    cell = matrix.cells.get((row, column))
    if cell is None or cell.number is None:
        why = cell.why if cell else ""
        if why and why not in notes:
            notes.append(why)
        return f"{DASH} [{notes.index(why) + 1}]" if why else DASH
    ratio = matrix.ratio(row, column)
    told = f" ({ratio:.2f} ×)" if ratio is not None and row != column else ""
    return f"{cell.number:.{matrix.quantity.digits}f}{told}"
