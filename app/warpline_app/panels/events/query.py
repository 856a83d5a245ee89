"""Which events a table of events lists: by kind, range, row of the timeline, name and value of a column."""

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


@dataclass(frozen=True)
class EventQuery:
    """Which events: ``kind`` empty for all, ``range_ns`` None for the whole capture, ``text`` sought in names;
    ``tracks`` are indices and ``name`` a string id, None for all; ``columns`` are filters on the values of columns.
    """

    kind: str = ""
    range_ns: tuple[int, int] | None = None
    text: str = ""
    filter: Filter = field(default_factory=Filter)
    tracks: frozenset[int] | None = None
    name: int | None = None
    columns: tuple[ColumnFilter, ...] = ()


def name_ids(capture: Capture, text: str, *, regex: bool = False, case: bool = False) -> Int64Array:
    """Ids of names that contain a text; ``"…"`` asks for the whole name, ``/…/`` or ``regex`` for a match.

    A broken expression matches nothing: it is being typed.
    """
    if len(text) > 2 and text.startswith('"') and text.endswith('"'):
        found = capture.strings.id(text[1:-1])
        return np.array([] if found is None else [found], np.int64)
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
    """Rows of the events that pass, in the order of the file; None for all of them.

    All events of a kind are told by the column of the file itself, which takes no memory.

    An event counts as inside a range when it overlaps it; an event without duration when it lies in it. ``columns``
    are those that the filters of the query name.

    Raises ValueError when a filter on a column cannot be understood.
    """
    rows: Items | None = capture.kinds[query.kind].index_rows if query.kind in capture.kinds else None
    if query.range_ns is not None or query.tracks is not None:
        inside = capture.rows_in(
            _lanes_of(capture, query.tracks), *(query.range_ns or (capture.span[0], capture.span[1] + 1))
        )
        rows = (
            inside if rows is None else inside[capture.events.kind[inside] == capture.kinds[query.kind].code]
        )
    wanted_names = [name_ids(capture, query.text)] if query.text else []
    try:
        let_pass = passing_names(capture.strings, query.filter)
    except re.error:
        let_pass = np.empty(0, np.int64)
    if let_pass is not None:
        wanted_names.append(let_pass)
    if query.name is not None:
        wanted_names.append(np.array([query.name], np.int64))
    for ids in wanted_names:
        if not is_cancelled():
            wanted = np.zeros(len(capture.strings) + 1, bool)
            wanted[ids] = True
            names = capture.events.name if rows is None else capture.events.name[rows]
            hits = np.flatnonzero(wanted[np.minimum(names, len(capture.strings))])
            rows = hits.astype(np.int64) if rows is None else rows[hits]
    if query.filter.kinds and not is_cancelled():
        codes = [capture.kinds[kind].code for kind in query.filter.kinds if kind in capture.kinds]
        kinds = capture.events.kind if rows is None else capture.events.kind[rows]
        hits = np.flatnonzero(np.isin(kinds, codes))
        rows = hits.astype(np.int64) if rows is None else rows[hits]
    by_identity = {column.identity: column for column in columns}
    for wanted_value in query.columns:
        if wanted_value.column in by_identity and not is_cancelled():
            hits = np.flatnonzero(passing(by_identity[wanted_value.column], wanted_value.text, rows))
            rows = hits.astype(np.int64) if rows is None else rows[hits]
    return rows


def _lanes_of(capture: Capture, tracks: frozenset[int] | None) -> Int64Array:
    """Lanes of some tracks and of all below them; None for every lane."""
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
