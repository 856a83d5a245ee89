"""Compares a report row by row. Rows match by their key columns, exactly or by the rules of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpline.analysis.compare.names import Key, MatchedName, match_names
from warpline.analysis.compare.variation import FEWEST, Variation, variation
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, Texts

MEASURES = (Role.DURATION, Role.COUNT, Role.SIZE)
_RUN_SPECIFIC_KEYS = ("pid", "tid", "correlation", "context", "row", "address")
"""Keys that differ in every run, so they cannot match rows of two captures."""
VARIED_ROWS = 50
"""How many rows, largest change first, get a variation."""


@dataclass(frozen=True, kw_only=True)
class RowChange:
    """A row: its key as texts, and its value in A and B (None: the side has no such row).

    ``share`` is its part of the difference of all rows, None when these do not differ. ``rules`` matched its names;
    ``names_a`` and ``names_b`` are the rows of the reports behind it. ``variation`` is its noise, where runs, steps or
    events were repeated.
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
        """B − A."""
        return (self.b or 0) - (self.a or 0)

    @property
    def ratio(self) -> float | None:
        """B / A; None when A is 0."""
        return (self.b or 0) / self.a if self.a else None

    @property
    def is_noise(self) -> bool:
        """Whether the difference is within noise."""
        return self.difference != 0 and self.variation is not None and self.variation.is_noise

    @property
    def text(self) -> str:
        """The key in one line."""
        return " / ".join(filter(None, self.key))


@dataclass(frozen=True, kw_only=True)
class TableComparison:
    """The changes in ``column`` of a report, largest first. ``keys`` name the parts of each row's key; ``notes`` are
    those that both sides' reports have.
    """

    report: str
    title: str
    column: Column
    keys: tuple[str, ...]
    rows: tuple[RowChange, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Values:
    """The sum of the measure and the count for each key of a table."""

    measure: Mapping[Key, float]
    count: Mapping[Key, float]


def compare_tables(
    report: str, a: Sequence[Table], b: Sequence[Table], title: str = "", *, is_exact: bool = False
) -> TableComparison | None:
    """Compare the first measured column by the common key columns; None without a measure or keys.

    Each side has one table per run; with several runs, rows hold medians.
    """
    keys, measure = _columns(a[0], b[0])
    if not keys or measure is None:
        return None
    has_counts = all("count" in _names(table) and measure.name != "count" for table in (*a, *b))
    values_a, values_b = (
        [_values(table, keys, measure.name, has_counts=has_counts) for table in side] for side in (a, b)
    )
    names = match_names(
        dict.fromkeys(key for values in values_a for key in values.measure),
        dict.fromkeys(key for values in values_b for key in values.measure),
        is_exact=is_exact,
    )
    rows = [_row(name, values_a, values_b, has_counts=has_counts) for name in names]
    rows.sort(key=lambda row: (-abs(row.difference), row.key))
    whole = sum(row.difference for row in rows)
    final = [
        _finished(row, whole, values_a, values_b, is_varied=index < VARIED_ROWS)
        for index, row in enumerate(rows)
    ]
    notes = tuple(note for note in a[0].notes if note in b[0].notes)
    return TableComparison(
        report=report, title=title or report, column=measure, keys=keys, rows=tuple(final), notes=notes
    )


def _names(table: Table) -> frozenset[str]:
    return frozenset(column.name for column in table.columns)


def _columns(a: Table, b: Table) -> tuple[tuple[str, ...], Column | None]:
    names = _names(b)
    keys = tuple(c.name for c in a.columns if c.key and c.name in names and c.name not in _RUN_SPECIFIC_KEYS)
    measures = [c for c in a.columns if c.role in MEASURES and c.name in names and not c.key]
    # Prefer totals, which can be added up; averages are a fallback.
    return keys, min(
        measures, key=lambda c: (c.role is Role.COUNT, not c.name.endswith("total_ns")), default=None
    )


def _values(table: Table, keys: tuple[str, ...], measure: str, *, has_counts: bool) -> _Values:
    """The sums of a table by key."""
    lines = line_keys(table, keys)

    def sums(name: str) -> dict[Key, float]:
        totals: dict[Key, float] = {}
        for key, value in zip(lines, table.values(name), strict=True):
            if key is not None and value is not None:
                totals[key] = totals.get(key, 0.0) + float(value)
        return totals

    return _Values(sums(measure), sums("count") if has_counts else {})


def line_keys(table: Table, keys: tuple[str, ...]) -> list[Key | None]:
    """The key of each line; None for children in a tree, which their top line includes."""
    columns = [_texts(table.data[name]) for name in keys]
    top = [True] * len(table) if table.depth is None else (table.depth == 0).tolist()
    return [key if is_top else None for is_top, key in zip(top, zip(*columns, strict=True), strict=True)]


def _texts(values: Any) -> list[str]:
    items = values.texts() if isinstance(values, Texts) else np.ma.asarray(values, object).tolist()
    return ["" if item is None else str(item) for item in items]


def _run_values(side: Sequence[_Values], keys: tuple[Key, ...], *, counts: bool = False) -> list[float]:
    """The value of a row in each run of a side; 0 in a run without the row."""
    tables = [values.count if counts else values.measure for values in side]
    return [sum(table.get(key, 0.0) for key in keys) for table in tables]


def _row(name: MatchedName, a: Sequence[_Values], b: Sequence[_Values], *, has_counts: bool) -> RowChange:
    def value(side: Sequence[_Values], keys: tuple[Key, ...], *, counts: bool) -> float | None:
        return float(np.median(_run_values(side, keys, counts=counts))) if keys else None

    return RowChange(
        key=name.key,
        a=value(a, name.a, counts=False),
        b=value(b, name.b, counts=False),
        share=None,
        count_a=value(a, name.a, counts=True) if has_counts else None,
        count_b=value(b, name.b, counts=True) if has_counts else None,
        rules=name.rules,
        names_a=name.a,
        names_b=name.b,
    )


def _finished(
    row: RowChange, whole: float, a: Sequence[_Values], b: Sequence[_Values], *, is_varied: bool
) -> RowChange:
    varied = None
    if is_varied and min(len(a), len(b)) >= FEWEST:
        sides = [np.array(_run_values(side, keys)) for side, keys in ((a, row.names_a), (b, row.names_b))]
        varied = variation("runs", *sides)
    share = row.difference / whole + 0.0 if whole else None
    return replace(row, share=share, variation=varied)
