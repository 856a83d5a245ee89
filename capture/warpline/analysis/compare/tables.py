"""Two tables of one report, row by row: a row is the same in both when its key columns are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpline.analysis.framework.column import Role
from warpline.analysis.framework.report import Table, Texts

MEASURES = (Role.DURATION, Role.COUNT, Role.SIZE)
_THREAD_NUMBER = re.compile(r" \(\d+\)$")
_ADDRESS = re.compile(r"0x[0-9a-f]{5,}")
_NOT_OF_THE_PROGRAM = ("pid", "tid", "correlation", "context", "row")
"""Keys that are others in every run: they tell rows of one capture apart and say nothing about two."""


@dataclass(frozen=True)
class RowChange:
    """A row of either table: its key as texts, and the measured value in A and B; None where it is not there."""

    key: tuple[str, ...]
    a: float | None
    b: float | None

    @property
    def difference(self) -> float:
        """What B has more than A."""
        return (self.b or 0) - (self.a or 0)


@dataclass(frozen=True)
class TableComparison:
    """What changed in ``column`` of a report, what explains most first; ``keys`` name the parts of each row's key."""

    report: str
    column: str
    keys: tuple[str, ...]
    rows: tuple[RowChange, ...]


def compare_tables(report: str, a: Table, b: Table) -> TableComparison | None:
    """Adds up the first measured column of both tables by their common key columns; None when there is neither."""
    names = {column.name for column in b.columns}
    keys = tuple(
        column.name
        for column in a.columns
        if column.key and column.name in names and column.name not in _NOT_OF_THE_PROGRAM
    )
    measure = next((c for c in a.columns if c.role in MEASURES and c.name in names and not c.key), None)
    if not keys or measure is None:
        return None
    in_a, in_b = (_totals(table, keys, measure.name) for table in (a, b))
    rows = [RowChange(key, in_a.get(key), in_b.get(key)) for key in dict.fromkeys([*in_a, *in_b])]
    rows.sort(key=lambda row: (-abs(row.difference), row.key))
    return TableComparison(report, measure.name, keys, tuple(rows))


def _totals(table: Table, keys: tuple[str, ...], measure: str) -> Mapping[tuple[str, ...], float]:
    """The sum of a column by key; of a tree only its top rows, whose children are in them."""
    columns = [_texts(table.data[name]) for name in keys]
    values = np.ma.filled(np.ma.asarray(table.data[measure]).astype(np.float64), 0.0).tolist()
    top = [True] * len(values) if table.depth is None else (table.depth == 0).tolist()
    found: dict[tuple[str, ...], float] = {}
    for position, (is_top, value) in enumerate(zip(top, values, strict=True)):
        if is_top:
            key = tuple(column[position] for column in columns)
            found[key] = found.get(key, 0.0) + value
    return found


def _texts(values: Any) -> list[str]:
    found = values.texts() if isinstance(values, Texts) else np.ma.asarray(values, object).tolist()
    return ["" if value is None else stable(str(value)) for value in found]


def stable(text: str) -> str:
    """A name without what is another in every run: numbers of threads behind it, addresses."""
    return _ADDRESS.sub("0x…", _THREAD_NUMBER.sub("", text))
