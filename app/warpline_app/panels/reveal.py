"""Go to an event: select it and bring it into view."""

from __future__ import annotations

from warpline_app.state import Document

EVENT_SHARE_MAX = 1.0
EVENT_SHARE_AFTER_ZOOM = 0.25


def reveal(document: Document, row: int) -> None:
    """Select an event; move the view when the event is outside, and zoom out when it does not fit."""
    state = document.state
    start, stop = document.capture.event_span(row)
    view_start, view_stop = state.view
    length = view_stop - view_start
    if stop - start > length * EVENT_SHARE_MAX:
        length = int((stop - start) / EVENT_SHARE_AFTER_ZOOM)
    if start < view_start or stop > view_stop or length != view_stop - view_start:
        middle = start + (stop - start) // 2
        state.set_view(middle - length // 2, middle - length // 2 + length)
    state.select(row)
