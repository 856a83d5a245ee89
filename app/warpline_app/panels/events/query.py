"""Selects the events to list: by kind, range, timeline row, name and column values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import Selection, View
from warpline.model.progress import IsCancelled
from warpline_app.panels.table.column_filter import ColumnFilter, passing
from warpline_app.panels.table.content import Items, TableColumn
from warpline_app.state.name_filter import passing_names
from warpline_app.state.timeline_state import Filter

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class EventQuery:
    """The events to list.

    ``kind`` is empty for all, ``range_ns`` None for the whole capture, ``text`` is searched in names. ``tracks`` are
    indices and ``name`` a string id, None for all. ``columns`` filter on column values.
    """

    kind: str = ""
    range_ns: tuple[int, int] | None = None
    text: str = ""
    filter: Filter = field(default_factory=Filter)
    tracks: frozenset[int] | None = None
    name: int | None = None
    columns: tuple[ColumnFilter, ...] = ()


def name_ids(capture: Capture, text: str, *, regex: bool = False, case: bool = False) -> Int64Array:
    """Ids of names that contain a text; ``"…"`` matches the whole name, ``/…/`` or ``regex`` an expression.

    An incomplete expression matches nothing.
    """
    if len(text) > 2 and text.startswith('"') and text.endswith('"'):
        name_id = capture.strings.id(text[1:-1])
        return np.array([] if name_id is None else [name_id], np.int64)
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        text, regex = text[1:-1], True
    try:
        return capture.strings.find(text, regex=regex, case=case).astype(np.int64)
    except re.error:
        return np.empty(0, np.int64)


def rows_of(
    capture: Capture,
    query: EventQuery,
    columns: Sequence[TableColumn] = (),
    is_cancelled: IsCancelled = lambda: False,
) -> Items | None:
    """Rows of the matching events in file order; None for all events.

    For all events of a kind, the file's own column is returned, which takes no memory. An event matches a range it
    overlaps; an event without duration, one that contains it. ``columns`` are those the query's filters name.

    Raises ValueError for an invalid column filter.
    """
    rows: Items | None = capture.kinds[query.kind].index_rows if query.kind in capture.kinds else None
    if query.range_ns is not None or query.tracks is not None:
        inside = capture.rows_in(
            _lanes_of(capture, query.tracks), *(query.range_ns or (capture.span[0], capture.span[1] + 1))
        )
        rows = (
            inside if rows is None else inside[capture.events.kind[inside] == capture.kinds[query.kind].code]
        )
    name_sets = [name_ids(capture, query.text)] if query.text else []
    try:
        filter_names = passing_names(capture.strings, query.filter)
    except re.error:
        filter_names = np.empty(0, np.int64)
    if filter_names is not None:
        name_sets.append(filter_names)
    if query.name is not None:
        name_sets.append(np.array([query.name], np.int64))
    for ids in name_sets:
        if not is_cancelled():
            is_match = np.zeros(len(capture.strings) + 1, bool)
            is_match[ids] = True
            names = capture.events.name if rows is None else capture.events.name[rows]
            hits = np.flatnonzero(is_match[np.minimum(names, len(capture.strings))])
            rows = hits.astype(np.int64) if rows is None else rows[hits]
    if query.filter.kinds and not is_cancelled():
        codes = [capture.kinds[kind].code for kind in query.filter.kinds if kind in capture.kinds]
        kinds = capture.events.kind if rows is None else capture.events.kind[rows]
        hits = np.flatnonzero(np.isin(kinds, codes))
        rows = hits.astype(np.int64) if rows is None else rows[hits]
    by_identity = {column.identity: column for column in columns}
    for column_filter in query.columns:
        if column_filter.column in by_identity and not is_cancelled():
            hits = np.flatnonzero(passing(by_identity[column_filter.column], column_filter.text, rows))
            rows = hits.astype(np.int64) if rows is None else rows[hits]
    return rows


def _lanes_of(capture: Capture, tracks: frozenset[int] | None) -> Int64Array:
    """Lanes of some tracks and all below them; None for every lane."""
    if tracks is None:
        return np.arange(len(capture.lanes))
    chosen = View(capture, Selection(tracks=tracks)).tracks
    return np.flatnonzero(np.isin(capture.lanes.track, list(chosen))).astype(np.int64)


def capture_starts(capture: Capture, rows: Items | None = None) -> Int64Array:
    """Starts of events in capture time."""
    if rows is not None:
        return capture.event_times(rows.astype(np.int64, copy=False))[0]
    if not np.any(capture.lane_offset_ns):
        return capture.events.start
    return capture.events.start - np.repeat(capture.lane_offset_ns, capture.lanes.count)
