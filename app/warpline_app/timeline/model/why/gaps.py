"""Idle gaps of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline_app.state.evidence_state import Gap
from warpline_app.timeline.model.row import Content, TimelineRow

if TYPE_CHECKING:
    from warpline.storage import Capture

ROLES = frozenset(("stream", "thread", "state", "core", "cpu", "gpu", "context"))
"""Roles of rows with gaps worth explaining."""


def gap_at(capture: Capture, row: TimelineRow, time_ns: int) -> Gap | None:
    """The idle gap of a row around a time, across all its lanes; None where events are, or for other kinds of rows.

    Uses binary searches. The start and end of the capture bound a gap like events do.
    """
    if row.content is not Content.LANES or row.role not in ROLES or not row.lanes or row.track < 0:
        return None
    low, high = capture.span
    if not low <= time_ns < high:
        return None
    start, stop, before, after = low, high, -1, -1
    for lane in row.lanes:
        part = capture.lane_slice(lane, time_ns, time_ns + 1)
        if part.stop > part.start:
            return None
        first, count = int(capture.lanes.first[lane]), int(capture.lanes.count[lane])
        if part.start > first:
            ended = capture.event_span(part.start - 1)[1]
            if ended >= start:
                start, before = ended, part.start - 1
        if part.start < first + count:
            begins = capture.event_span(part.start)[0]
            if begins <= stop:
                stop, after = begins, part.start
    return (
        Gap(start_ns=start, stop_ns=stop, key=row.key, track=row.track, before=before, after=after)
        if stop > start
        else None
    )
