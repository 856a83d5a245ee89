"""A report of many ranks as one table: for each row how its values are spread over the ranks."""

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
    """The columns of a table that are quantities, in its order."""
    return tuple(column for column in table.columns if column.role in _MEASURES)


def over_ranks(tables: Mapping[int, Table], only: Sequence[str] | None = None) -> Table | NotRecorded:
    """For each row of any rank's table and each of its quantities: median, spread, and the worst value with its rank.

    Rows are matched by their key columns, without numbers that differ from rank to rank by nature: the rank's own,
    and those of its one process and one GPU. What the numbers are is told by `spreads`. ``ranks`` says how many
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
    rows, places = _matched(tables, keys)
    numbers = np.array(sorted(tables), np.int64)
    columns = [Column(column.name, column.title, column.role, key=True, ours=column.ours) for column in keys]
    columns.append(Column("ranks", english("Ranks"), Role.COUNT))
    data: dict[str, Values] = {
        column.name: _key_values([key[-1][0][place] for key in rows], column)
        for place, column in enumerate(keys)
    }
    data["ranks"] = np.bincount(
        np.concatenate([np.empty(0, np.int64), *places.values()]), minlength=len(rows)
    ).astype(np.int64)
    for column in _wanted(tables, only):
        matrix = np.full((len(rows), len(numbers)), np.nan)
        for place, rank in enumerate(numbers.tolist()):
            values = tables[rank].data.get(column.name)
            if isinstance(values, np.ndarray):
                matrix[places[rank], place] = np.ma.filled(values.astype(np.float64), np.nan)
        _add_quantity(column, matrix, numbers, columns, data)
    depth = None if some.depth is None else np.array([len(key) - 1 for key in rows], np.int16)
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


def _wanted(tables: Mapping[int, Table], only: Sequence[str] | None) -> list[Column]:
    found: dict[str, Column] = {}
    for table in tables.values():
        for column in measures(table):
            if only is None or column.name in only:
                found.setdefault(column.name, column)
    return list(found.values())


_Key = tuple[tuple[tuple[Any, ...], int], ...]
"""Of a row and, before it, of those above it in a tree: its key values, and how many siblings said the same before."""


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


def _matched(
    tables: Mapping[int, Table], keys: Sequence[Column]
) -> tuple[list[_Key], dict[int, npt.NDArray[np.int64]]]:
    """The rows of all ranks, those of a tree behind those they stand under, and where each rank's rows are."""
    numbers: dict[_Key, int] = {}
    below: dict[_Key, list[_Key]] = {}
    found: dict[int, npt.NDArray[np.int64]] = {}
    for rank, table in sorted(tables.items()):
        mine = []
        for key in _row_keys(table, keys):
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(numbers)
                below.setdefault(key[:-1], []).append(key)
            mine.append(number)
        found[rank] = np.array(mine, np.int64)
    ordered: list[_Key] = []
    pending = below.get((), [])[::-1]
    while pending:
        key = pending.pop()
        ordered.append(key)
        pending += below.get(key, [])[::-1]
    place = np.empty(len(ordered), np.int64)
    place[[numbers[key] for key in ordered]] = np.arange(len(ordered))
    return ordered, {rank: place[mine] for rank, mine in found.items()}


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
    column: Column,
    matrix: Float64Array,
    ranks: npt.NDArray[np.int64],
    columns: list[Column],
    data: dict[str, Values],
) -> None:
    found = spreads(matrix)
    name, title, role = column.name, column.title, column.role
    if role is Role.SHARE:
        role = Role.RATIO
    elif role is Role.COUNT:
        role = Role.NUMBER
    parts = (
        (name, title, role, found.median),
        (f"{name}_spread", english("{column}: spread", column=title), role, found.spread),
        (f"{name}_worst", english("{column}: worst", column=title), role, found.worst),
    )
    is_alone = len(ranks) < 2
    for part, text, its_role, values in parts[:1] if is_alone else parts:
        columns.append(Column(part, text, its_role, column.of))
        data[part] = recorded(values)
    if is_alone:
        return
    columns.append(Column(f"{name}_worst_rank", english("{column}: its rank", column=title), Role.ID))
    data[f"{name}_worst_rank"] = np.ma.MaskedArray(ranks[np.maximum(found.place, 0)], found.place < 0)


@dataclass(frozen=True, eq=False)
class Spreads:
    """How the values of each row are spread over the ranks: float64 (rows), NaN of no value.

    ``place`` is the column of the worst value, −1 where none is worse than others.
    """

    median: Float64Array
    spread: Float64Array
    worst: Float64Array
    place: npt.NDArray[np.int64]


def spreads(matrix: Float64Array) -> Spreads:
    """Median, spread and worst value of each row of a matrix (rows, ranks); NaN is no value.

    The spread is the distance between the quartiles, which are interpolated linearly as numpy does. The worst value
    is the one farthest from the median, of two as far the larger one, of equal ones the first; where several ranks
    have one value, no rank has the worst.
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
    """A quantile of each row of sorted values, of which the first ``count`` are values."""
    rows = np.arange(len(ordered))
    at = share * np.maximum(count - 1, 0)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    first, second = ordered[rows, low], ordered[rows, high]
    found = first + (second - first) * (at - low)
    return np.where(count > 0, found, np.nan)


def recorded(values: Float64Array) -> npt.NDArray[Any]:
    """Numbers as a column, masked where they are NaN."""
    gone = np.isnan(values)
    return np.ma.MaskedArray(np.where(gone, 0.0, values), gone)
