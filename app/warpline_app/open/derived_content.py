"""What a derived row shows: the result of its query as events of the capture, as new events, or as values over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.query.session import QueryResult
from warpline.query.wire import ResultColumn
from warpline.storage.columns.counters import Counter, counter_pyramid

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
MOST_EVENTS = 1_000_000
MOST_LINES = 8
"""Events that overlap more than this lie over each other in the last line."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DerivedEvents:
    """Events by start: ``start`` and ``duration`` int64 capture ns, ``line`` int64 0 … below `MOST_LINES`.

    ``rows`` are those of the capture's events; None for new events, whose names are ``names[name]``.
    """

    start: Int64Array
    duration: Int64Array
    line: Int64Array
    rows: Int64Array | None
    name: Int64Array
    names: tuple[str, ...]
    family: str
    """Colour family of events too short for the colour of their name."""


DerivedContent = DerivedEvents | Counter


def derived_content(result: QueryResult, capture: Capture) -> DerivedContent:
    """What a result shows: events of the capture (``id``), new ones (``ts``, ``dur``), values (``ts``, a number).

    Raises UsageError for other columns, ids of no events, and a result without rows.
    """
    columns = {column.name.casefold(): column for column in reversed(result.columns)}
    if not len(result):
        raise UsageError(tr("the query returns no rows"))
    ids, ts, dur = (_whole(columns, name) for name in ("id", "ts", "dur"))
    if ids is not None:
        return _events_of(ids, capture)
    if ts is not None and dur is not None:
        return _new_events(ts + capture.span[0], np.maximum(dur, 0), columns.get("name"))
    value = columns.get("value") or next(
        (column for column in result.columns if column.name.casefold() != "ts" and _is_number(column)), None
    )
    if ts is not None and value is not None and _is_number(value):
        return _values(ts + capture.span[0], value)
    raise UsageError(tr("a row needs the columns id (of events), or ts and dur (and name), or ts and value"))


def _is_number(column: ResultColumn) -> bool:
    return column.values.dtype.kind in "iuf"


def _whole(columns: Mapping[str, ResultColumn], name: str) -> Int64Array | None:
    """A column of whole numbers without gaps; None for none."""
    column = columns.get(name)
    if column is None or column.values.dtype.kind not in "iu" or column.valid is not None:
        return None
    # Sums of times must stay in 64 bits, whatever a query makes of them.
    return np.clip(column.values, -(1 << 61), 1 << 61).astype(np.int64)


def _events_of(ids: Int64Array, capture: Capture) -> DerivedEvents:
    rows = np.unique(ids)
    if len(rows) and (rows[0] < 0 or rows[-1] >= len(capture.events)):
        raise UsageError(tr("no event has the id {id}", id=int(rows[0] if rows[0] < 0 else rows[-1])))
    start, stop = capture.event_times(rows)
    order = np.lexsort((start - stop, start))
    start, duration = start[order], (stop - start)[order]
    return DerivedEvents(
        start=start, duration=duration, line=_lines(start, duration), rows=rows[order],
        name=np.zeros(0, np.int64), names=(), family=_family(rows, capture),
    )  # fmt: skip


def _family(rows: Int64Array, capture: Capture) -> str:
    """The colour family of the most frequent kind."""
    code = int(np.bincount(capture.events.kind[rows]).argmax())
    kind = capture.kinds.get(capture.kind_of_code.get(code, ""))
    family = "neutral" if kind is None else kind.spec.color
    return {"copy": "copy_on_device", "state": "running"}.get(family, family)


def _new_events(start: Int64Array, duration: Int64Array, name: ResultColumn | None) -> DerivedEvents:
    order = np.lexsort((-duration, start))
    texts: list[Any] = [None] * len(start) if name is None else name.python_values()
    known: dict[str, int] = {}
    codes = [known.setdefault("" if text is None else str(text), len(known)) for text in texts]
    start, duration = start[order], duration[order]
    return DerivedEvents(
        start=start, duration=duration, line=_lines(start, duration), rows=None,
        name=np.array(codes, np.int64)[order], names=tuple(known), family="range",
    )  # fmt: skip


def _lines(start: Int64Array, duration: Int64Array) -> Int64Array:
    """The first line that is free, for each event."""
    stop = start + duration
    if len(start) < 2 or bool(np.all(np.maximum.accumulate(stop)[:-1] <= start[1:])):
        return np.zeros(len(start), np.int64)
    ends: list[int] = []
    lines = np.empty(len(start), np.int64)
    for place, (begin, end) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
        line = next((number for number, taken in enumerate(ends) if taken <= begin), len(ends))
        if line == MOST_LINES:
            line -= 1
        elif line == len(ends):
            ends.append(end)
        ends[line] = max(end, ends[line])
        lines[place] = line
    return lines


def _values(times: Int64Array, value: ResultColumn) -> Counter:
    order = np.argsort(times, kind="stable")
    values = value.values.astype(np.float64)
    if value.valid is not None:
        values = np.where(value.valid, values, np.nan)
    values = np.where(np.isfinite(values), values, np.nan)[order]
    return Counter(
        index=-1, track=-1, name=value.name, unit="", interpolation="step", recorded_times=times[order], offset_ns=0,
        values=values, pyramid=counter_pyramid(values),
    )  # fmt: skip
