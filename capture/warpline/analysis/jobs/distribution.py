"""A report of many ranks as one table: for each row how its values are spread over the ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.i18n import english

_MEASURES = frozenset(
    {Role.COUNT, Role.NUMBER, Role.DURATION, Role.SIZE, Role.SHARE, Role.RATIO, Role.RATE, Role.THROUGHPUT}
)
_GPU = re.compile(r"^(?:Rank \d+ · )?GPU \d+")


def measures(table: Table) -> tuple[Column, ...]:
    """The columns of a table that are quantities, in its order."""
    return tuple(column for column in table.columns if column.role in _MEASURES)


def over_ranks(tables: Mapping[int, Table], only: Sequence[str] | None = None) -> Table | NotRecorded:
    """For each row of any rank's table and each of its quantities: median, spread, and the worst value with its rank.

    Rows are matched by their key columns, without numbers that differ from rank to rank by nature: the rank's own,
    and those of its one process and one GPU. What the numbers are is told by `spread_of`. ``ranks`` says how many
    ranks have the row. ``only`` names the quantities wanted (default: all). Rows stand in the order in which the
    ranks, from the lowest, name them first; a tree keeps its depths.
    """
    some = next(iter(tables.values()), None)
    if some is None:
        return NotRecorded(english("no rank has this report"))
    keys = _keys_of_ranks(tables)
    if not keys:
        return NotRecorded(
            english("rows of this report are single events, which ranks have no common names for")
        )
    cells = _collect(tables, keys)
    wanted: dict[str, Column] = {}
    for table in tables.values():
        for column in measures(table):
            if only is None or column.name in only:
                wanted.setdefault(column.name, column)
    columns = [Column(column.name, column.title, column.role, key=True, ours=column.ours) for column in keys]
    columns.append(Column("ranks", english("Ranks"), Role.COUNT))
    data: dict[str, Values] = {
        column.name: _key_values([key[-1][0][place] for key in cells], column)
        for place, column in enumerate(keys)
    }
    data["ranks"] = np.array([len(of_ranks) for of_ranks in cells.values()], np.int64)
    for column in wanted.values():
        _add_quantity(column, list(cells.values()), columns, data)
    depth = None if some.depth is None else np.array([len(key) - 1 for key in cells], np.int16)
    return Table(
        tuple(columns),
        data,
        depth,
        notes=(
            english(
                "The spread is the distance between the quartiles; the worst is farthest from the median."
            ),
        ),
    )


_Key = tuple[tuple[tuple[Any, ...], int], ...]
"""Of a row and, before it, of those above it in a tree: its key values, and how many siblings said the same before."""
_Cells = dict[_Key, dict[int, dict[str, Any]]]


def _keys_of_ranks(tables: Mapping[int, Table]) -> tuple[Column, ...]:
    """Key columns that mean the same on every rank: without its own number, and those of its only process or GPU."""
    found: dict[str, Column] = {}
    for table in tables.values():
        for column in table.key_columns:
            found.setdefault(column.name, column)

    def is_of_rank(column: Column) -> bool:
        if column.role is not Role.ID:
            return False
        return column.name == "rank" or all(
            len(set(_column(table, column.name))) <= 1 for table in tables.values()
        )

    return tuple(column for column in found.values() if not is_of_rank(column))


def _column(table: Table, name: str) -> list[Any]:
    return table.values(name) if name in table.data else [None] * len(table)


def _collect(tables: Mapping[int, Table], keys: Sequence[Column]) -> _Cells:
    """The quantities of each row, by rank; rows of a tree behind those they stand under."""
    cells: _Cells = {}
    below: dict[_Key, list[_Key]] = {}
    for rank, table in sorted(tables.items()):
        names = [column.name for column in measures(table)]
        rows = zip(*(table.values(name) for name in names), strict=True) if names else [()] * len(table)
        for key, row in zip(_row_keys(table, keys), rows, strict=True):
            if key not in cells:
                cells[key] = {}
                below.setdefault(key[:-1], []).append(key)
            cells[key][rank] = dict(zip(names, row, strict=True))
    ordered: _Cells = {}
    pending = below.get((), [])[::-1]
    while pending:
        key = pending.pop()
        ordered[key] = cells[key]
        pending += below.get(key, [])[::-1]
    return ordered


def _row_keys(table: Table, keys: Sequence[Column]) -> Iterator[_Key]:
    own = zip(*(_one_gpu(_column(table, column.name)) for column in keys), strict=True)
    depth = [0] * len(table) if table.depth is None else table.depth.tolist()
    path: _Key = ()
    seen: dict[tuple[_Key, tuple[Any, ...]], int] = {}
    for values, level in zip(own, depth, strict=True):
        above = path[:level]
        number = seen[above, values] = seen.get((above, values), -1) + 1
        path = (*above, (values, number))
        yield path


def _one_gpu(values: list[Any]) -> list[Any]:
    """Texts without the number of the GPU, where a rank has only one."""
    found = {match[0] for value in values if isinstance(value, str) and (match := _GPU.match(value))}
    if len(found) != 1:
        return values
    return [_GPU.sub("GPU", value) if isinstance(value, str) else value for value in values]


def _key_values(values: list[Any], column: Column) -> Values:
    if column.role in (Role.NAME, Role.TEXT, Role.CODE, Role.REASON) or any(
        isinstance(value, str) for value in values
    ):
        return [None if value is None else str(value) for value in values]
    return np.ma.MaskedArray([value or 0 for value in values], [value is None for value in values])


def _add_quantity(
    column: Column, rows: list[dict[int, dict[str, Any]]], columns: list[Column], data: dict[str, Values]
) -> None:
    spreads = [
        spread_of(
            {rank: row[column.name] for rank, row in of_ranks.items() if row.get(column.name) is not None}
        )
        for of_ranks in rows
    ]
    name, title, role = column.name, column.title, column.role
    if role is Role.SHARE:
        role = Role.RATIO
    elif role is Role.COUNT:
        role = Role.NUMBER
    parts = (
        (name, title, role),
        (f"{name}_spread", english("{column}: spread", column=title), role),
        (f"{name}_worst", english("{column}: worst", column=title), role),
    )
    for place, (part, text, its_role) in enumerate(parts):
        columns.append(Column(part, text, its_role, column.of))
        data[part] = masked([None if one is None else one[place] for one in spreads], np.float64)
    columns.append(Column(f"{name}_worst_rank", english("{column}: its rank", column=title), Role.ID))
    data[f"{name}_worst_rank"] = masked([None if one is None else one[3] for one in spreads], np.int64)


def spread_of(values: Mapping[int, float]) -> tuple[float, float, float, int | None] | None:
    """(median, spread, worst value, its rank) of values by rank; None of none.

    The spread is the distance between the quartiles, which are interpolated linearly as numpy does. The worst value
    is the one farthest from the median, of two as far the larger one, of equal ones that of the lowest rank; where
    several ranks have one value, no rank has the worst.
    """
    if not values:
        return None
    ranks = sorted(values)
    numbers = np.array([values[rank] for rank in ranks], np.float64)
    low, median, high = np.quantile(numbers, (0.25, 0.5, 0.75)).tolist()
    far = int(np.lexsort((-numbers, -np.abs(numbers - median)))[0])
    is_alike = len(ranks) > 1 and bool((numbers == numbers[0]).all())
    return median, high - low, float(numbers[far]), None if is_alike else ranks[far]


def masked(values: Sequence[float | int | None], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Numbers as a column, masked where there is none."""
    return np.ma.MaskedArray(
        np.array([0 if value is None else value for value in values], dtype),
        [value is None for value in values],
    )
