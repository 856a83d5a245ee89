"""Results of an analysis: tables whose columns state their unit and what a ratio is a share of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column
from warpline.untrusted import natural_key


class Texts(Sequence[str | None]):
    """A column of texts stored as codes, so that millions of rows take four bytes each.

    ``codes`` are integers (one per row), ``lookup`` gives the text of a code; a negative code is "not recorded".
    """

    def __init__(self, codes: npt.NDArray[Any], lookup: Callable[[int], str | None]) -> None:
        self.codes = codes
        self.lookup = lookup

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(index, slice):
            return Texts(self.codes[index], self.lookup)
        code = int(self.codes[index])
        return None if code < 0 else self.lookup(code)

    def take(self, index: npt.NDArray[Any]) -> Texts:
        """The texts of the rows at ``index``."""
        return Texts(self.codes[index], self.lookup)

    def texts(self) -> list[str | None]:
        """All texts; looks up each distinct code once."""
        distinct, inverse = np.unique(self.codes, return_inverse=True)
        texts = [None if code < 0 else self.lookup(code) for code in distinct.tolist()]
        return [texts[place] for place in inverse.tolist()]

    def ranks(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Rank of each text in natural order (equal texts share one), and which rows have no text."""
        distinct, inverse = np.unique(self.codes, return_inverse=True)
        texts = [None if code < 0 else self.lookup(code) for code in distinct.tolist()]
        rank = {text: index for index, text in enumerate(sorted({t or "" for t in texts}, key=natural_key))}
        places = np.array([rank[text or ""] for text in texts] + [0], np.int64)[:-1]
        missing = np.array([text is None for text in texts] + [False], bool)[:-1]
        return places[inverse], missing[inverse]


Values = npt.NDArray[Any] | Texts | Sequence[str | None]
"""One column: a numpy array (masked where a value was not recorded) or texts."""

NO_NAME = np.uint32(0xFFFFFFFF)
"""In `Targets.names`: the row stands for no single name."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The events that the rows of a table stand for, so that the timeline can show them.

    Each array has one entry per table row: ``names`` string ids (uint32, `NO_NAME` for none), ``kinds`` kind codes
    (int16, -1 for any kind), ``rows`` event rows (int64, -1 for none), ``tracks`` track indices (int32, -1 for none),
    ``starts``/``stops`` a time range in capture ns (both -1 for none).
    """

    names: npt.NDArray[np.uint32] | None = None
    kinds: npt.NDArray[np.int16] | None = None
    rows: npt.NDArray[np.int64] | None = None
    tracks: npt.NDArray[np.int32] | None = None
    starts: npt.NDArray[np.int64] | None = None
    stops: npt.NDArray[np.int64] | None = None

    def take(self, index: npt.NDArray[np.int64]) -> Targets:
        """The targets of the table rows at ``index``, in that order."""

        def pick(values: npt.NDArray[Any] | None) -> Any:
            return None if values is None else values[index]

        return Targets(
            names=pick(self.names),
            kinds=pick(self.kinds),
            rows=pick(self.rows),
            tracks=pick(self.tracks),
            starts=pick(self.starts),
            stops=pick(self.stops),
        )


@dataclass(frozen=True)
class Table:
    """Columns of equal length. ``depth`` (an integer per row) makes it a tree, parents before children.

    ``scope`` says in one sentence what the numbers cover ("Kernels in the selected range · GPU busy 93 %").
    ``notes`` appear below the table.
    """

    columns: tuple[Column, ...]
    data: Mapping[str, Values]
    _: KW_ONLY
    depth: npt.NDArray[np.integer[Any]] | None = None
    targets: Targets = field(default_factory=Targets)
    scope: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if {column.name for column in self.columns} != set(self.data):
            raise ValueError(
                f"columns and data differ: {[c.name for c in self.columns]} and {list(self.data)}"
            )
        lengths = {len(values) for values in self.data.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of different length: {lengths}")

    def __len__(self) -> int:
        return len(next(iter(self.data.values()))) if self.columns else 0

    def column(self, name: str) -> Column:
        """The column of that name. Raises KeyError when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns that identify a row; none in a list of events."""
        return tuple(column for column in self.columns if column.key)

    def row_keys(self) -> list[tuple[Any, ...]]:
        """The key of each row: the values of its key columns, in a tree behind those of the rows above it.

        Repeated keys get a number, from 1 for the second row. Tuples are empty where the table has no key columns.
        """
        names = [column.name for column in self.key_columns]
        own = list(zip(*(self.values(name) for name in names), strict=True)) if names else [()] * len(self)
        keys = own if self.depth is None else list(_paths(own, self.depth.tolist()))
        if not names:
            return keys
        seen: dict[tuple[Any, ...], int] = {}
        for row, key in enumerate(keys):
            seen[key] = number = seen.get(key, -1) + 1
            if number:
                keys[row] = (*key, number)
        return keys

    def value(self, row: int, name: str) -> Any:
        """One cell as a Python value; None when it was not recorded."""
        return python_value(self.data[name], row)

    def values(self, name: str) -> list[Any]:
        """A column as Python values; None where a value was not recorded."""
        return python_values(self.data[name])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row as a dict of Python values, with ``depth`` first in a tree."""
        names = [column.name for column in self.columns]
        columns = [self.values(name) for name in names]
        if self.depth is not None:
            names.insert(0, "depth")
            columns.insert(0, self.depth.tolist())
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))

    def part(self, first: int, stop: int) -> Table:
        """The rows ``first`` to ``stop`` (not included) of the table."""
        return self.take(np.arange(first, min(stop, len(self))))

    def take(self, index: npt.NDArray[np.int64]) -> Table:
        """The table with the rows ``index``, in that order."""
        data: dict[str, Values] = {}
        for name, values in self.data.items():
            if isinstance(values, np.ndarray):
                data[name] = values[index]
            elif isinstance(values, Texts):
                data[name] = values.take(index)
            else:
                data[name] = [values[i] for i in index.tolist()]
        depth = None if self.depth is None else self.depth[index]
        return replace(self, data=data, depth=depth, targets=self.targets.take(index))


def _paths(own: Sequence[tuple[Any, ...]], depth: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The values of each row of a tree, behind those of the rows above it."""
    path: list[tuple[Any, ...]] = []
    for values, level in zip(own, depth, strict=True):
        del path[level:]
        path.append(values)
        yield tuple(value for part in path for value in part)


@dataclass(frozen=True)
class NotRecorded:
    """Why a report has no rows, and what to record to get them."""

    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


@dataclass(frozen=True)
class Report:
    """A computed report: a table, or the reason why there is none. ``range_ns`` counts from the capture's start."""

    name: str
    title: str
    range_ns: tuple[int, int]
    result: Table | NotRecorded

    @property
    def table(self) -> Table | None:
        """The table; None when it was not recorded."""
        return self.result if isinstance(self.result, Table) else None


def python_value(values: Values, row: int) -> Any:
    """One value of a column as int, float, bool, str or None (masked or NaN: not recorded)."""
    value = values[row]
    if value is None or value is np.ma.masked:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def python_values(values: Values) -> list[Any]:
    """A column as int, float, bool or str; None where masked or NaN (not recorded)."""
    if isinstance(values, Texts):
        return values.texts()
    if not isinstance(values, np.ndarray):
        return list(values)
    missing = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    if plain.dtype.kind == "f":
        missing = missing | np.isnan(plain)
    listed: list[Any] = plain.tolist()
    for row in np.flatnonzero(missing).tolist():
        listed[row] = None
    return listed


def unrecorded(count: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """A column of ``count`` values that were not recorded."""
    return np.ma.MaskedArray(np.zeros(count, dtype), np.ones(count, bool))


def join_columns(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The columns concatenated, with their masks."""
    values = np.concatenate([np.ma.getdata(column) for column in columns])
    return np.ma.MaskedArray(values, np.concatenate([np.ma.getmaskarray(column) for column in columns]))


def sort_table(table: Table, column: str, descending: bool | None = None) -> Table:
    """The table sorted by one column; by default numbers descend and texts ascend.

    Rows without a value come last. In a tree, siblings are sorted and children stay below their parents.

    Raises KeyError when there is no such column.
    """
    order = _order(table.data[table.column(column).name], descending)
    if table.depth is not None:
        order = _tree_order(table.depth, order)
    return table.take(order)


def _order(values: Values, descending: bool | None) -> npt.NDArray[np.int64]:
    if not isinstance(values, np.ndarray):
        texts = values if isinstance(values, Texts) else _coded(values)
        plain, missing = texts.ranks()
        descending = bool(descending)
    else:
        missing = np.ma.getmaskarray(values).copy()
        plain = np.ma.getdata(values)
        if plain.dtype.kind == "f":
            missing |= np.isnan(plain)
        if plain.dtype.kind == "b":
            plain = plain.astype(np.int8)
        descending = descending is None or descending
    if descending:
        # Reversed twice, so that rows of equal value keep their order.
        order = (len(plain) - 1 - np.argsort(plain[::-1], kind="stable"))[::-1].astype(np.int64)
    else:
        order = np.argsort(plain, kind="stable").astype(np.int64)
    is_last = missing[order]
    return np.concatenate([order[~is_last], order[is_last]])


def _coded(values: Sequence[str | None]) -> Texts:
    code: dict[str, int] = {}
    codes = np.array([-1 if text is None else code.setdefault(text, len(code)) for text in values], np.int64)
    return Texts(codes, list(code).__getitem__)


def _tree_order(depth: npt.NDArray[np.integer[Any]], order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The rows of a tree with siblings in ``order``, children behind their parents."""
    parent: list[int] = []
    path: list[int] = []
    for row, level in enumerate(depth.tolist()):
        del path[level:]
        parent.append(path[-1] if path else -1)
        path.append(row)
    children: dict[int, list[int]] = {}
    for row in reversed(order.tolist()):
        children.setdefault(parent[row], []).append(row)
    result: list[int] = []
    waiting = children.pop(-1, [])
    while waiting:
        row = waiting.pop()
        result.append(row)
        waiting += children.pop(row, ())
    return np.array(result, np.int64)
