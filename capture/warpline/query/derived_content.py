"""Makes what a derived row shows of the result of its query (`storage.columns.derived_events`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.query.session import QueryResult
from warpline.query.wire import ResultColumn
from warpline.storage.columns.counters import Counter, counter_pyramid
from warpline.storage.columns.derived_events import DerivedContent, DerivedEvents
from warpline.untrusted import one_line

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
MOST_EVENTS = 1_000_000
MOST_LINES = 8
"""Events that overlap more than this lie over each other in the last line."""
MOST_TRACKS = 64


def derived_content(result: QueryResult, capture: Capture) -> DerivedContent:
    """What a result shows: events of the capture (``id``), new ones (``ts``, ``dur``), values (``ts``, a number).

    New events may have a ``name``, a ``color`` and a ``track``. Raises UsageError for other columns, ids of no events,
    too many tracks, and a result without rows.
    """
    columns = {column.name.casefold(): column for column in reversed(result.columns)}
    if not len(result):
        raise UsageError(tr("the query returns no rows"))
    ids, ts, dur = (_whole(columns, name) for name in ("id", "ts", "dur"))
    if ids is not None:
        return _events_of(ids, capture)
    if ts is not None and dur is not None:
        return _new_events(ts + capture.span[0], np.maximum(dur, 0), columns)
    value = columns.get("value") or next(
        (column for column in result.columns if column.name.casefold() != "ts" and _is_number(column)), None
    )
    if ts is not None and value is not None and _is_number(value):
        return _values(ts + capture.span[0], value)
    raise UsageError(
        tr("a row needs the columns id (of events), or ts and dur (and name, track, color), or ts and value")
    )


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


def _new_events(
    start: Int64Array, duration: Int64Array, columns: Mapping[str, ResultColumn]
) -> DerivedEvents:
    order = np.lexsort((-duration, start))
    start, duration = start[order], duration[order]
    name, names = _coded(columns.get("name"), order)
    color, colors = _coded(columns.get("color"), order)
    track, tracks = _coded(columns.get("track"), order)
    if len(tracks) > MOST_TRACKS:
        raise UsageError(
            tr(
                "the column track has {count:,} values; a row has at most {most}",
                count=len(tracks),
                most=MOST_TRACKS,
            )
        )
    line = np.zeros(len(start), np.int64)
    for number in range(max(1, len(tracks))):
        mine = np.flatnonzero(track == number)
        line[mine] = _lines(start[mine], duration[mine])
    return DerivedEvents(
        start=start, duration=duration, line=line, rows=None, name=name, names=names or ("",), family="range",
        color=color if colors else None, colors=colors, track=track if tracks else None, tracks=tracks,
    )  # fmt: skip


def _coded(column: ResultColumn | None, order: Int64Array) -> tuple[Int64Array, tuple[str, ...]]:
    """The number of each text in ``order``, and the texts in order of their first use; no texts without a column."""
    if column is None:
        return np.zeros(len(order), np.int64), ()
    known: dict[str, int] = {}
    texts: list[Any] = column.python_values()
    ordered = [texts[place] for place in order.tolist()]
    codes = [known.setdefault("" if text is None else one_line(str(text)), len(known)) for text in ordered]
    return np.array(codes, np.int64), tuple(known)


def _lines(start: Int64Array, duration: Int64Array) -> Int64Array:
    """The first line that is free, for each event."""
    stop = start + duration
    if len(start) < 2 or bool(np.all(np.maximum.accumulate(stop)[:-1] <= start[1:])):
        return np.zeros(len(start), np.int64)
    ends: list[int] = []
    lines = np.empty(len(start), np.int64)
    for index, (begin, end) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
        line = next((number for number, taken in enumerate(ends) if taken <= begin), len(ends))
        if line == MOST_LINES:
            line -= 1
        elif line == len(ends):
            ends.append(end)
        ends[line] = max(end, ends[line])
        lines[index] = line
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
