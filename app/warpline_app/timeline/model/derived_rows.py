"""Timeline rows that show the results of queries, below a heading of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.derived_rows import DerivedRow
from warpline.model.times import format_duration, format_time
from warpline_app.timeline.model.event_text import EventText
from warpline_app.timeline.model.group_columns import GroupColumns
from warpline_app.timeline.model.name_rows import NameGroup
from warpline_app.timeline.model.row import Content, TimelineRow

if TYPE_CHECKING:
    from warpline.storage.columns.derived_events import DerivedEvents
    from warpline_app.open.derived import DerivedRows

HEADING_KEY = "#derived"
KEY = "#derived="
"""Begins the key of a derived row; its id follows."""
_TRACK = "#track="
"""Begins the part of a key that names a track of a derived row."""
ROLE = "derived"


@dataclass(eq=False, kw_only=True)
class DerivedGroup(NameGroup):
    """A line of a derived row: events of the capture, or new ones (``events``), whose rows are places in it.

    ``is_by_name``: events have the colours of their names, or those that the query gives them.
    """

    events: DerivedEvents | None = None
    is_by_name: bool = False

    def text(self, place: int, origin_ns: int) -> EventText:
        """The tooltip of a new event."""
        assert self.events is not None
        start, duration = int(self.events.start[place]), int(self.events.duration[place])
        name = self.events.names[int(self.events.name[place])]
        return EventText(
            name or self.title,
            (
                format_duration(duration),
                tr("starts at {time}", "timeline", time=format_time(start - origin_ns)),
                tr("derived by a query: {title}", "timeline", title=self.title),
            ),
        )


def derived_id(key: str) -> str:
    """The id of the derived row with this key, or of one of its tracks; empty for other rows."""
    return key[len(KEY) :].rpartition(_TRACK)[0] or key[len(KEY) :] if key.startswith(KEY) else ""


def derived_heading(derived: DerivedRows, rows: tuple[DerivedRow, ...]) -> TimelineRow | None:
    """The heading with a row for each query; None without any."""
    if not rows:
        return None
    return TimelineRow(
        key=HEADING_KEY,
        title=tr("Derived rows", "timeline"),
        content=Content.MORE,
        role=ROLE,
        is_group=True,
        children=[_row(derived, row) for row in rows],
    )


def _row(derived: DerivedRows, row: DerivedRow) -> TimelineRow:
    content, key = derived.content(row), KEY + row.id
    if content is None:
        why = derived.problem(row) or tr("running …", "timeline")
        return TimelineRow(key=key, title=f"{row.title} – {why}", content=Content.MORE, role=ROLE)
    from warpline.storage.columns.counters import Counter

    if isinstance(content, Counter):
        return TimelineRow(
            key=key,
            title=row.title,
            content=Content.COUNTER,
            role=ROLE,
            family=row.color or "kernel",
            series=content,
        )
    if not content.tracks:
        return _events_row(row, content, key, row.title)
    return TimelineRow(
        key=key,
        title=row.title,
        content=Content.MORE,
        role=ROLE,
        is_group=True,
        children=[
            _events_row(row, content, f"{key}{_TRACK}{number}", title or row.title, number)
            for number, title in enumerate(content.tracks)
        ],
    )


def _events_row(
    row: DerivedRow, content: DerivedEvents, key: str, title: str, track: int | None = None
) -> TimelineRow:
    lines = content.lines_of(track)
    groups = [_group(row, content, title, number, chosen) for number, chosen in enumerate(lines)]
    return TimelineRow(
        key=key,
        title=title,
        content=Content.SUBSET,
        role=ROLE,
        family=groups[0].family,
        group=groups[0],
        more_groups=tuple(groups[1:]),
        count=sum(len(chosen) for chosen in lines),
    )


def _group(
    row: DerivedRow, content: DerivedEvents, title: str, number: int, chosen: npt.NDArray[np.int64]
) -> DerivedGroup:
    rows = chosen if content.rows is None else content.rows[chosen]
    start, duration = content.start[chosen], content.duration[chosen]
    return DerivedGroup(
        key=f"line={number}",
        title=title,
        family=content.color_family(chosen) if content.colors else row.color or content.family,
        count=len(chosen),
        total_ns=int(duration.sum()),
        load=lambda: rows,
        _columns=GroupColumns.of(np.ascontiguousarray(rows, np.int64), start, duration),
        events=content if content.rows is None else None,
        is_by_name=not row.color or bool(content.colors),
    )
