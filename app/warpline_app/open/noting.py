"""What a note is on, and the way to it."""

from __future__ import annotations

from warpline.i18n import tr, translated
from warpline.model.notes import Note
from warpline.storage import Capture
from warpline_app.open.document import Document
from warpline_app.state.timeline_state import TimelineState


def new_note(capture: Capture, state: TimelineState) -> Note:
    """A note on the selected event, else the selected range, else the time under the pointer or the view's middle."""
    if state.selection is not None:
        start, stop = capture.event_span(state.selection)
        name = capture.strings[int(capture.events.name[state.selection])]
        row = capture.tracks[capture.track_of_row(state.selection)].uri
        return Note(start_ns=start, stop_ns=stop if stop > start else None, row=row, event=name)
    if state.range_selection is not None:
        return Note(start_ns=state.range_selection[0], stop_ns=state.range_selection[1])
    return Note(start_ns=state.cursor_ns if state.cursor_ns is not None else sum(state.view) // 2)


def note_place(capture: Capture, note: Note) -> str:
    """What the note is on: an event's name, a row's title, or the time."""
    if note.event:
        return note.event
    if note.row:
        try:
            return translated(capture.track(note.row).title) or note.row
        except KeyError:
            return note.row
    return tr("timeline")


def go_to_note(document: Document, note: Note) -> None:
    """Show what a note is on: select its event or range, scroll to its row, bring its time into view."""
    state = document.state
    if note.row:
        state.reveal_row(note.row)
    if note.start_ns is None:
        return
    event = _event_of(document.capture, note)
    if event is not None:
        state.reveal(event)
    elif note.stop_ns is not None:
        state.select_range(note.start_ns, note.stop_ns)
    low, high = state.view
    if not low <= note.start_ns < high:
        half = (high - low) // 2
        state.set_view(note.start_ns - half, note.start_ns + half)


def _event_of(capture: Capture, note: Note) -> int | None:
    """The row of the note's event; None if the capture has no such event."""
    if not note.event or note.start_ns is None:
        return None
    try:
        track = capture.track(note.row).index
    except KeyError:
        return None
    for lane in capture.track_lanes(track):
        row = capture.event_at(lane, note.start_ns)
        if row is not None and capture.strings[int(capture.events.name[row])] == note.event:
            return int(row)
    return None
