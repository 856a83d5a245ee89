"""Building blocks of report tables: columns of statistics, ratios, names, targets, grouping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.block_sums import sums_by_name
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.loops.lane_times import Keys, times_by_name
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import Targets, Texts, Values, unrecorded
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import (
    Batches,
    GroupStatistics,
    batch_statistics,
    quick_statistics,
)
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]

LISTED = english("the total listed here")
"""The whole that shares in a table of statistics refer to by default."""
_SUFFIXES = {Role.DURATION: "_ns", Role.SIZE: "_bytes"}


def stat_columns(
    count_title: str,
    ratio_of: str,
    *,
    prefix: str = "",
    title: str = "",
    with_ratio: bool = True,
    role: Role = Role.DURATION,
) -> tuple[Column, ...]:
    """Columns of statistics: [ratio,] total, count, avg, med, min, max, stddev, in the order of Nsight's reports.

    ``role`` is `Role.DURATION` or `Role.SIZE`.
    """
    is_time = role is Role.DURATION

    titles = _titles_of(title) if title else _TITLES

    def column(key: str) -> Column:
        return Column(f"{prefix}{key}{_SUFFIXES[role]}", titles[key], role)

    share = english("Time") if is_time else english("Share")
    ratio = Column(f"{prefix}ratio", share, Role.SHARE, of=ratio_of, heat=True, lead=1)
    return (
        *((ratio,) if with_ratio else ()),
        column("total") if is_time else Column(f"{prefix}total{_SUFFIXES[role]}", english("Total"), role),
        Column("count", count_title, Role.COUNT),
        *(column(key) for key in ("avg", "med", "min", "max", "stddev")),
    )


_TITLES = {
    "total": english("Total Time"),
    "avg": english("Avg"),
    "med": english("Med"),
    "min": english("Min"),
    "max": english("Max"),
    "stddev": english("StdDev"),
}


def _titles_of(what: str) -> dict[str, str]:
    """Titles for a table with statistics of several quantities."""
    return {
        "total": english("{what} Total Time", what=what),
        "avg": english("{what} Avg", what=what),
        "med": english("{what} Med", what=what),
        "min": english("{what} Min", what=what),
        "max": english("{what} Max", what=what),
        "stddev": english("{what} StdDev", what=what),
    }


def stat_data(
    stats: GroupStatistics,
    *,
    prefix: str = "",
    with_ratio: bool = True,
    role: Role = Role.DURATION,
    whole: int | None = None,
) -> dict[str, Values]:
    """The data of `stat_columns`; ratios of ``whole`` (default: the sum of all totals)."""
    suffix = _SUFFIXES[role]
    data: dict[str, Values] = {}
    if with_ratio:
        data[f"{prefix}ratio"] = ratio(stats.total, int(stats.total.sum()) if whole is None else whole)
    data[f"{prefix}total{suffix}"] = stats.total
    data["count"] = stats.count
    for key in ("avg", "med", "min", "max", "stddev"):
        data[f"{prefix}{key}{suffix}"] = getattr(stats, key)
    return data


def ratio(parts: npt.NDArray[Any], whole: float) -> npt.NDArray[np.float64]:
    """Each part divided by the whole; masked where the whole is 0."""
    if not whole:
        return unrecorded(len(parts), np.float64)
    return np.asarray(parts / whole)


def ratios(parts: npt.NDArray[Any], wholes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """``parts`` / ``wholes``, masked where the whole is 0 or the part is masked."""
    wholes = np.asarray(wholes, np.float64)
    safe = np.where(wholes == 0, 1.0, wholes)
    return np.ma.MaskedArray(np.asarray(parts, np.float64) / safe, (wholes == 0) | np.ma.getmaskarray(parts))


def name_texts(view: View, ids: npt.NDArray[Any]) -> Texts:
    """String ids as a column of texts."""
    return Texts(ids.astype(np.int64), view.capture.strings.__getitem__)


def kind_code(view: View, kind: str) -> int:
    """The code of a kind in this capture, −1 if it has none."""
    table = view.capture.kinds.get(kind)
    return -1 if table is None else table.code


def name_targets(view: View, names: npt.NDArray[Any], kind: str | None) -> Targets:
    """Targets of a table with one row per name of one kind."""
    code = -1 if kind is None else kind_code(view, kind)
    return Targets(names=names.astype(np.uint32), kinds=np.full(len(names), code, np.int16))


def event_targets(rows: Int64Array) -> Targets:
    """Targets of a table with one row per event."""
    return Targets(rows=rows)


def statistics_by_name(view: View, kind: str, options: Options, keys: Keys | None = None) -> GroupStatistics:
    """Statistics of the time inside the range by name, largest total first; in bounded memory.

    ``keys`` groups by other string ids; callers must pass the same for every call about a kind.
    """
    if options.quick and (sums := sums_by_name(view, kind, keys)) is not None:
        return sums.by_total()
    return computed_by_name(view, lambda: times_by_name(view, kind, keys), options)


def computed_by_name(view: View, batches: Batches, options: Options) -> GroupStatistics:
    """Statistics by string id, computed from batches of (string ids, times); largest total first."""
    if options.quick:
        return quick_statistics(batches, max(len(view.capture.strings), 1)).by_total()
    return batch_statistics(batches).by_total()


def combine_keys(*columns: npt.NDArray[Any]) -> tuple[Int64Array, Int64Array]:
    """One dense key per distinct combination of integer columns: (key of each row, first row of each key).

    Keys ascend with the columns, the first one counting most; masked values stand before all others.
    """
    key = np.zeros(len(columns[0]), np.int64)
    if not len(key):
        return key, key
    distinct = 1
    for column in columns:
        if np.ma.getmask(column) is np.ma.nomask:
            values = np.ma.getdata(column).astype(np.int64)
        else:
            wide = np.ma.asarray(column).astype(np.int64)
            values = np.ma.filled(wide, 0 if np.ma.getmask(wide).all() else int(wide.min()) - 1)
        low = int(values.min())
        width = int(values.max()) - low + 1
        if width == 1:
            continue
        values -= low
        if width >= _DENSE:
            values, width = _dense(values, width)
        key *= width
        key += values
        distinct *= width
        if distinct >= _DENSE:
            key, distinct = _dense(key, distinct)
    key, distinct = _dense(key, distinct)
    first = np.empty(distinct, np.int64)
    # Written backwards, so that the first row of each key remains.
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    return key, first


_DENSE = 1 << 22
"""Keys below it are renumbered by a table instead of by sorting; the product of two fits 64 bits."""


def _dense(key: Int64Array, width: int) -> tuple[Int64Array, int]:
    """Keys below ``width`` renumbered 0, 1, … in ascending order, and the number of distinct keys."""
    if width > min(_DENSE, 8 * len(key) + 65_536):
        distinct, key = np.unique(key, return_inverse=True)
        return key.astype(np.int64), len(distinct)
    used = np.zeros(width, bool)
    used[key] = True
    number = np.cumsum(used) - 1
    return number[key], int(number[-1]) + 1


def group_order(key: Int64Array) -> Int64Array:
    """The stable order of rows by key (dense, as from `combine_keys`)."""
    # numpy sorts 16-bit integers by radix, several times faster than wider ones.
    order = np.argsort((key & 0xFFFF).astype(np.uint16), kind="stable")
    high = key >> 16
    while len(high) and int(high.max()):
        order = order[np.argsort((high[order] & 0xFFFF).astype(np.uint16), kind="stable")]
        high = high >> 16
    return order.astype(np.int64, copy=False)


def reduce_groups(
    group: Int64Array, first: Int64Array, columns: Sequence[Int64Array], ways: Sequence[np.ufunc]
) -> list[Int64Array]:
    """Each column reduced by ``group`` (dense, int64 [n]) with `numpy.add`, `numpy.minimum` or `numpy.maximum`.

    ``first`` is the index of one row of each group.
    """
    results = [
        np.zeros(len(first), np.int64) if way is np.add else column[first].astype(np.int64)
        for column, way in zip(columns, ways, strict=True)
    ]
    for column, way, result in zip(columns, ways, results, strict=True):
        way.at(result, group, column)
    return results


def group_sums(group: Int64Array, groups: int, columns: Sequence[Int64Array]) -> Int64Array:
    """The sum of each column by ``group`` (below ``groups``): int64 [columns, groups]."""
    return np.stack(reduce_groups(group, np.zeros(groups, np.int64), columns, [np.add] * len(columns)))


class Groups:
    """Numbers distinct combinations of integer columns across batches, in the order of occurrence."""

    def __init__(self) -> None:
        self._known: dict[tuple[int | None, ...], int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def codes(self, *columns: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        """The number of each row's combination."""
        key, first = combine_keys(*columns)
        rows = zip(*(np.ma.asarray(column)[first].tolist() for column in columns), strict=True)
        numbers = [self._known.setdefault(row, len(self._known)) for row in rows]
        return np.array(numbers, np.uint32)[key]

    def columns(self, numbers: Int64Array, width: int) -> list[npt.NDArray[Any]]:
        """The ``width`` columns of the combinations ``numbers``, masked where a value was masked."""
        rows = list(self._known)
        chosen = [rows[number] for number in numbers.tolist()]
        return [
            np.ma.MaskedArray(
                [row[place] or 0 for row in chosen], [row[place] is None for row in chosen], np.int64
            )
            for place in range(width)
        ]


def masked_below_zero(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values, with negative ones masked as not recorded."""
    return np.ma.MaskedArray(values, values < 0)


def scope_text(view: View, what: str) -> str:
    """The scope of a table: "Kernels in the selected range"."""
    if view.is_whole:
        return english("{what} in the whole capture", what=what)
    return english("{what} in the selected range", what=what)
