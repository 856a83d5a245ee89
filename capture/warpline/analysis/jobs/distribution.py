"""Merges a report of many ranks into one table: how each row's values are spread over the ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.i18n import english

Float64Array = npt.NDArray[np.float64]
_MEASURES = frozenset(
    {Role.COUNT, Role.NUMBER, Role.DURATION, Role.SIZE, Role.SHARE, Role.RATIO, Role.RATE, Role.THROUGHPUT}
)
_GPU = re.compile(r"^(?:Rank \d+ · )?GPU \d+")


def measures(table: Table) -> tuple[Column, ...]:
    """The columns of a table that are quantities, in order."""
    return tuple(column for column in table.columns if column.role in _MEASURES)


def over_ranks(tables: Mapping[int, Table], only: Sequence[str] | None = None) -> Table | NotRecorded:
    """Median, spread, and worst value with its rank (see `spreads`), for each row and quantity of any rank's table.

    Rows match by key columns, without numbers that differ between ranks anyway: the rank, its only process and its
    only GPU. ``ranks`` counts the ranks with the row. ``only`` names the quantities wanted (default: all). Rows keep
    the order of their first appearance, from the lowest rank; a tree keeps its depths.
    """
    first = next(iter(tables.values()), None)
    if first is None:
        return NotRecorded(english("no rank has this report"))
    keys = _keys_of_ranks(tables)
    if not keys:
        return NotRecorded(
            english("the rows of this report are single events, which cannot be matched between ranks")
        )
    rows, places = _matched(tables, keys)
    numbers = np.array(sorted(tables), np.int64)
    columns = [Column(column.name, column.title, column.role, key=True, ours=column.ours) for column in keys]
    columns.append(Column("ranks", english("Ranks"), Role.COUNT))
    data: dict[str, Values] = {
        column.name: _key_values([key[-1][0][index] for key in rows], column)
        for index, column in enumerate(keys)
    }
    data["ranks"] = np.bincount(
        np.concatenate([np.empty(0, np.int64), *places.values()]), minlength=len(rows)
    ).astype(np.int64)
    for column in _wanted(tables, only):
        matrix = np.full((len(rows), len(numbers)), np.nan)
        for index, rank in enumerate(numbers.tolist()):
            values = tables[rank].data.get(column.name)
            if isinstance(values, np.ndarray):
                matrix[places[rank], index] = np.ma.filled(values.astype(np.float64), np.nan)
        _add_quantity(column, matrix, numbers, columns, data)
    depth = None if first.depth is None else np.array([len(key) - 1 for key in rows], np.int16)
    return Table(
        tuple(columns),
        data,
        depth=depth,
        notes=(
            english(
                "The spread is the interquartile range; the worst value is the farthest from the median."
            ),
        ),
    )


def _wanted(tables: Mapping[int, Table], only: Sequence[str] | None) -> list[Column]:
    columns: dict[str, Column] = {}
    for table in tables.values():
        for column in measures(table):
            if only is None or column.name in only:
                columns.setdefault(column.name, column)
    return list(columns.values())


_Key = tuple[tuple[tuple[Any, ...], int], ...]
"""The key values of a row and of its ancestors in a tree, each with the number of equal siblings before it."""


def _keys_of_ranks(tables: Mapping[int, Table]) -> tuple[Column, ...]:
    """The key columns that mean the same on every rank: not the rank, its only process or its only GPU."""
    columns: dict[str, Column] = {}
    for table in tables.values():
        for column in table.key_columns:
            columns.setdefault(column.name, column)

    def is_of_rank(column: Column) -> bool:
        if column.role is not Role.ID:
            return False
        return column.name == "rank" or all(
            len(set(_column(table, column.name))) <= 1 for table in tables.values()
        )

    return tuple(column for column in columns.values() if not is_of_rank(column))


def _column(table: Table, name: str) -> list[Any]:
    return table.values(name) if name in table.data else [None] * len(table)


def _matched(
    tables: Mapping[int, Table], keys: Sequence[Column]
) -> tuple[list[_Key], dict[int, npt.NDArray[np.int64]]]:
    """The rows of all ranks, children after their parents, and the position of each rank's rows."""
    numbers: dict[_Key, int] = {}
    below: dict[_Key, list[_Key]] = {}
    rows_of: dict[int, npt.NDArray[np.int64]] = {}
    for rank, table in sorted(tables.items()):
        mine = []
        for key in _row_keys(table, keys):
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(numbers)
                below.setdefault(key[:-1], []).append(key)
            mine.append(number)
        rows_of[rank] = np.array(mine, np.int64)
    ordered: list[_Key] = []
    pending = below.get((), [])[::-1]
    while pending:
        key = pending.pop()
        ordered.append(key)
        pending += below.get(key, [])[::-1]
    place = np.empty(len(ordered), np.int64)
    place[[numbers[key] for key in ordered]] = np.arange(len(ordered))
    return ordered, {rank: place[mine] for rank, mine in rows_of.items()}


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
    """Texts without the GPU's number, when the rank has only one GPU."""
    titles = {match[0] for value in values if isinstance(value, str) and (match := _GPU.match(value))}
    if len(titles) != 1:
        return values
    return [_GPU.sub("GPU", value) if isinstance(value, str) else value for value in values]


def _key_values(values: list[Any], column: Column) -> Values:
    if column.role in (Role.NAME, Role.TEXT, Role.CODE, Role.REASON) or any(
        isinstance(value, str) for value in values
    ):
        return [None if value is None else str(value) for value in values]
    return np.ma.MaskedArray([value or 0 for value in values], [value is None for value in values])


def _add_quantity(
    column: Column,
    matrix: Float64Array,
    ranks: npt.NDArray[np.int64],
    columns: list[Column],
    data: dict[str, Values],
) -> None:
    spread = spreads(matrix)
    name, title, role = column.name, column.title, column.role
    if role is Role.SHARE:
        role = Role.RATIO
    elif role is Role.COUNT:
        role = Role.NUMBER
    parts = (
        (name, title, role, spread.median),
        (f"{name}_spread", english("{column}: spread", column=title), role, spread.spread),
        (f"{name}_worst", english("{column}: worst", column=title), role, spread.worst),
    )
    is_alone = len(ranks) < 2
    for part, text, its_role, values in parts[:1] if is_alone else parts:
        columns.append(Column(part, text, its_role, of=column.of))
        data[part] = recorded(values)
    if is_alone:
        return
    columns.append(Column(f"{name}_worst_rank", english("{column}: its rank", column=title), Role.ID))
    data[f"{name}_worst_rank"] = np.ma.MaskedArray(ranks[np.maximum(spread.place, 0)], spread.place < 0)


@dataclass(frozen=True, eq=False)
class Spreads:
    """The spread of each row over the ranks, float64 (rows), NaN without values.

    ``place`` is the column of the worst value; −1 when all are equal.
    """

    median: Float64Array
    spread: Float64Array
    worst: Float64Array
    place: npt.NDArray[np.int64]


def spreads(matrix: Float64Array) -> Spreads:
    """Median, spread and worst value of each row of a matrix (rows, ranks); NaN means no value.

    The spread is the interquartile range, interpolated linearly like numpy's. The worst value is the farthest from the
    median: of two equally far the larger, of equal values the first. If all ranks are equal, none is the worst.
    """
    rows, ranks = matrix.shape
    if not ranks or not rows:
        none = np.full(rows, np.nan)
        return Spreads(none, none, none, np.full(rows, -1, np.int64))
    ordered = np.sort(matrix, axis=1)
    count = (~np.isnan(ordered)).sum(axis=1)
    low, median, high = (_quantile(ordered, count, share) for share in (0.25, 0.5, 0.75))
    with np.errstate(invalid="ignore"):
        distance = np.abs(matrix - median[:, None])
    farthest = np.max(np.where(np.isnan(distance), -1, distance), axis=1)
    is_far = distance == farthest[:, None]
    place = np.where(is_far, matrix, -np.inf).argmax(axis=1)
    worst = matrix[np.arange(rows), place]
    is_alike = (count > 1) & (ordered[:, 0] == ordered[np.arange(rows), np.maximum(count - 1, 0)])
    return Spreads(
        median, high - low, np.where(count > 0, worst, np.nan), np.where((count > 0) & ~is_alike, place, -1)
    )


def _quantile(ordered: Float64Array, count: npt.NDArray[np.int64], share: float) -> Float64Array:
    """A quantile of each sorted row; only the first ``count`` entries are values."""
    rows = np.arange(len(ordered))
    at = share * np.maximum(count - 1, 0)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    first, second = ordered[rows, low], ordered[rows, high]
    quantile = first + (second - first) * (at - low)
    return np.where(count > 0, quantile, np.nan)


def recorded(values: Float64Array) -> npt.NDArray[Any]:
    """Numbers as a column, masked where NaN."""
    mask = np.isnan(values)
    return np.ma.MaskedArray(np.where(mask, 0.0, values), mask)
