"""Figures of a measurement: what was measured, in which unit, and why not where it could not be."""

from collections.abc import Iterable, Mapping
from typing import Literal

from numapin.values import value

Better = Literal["lower", "higher", ""]
"""Which way is an improvement; empty where neither is."""


@value
class Kind:
    """One row of the table."""

    key: str
    """Its name in a file: stable."""
    name: str
    unit: str
    better: Better = ""
    digits: int = 1


@value
class Figure:
    """One measured number; None, and why, where it cannot be had. Never a zero that stands for that."""

    kind: Kind
    number: float | None
    why: str = ""


@value
class Row:
    """A figure beside that of an earlier measurement."""

    kind: Kind
    before: float | None
    now: float | None
    notes: tuple[str, str] = ("", "")
    """Why one or the other is not there."""

    @property
    def change(self) -> float | None:
        """How much more it is now, as a part of what it was; None where nobody can say."""
        if self.before is None or self.now is None or not self.before:
            return None
        return self.now / self.before - 1

    @property
    def is_better(self) -> bool | None:
        """None where it is neither better nor worse."""
        if not self.kind.better or not self.change:
            return None
        return (self.change < 0) is (self.kind.better == "lower")


NOT_BEFORE = "the baseline has no such figure"


def compare(figures: Iterable[Figure], baseline: Mapping[str, Figure]) -> tuple[Row, ...]:
    """Each figure beside the one of the same key in the baseline."""
    rows = []
    for figure in figures:
        before = baseline.get(figure.kind.key, Figure(figure.kind, None, NOT_BEFORE))
        rows.append(Row(figure.kind, before.number, figure.number, (before.why, figure.why)))
    return tuple(rows)


def share(part: float, whole: float) -> float | None:
    """In per cent; None of nothing."""
    return 100 * part / whole if whole else None
