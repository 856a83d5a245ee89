"""Two sides of one report, row by row: a row is the same when its key columns are, or are by the rules of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpline.analysis.compare.names import Key, MatchedName, match_names
from warpline.analysis.compare.variation import FEWEST, Variation, variation
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, Texts

MEASURES = (Role.DURATION, Role.COUNT, Role.SIZE)
_NOT_OF_THE_PROGRAM = ("pid", "tid", "correlation", "context", "row", "address")
"""Keys that are others in every run: they tell rows of one capture apart and say nothing about two."""
VARIED_ROWS = 50
"""Of so many rows that explain most it is told how they vary."""


@dataclass(frozen=True)
class RowChange:
    """A row of either side: its key as texts, and the measured value in A and B; None where it is not there.

    ``share`` is its part of the difference of all rows, None where these do not differ. ``rules`` say by what names
    were matched, ``names_a`` and ``names_b`` which rows of the reports stand in it. ``variation`` is there where
    something was repeated: runs, or steps or events inside one.
    """

    key: Key
    a: float | None
    b: float | None
    share: float | None = None
    count_a: float | None = None
    count_b: float | None = None
    rules: tuple[str, ...] = ()
    names_a: tuple[Key, ...] = ()
    names_b: tuple[Key, ...] = ()
    variation: Variation | None = None

    @property
    def difference(self) -> float:
        """What B has more than A."""
        return (self.b or 0) - (self.a or 0)

    @property
    def ratio(self) -> float | None:
        """B of A; None where A has nothing."""
        return (self.b or 0) / self.a if self.a else None

    @property
    def is_noise(self) -> bool:
        """Whether it differs, and no more than it varies."""
        return self.difference != 0 and self.variation is not None and self.variation.is_noise

    @property
    def text(self) -> str:
        """The key in one line."""
        return " / ".join(filter(None, self.key))


@dataclass(frozen=True)
class TableComparison:
    """What changed in ``column`` of a report, what explains most first; ``keys`` name the parts of each row's key.

    ``notes`` are what the report says below its table, of both sides.
    """

    report: str
    title: str
    column: Column
    keys: tuple[str, ...]
    rows: tuple[RowChange, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Values:
    """Of one table: the measured sum and the count of each key."""

    measure: Mapping[Key, float]
    count: Mapping[Key, float]


def compare_tables(
    report: str, a: Sequence[Table], b: Sequence[Table], title: str = "", *, is_exact: bool = False
) -> TableComparison | None:
    """Adds up the first measured column of the tables by their common key columns; None when there is neither.

    Each side has a table for each of its runs; of several the medians stand in the rows.
    """
    keys, measure = _columns(a[0], b[0])
    if not keys or measure is None:
        return None
    has_counts = all("count" in _names(table) and measure.name != "count" for table in (*a, *b))
    values_a, values_b = (
        [_values(table, keys, measure.name, has_counts=has_counts) for table in side] for side in (a, b)
    )
    names = match_names(
        dict.fromkeys(key for one in values_a for key in one.measure),
        dict.fromkeys(key for one in values_b for key in one.measure),
        is_exact=is_exact,
    )
    rows = [_row(name, values_a, values_b, has_counts=has_counts) for name in names]
    rows.sort(key=lambda row: (-abs(row.difference), row.key))
    whole = sum(row.difference for row in rows)
    final = [
        _finished(row, whole, values_a, values_b, is_varied=place < VARIED_ROWS)
        for place, row in enumerate(rows)
    ]
    notes = tuple(note for note in a[0].notes if note in b[0].notes)
    return TableComparison(report, title or report, measure, keys, tuple(final), notes)


def _names(table: Table) -> frozenset[str]:
    return frozenset(column.name for column in table.columns)


def _columns(a: Table, b: Table) -> tuple[tuple[str, ...], Column | None]:
    names = _names(b)
    keys = tuple(c.name for c in a.columns if c.key and c.name in names and c.name not in _NOT_OF_THE_PROGRAM)
    measures = [c for c in a.columns if c.role in MEASURES and c.name in names and not c.key]
    # Totals can be added up; averages stand in when there is nothing else.
    return keys, min(
        measures, key=lambda c: (c.role is Role.COUNT, not c.name.endswith("total_ns")), default=None
    )


def _values(table: Table, keys: tuple[str, ...], measure: str, *, has_counts: bool) -> _Values:
    """The sums of a table by key."""
    lines = line_keys(table, keys)

    def sums(name: str) -> dict[Key, float]:
        found: dict[Key, float] = {}
        for key, value in zip(lines, table.values(name), strict=True):
            if key is not None and value is not None:
                found[key] = found.get(key, 0.0) + float(value)
        return found

    return _Values(sums(measure), sums("count") if has_counts else {})


def line_keys(table: Table, keys: tuple[str, ...]) -> list[Key | None]:
    """The key of each line; of a tree only of its top lines, whose children are in them."""
    columns = [_texts(table.data[name]) for name in keys]
    top = [True] * len(table) if table.depth is None else (table.depth == 0).tolist()
    return [key if is_top else None for is_top, key in zip(top, zip(*columns, strict=True), strict=True)]


def _texts(values: Any) -> list[str]:
    found = values.texts() if isinstance(values, Texts) else np.ma.asarray(values, object).tolist()
    return ["" if value is None else str(value) for value in found]


def _of_side(side: Sequence[_Values], keys: tuple[Key, ...], *, counts: bool = False) -> list[float]:
    """The value of a row in each run of a side; a run without the row has 0."""
    tables = [one.count if counts else one.measure for one in side]
    return [sum(table.get(key, 0.0) for key in keys) for table in tables]


def _row(name: MatchedName, a: Sequence[_Values], b: Sequence[_Values], *, has_counts: bool) -> RowChange:
    def value(side: Sequence[_Values], keys: tuple[Key, ...], *, counts: bool) -> float | None:
        return float(np.median(_of_side(side, keys, counts=counts))) if keys else None

    return RowChange(
        name.key,
        value(a, name.a, counts=False),
        value(b, name.b, counts=False),
        None,
        value(a, name.a, counts=True) if has_counts else None,
        value(b, name.b, counts=True) if has_counts else None,
        name.rules,
        name.a,
        name.b,
    )


def _finished(
    row: RowChange, whole: float, a: Sequence[_Values], b: Sequence[_Values], *, is_varied: bool
) -> RowChange:
    varied = None
    if is_varied and min(len(a), len(b)) >= FEWEST:
        sides = [np.array(_of_side(side, keys)) for side, keys in ((a, row.names_a), (b, row.names_b))]
        varied = variation("runs", *sides)
    return RowChange(
        row.key, row.a, row.b, row.difference / whole + 0.0 if whole else None, row.count_a, row.count_b, row.rules,
        row.names_a, row.names_b, varied,
    )  # fmt: skip
