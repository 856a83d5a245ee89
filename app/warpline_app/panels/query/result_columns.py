"""The columns of a query's result in a table, and what its rows mean on the timeline."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.times import format_duration, format_time
from warpline.query.named_tables import reads_events
from warpline.query.session import QueryResult, TableInfo
from warpline.query.wire import ResultColumn
from warpline_app.panels.frame.row_target import RowTarget
from warpline_app.panels.table.content import TableColumn, TableContent, text_ranks

if TYPE_CHECKING:
    from warpline.storage import Capture

_DURATIONS = re.compile(
    r"(?:(?:sum|min|max|avg|median|mean)\()?(?:dur|self_dur|delay|dur_inside|\w+_(?:dur|delay|ns))\)?",
    re.IGNORECASE,
)
_MOMENTS = re.compile(r"(?:(?:min|max)\()?(?:ts|\w+_ts)\)?", re.IGNORECASE)
_NUMBER_PX, _MOMENT_PX, _TEXT_PX, _LONG_PX = 110, 140, 130, 300
_MEASURED = 50
_LONG_TEXT = 16
_NONE = "–"


def is_number(column: ResultColumn) -> bool:
    """Whether the values are numbers."""
    return column.values.dtype.kind in "iuf"


def is_moment(column: ResultColumn) -> bool:
    """Whether the values are times since the start of the capture, by the column's name."""
    return column.values.dtype.kind in "iu" and _MOMENTS.fullmatch(column.name) is not None


def is_duration(column: ResultColumn) -> bool:
    """Whether the values are durations in nanoseconds, by the column's name."""
    return is_number(column) and _DURATIONS.fullmatch(column.name) is not None


def result_content(result: QueryResult, origin_ns: int) -> TableContent:
    """The rows as a table; moments are shown relative to ``origin_ns`` (after the start of the capture)."""
    columns = [
        _table_column(column, f"{index}.{column.name}", origin_ns)
        for index, column in enumerate(result.columns)
    ]
    return TableContent(columns, len(result))


def _table_column(column: ResultColumn, key: str, origin_ns: int) -> TableColumn:
    values, valid = column.values, column.valid
    show = _shown(column, origin_ns)

    def text(item: int) -> str:
        return show(values[item]) if valid is None or valid[item] else _NONE

    def raw(item: int) -> str:
        return str(values[item]) if valid is None or valid[item] else ""

    number = is_number(column)
    sizes = [len(text(item)) for item in range(min(len(values), _MEASURED))]
    is_long = not number and max(sizes, default=0) > _LONG_TEXT
    description, number_px = column.type, _NUMBER_PX
    if is_moment(column):
        number_px = _MOMENT_PX
        description = tr("Time since the start of the capture; copied in nanoseconds")
    elif is_duration(column):
        description = tr("Copied in nanoseconds")
    return TableColumn(
        column.name,
        text,
        raw=raw,
        sort_values=lambda: _sortable(column),
        is_number=number,
        width=number_px if number else _LONG_PX if is_long else _TEXT_PX,
        stretches=is_long,
        tooltip=None if number else raw,
        description=description,
        key=key,
    )


def _shown(column: ResultColumn, origin_ns: int) -> Callable[[Any], str]:
    if is_moment(column):
        return lambda value: format_time(int(value) - origin_ns)
    if is_duration(column):
        return lambda value: format_duration(round(float(value))) if np.isfinite(value) else _NONE
    if column.values.dtype.kind in "iu":
        return lambda value: f"{int(value):,}"
    if column.values.dtype.kind == "f":
        return lambda value: f"{float(value):,.6g}"
    return lambda value: " ".join(str(value).split())


def _sortable(column: ResultColumn) -> npt.NDArray[Any]:
    """Values to sort by; missing ones first."""
    values = column.values
    if values.dtype == object:
        texts = ["" if value is None else str(value) for value in values.tolist()]
        distinct = list(dict.fromkeys(texts))
        rank = dict(zip(distinct, text_ranks(distinct).tolist(), strict=True))
        return np.array([rank[text] for text in texts], np.int64)
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if column.valid is None:
        return values
    if values.dtype.kind == "f":
        return np.where(column.valid, values, np.nan)
    return np.where(column.valid, values, np.iinfo(values.dtype).min)


class ResultTargets:
    """What each row of a result means on the timeline: an event (``id``), or a range (``ts``, ``dur``).

    ``id`` counts only where the query reads a table of events: tracks and threads have ids of their own.
    """

    def __init__(self, result: QueryResult, sql: str, tables: Sequence[TableInfo], capture: Capture) -> None:
        found = columns_by_name(result)
        self._ids = found.get("id") if reads_events(sql, tables) else None
        self._ts, self._dur = found.get("ts"), found.get("dur")
        self._capture = capture

    @property
    def has_events(self) -> bool:
        """Whether rows are events of the capture."""
        return self._ids is not None

    def of(self, item: int) -> RowTarget:
        """What a row means; a target that is nothing where it means nothing."""
        capture = self._capture
        event, start = _whole(self._ids, item), _whole(self._ts, item)
        if event is not None and self._is_event(event, start):
            return RowTarget.of_event(event)
        length = _whole(self._dur, item)
        if start is None or length is None or length < 0:
            return RowTarget()
        begin = capture.span[0] + start
        return RowTarget(range_ns=(begin, begin + max(length, 1)))

    def _is_event(self, row: int, start: int | None) -> bool:
        capture = self._capture
        return 0 <= row < len(capture.events) and (
            start is None or capture.event_span(row)[0] - capture.span[0] == start
        )


def columns_by_name(result: QueryResult) -> Mapping[str, ResultColumn]:
    """Columns by name in lower case; of equal names the first."""
    return {column.name.casefold(): column for column in reversed(result.columns)}


def _whole(column: ResultColumn | None, item: int) -> int | None:
    if (
        column is None
        or column.values.dtype.kind not in "iu"
        or (column.valid is not None and not column.valid[item])
    ):
        return None
    return int(column.values[item])
