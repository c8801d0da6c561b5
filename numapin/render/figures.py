"""A measurement as a table with footnotes, and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from numapin.figures import Figure, Kind, Row

DASH = "–"
Json = dict[str, Any]


def record(figures: Iterable[Figure]) -> list[Json]:
    """Each figure as an object: `value` is null where it cannot be had, and `why` says why."""
    return [
        {"key": one.kind.key, "name": one.kind.name, "unit": one.kind.unit, "value": one.number, "why": one.why}
        for one in figures
    ]


def figures_of(record: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of a saved measurement by key. Raises ValueError where it holds something else."""
    found = {}
    for one in record.get("figures", ()):
        key, number, why = (one.get(name) if isinstance(one, dict) else None for name in ("key", "value", "why"))
        if not isinstance(key, str) or not isinstance(number, int | float | None) or isinstance(number, bool):
            raise ValueError("a figure has a key, and a value that is a number or null")  # noqa: TRY004 -- of a file
        found[key] = Figure(Kind(key, key, ""), number, str(why or ""))
    return found


def table(rows: Sequence[Row], *, compared: bool) -> Iterator[str]:
    """One line for each figure; with a baseline two columns and the change. What is missing has a footnote."""
    notes: list[str] = []
    cells = [_cells(row, notes, compared=compared) for row in rows]
    head = ["", "before", "now", "change"] if compared else ["", "now"]
    lines = [head, *cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        first, *others = (
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join([first, *others]).rstrip()
    yield from (f"[{number}] {note}" for number, note in enumerate(notes, 1))


def _cells(row: Row, notes: list[str], *, compared: bool) -> list[str]:
    name = f"{row.kind.name} ({row.kind.unit})" if row.kind.unit else row.kind.name
    now = _number(row.kind, row.now, row.notes[1], notes)
    if not compared:
        return [name, now]
    return [name, _number(row.kind, row.before, row.notes[0], notes), now, change(row)]


def _number(kind: Kind, number: float | None, why: str, notes: list[str]) -> str:
    if number is not None:
        return f"{number:,.{kind.digits}f}".replace(",", " ")
    if why and why not in notes:
        notes.append(why)
    return f"{DASH} [{notes.index(why) + 1}]" if why else DASH


def change(row: Row) -> str:
    """`-75 %`, `4.1 ×`, `the same`; a dash where nobody can say."""
    if row.before is None or row.now is None:
        return DASH
    if row.change is None:
        return "the same" if row.now == row.before else "from 0"
    if abs(row.change) < 0.005:
        return "the same"
    return f"{row.change + 1:.1f} ×" if row.change >= 1 else f"{100 * row.change:+.0f} %"
