"""Verbs about events, links, marks and what a search found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from warpline.i18n import tr
from warpline_app.commands.command import Command
from warpline_app.timeline.model.event_text import describe_event
from warpline_app.timeline.model.events_of_names import neighbour
from warpline_app.timeline.model.rows import Content
from warpline_app.verbs.tools import Action, has_found, has_selection, timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView


def _select(view: TimelineView, row: int | None) -> None:
    if row is not None and row >= 0:
        view.state.select(row)
        view.scene.reveal_event(row)


def _next(view: TimelineView) -> None:
    _step(view, 1)


def _previous(view: TimelineView) -> None:
    _step(view, -1)


def _step(view: TimelineView, direction: int) -> None:
    """Along the lane; while names are highlighted, from one of their events to the next."""
    capture, selected, names = view.document.capture, view.state.selection, view.state.highlight
    if names and names == frozenset(view.search.found.names.tolist()):
        _select(view, view.search.step(direction))
    elif names and (selected is None or int(capture.events.name[selected]) in names):
        _select(view, neighbour(capture, names, selected, direction, view.state.view[0]))
    elif selected is None:
        _select(view, _first_in_view(view))
    else:
        _select(view, capture.next_event(selected) if direction > 0 else capture.previous_event(selected))


def _first_in_view(view: TimelineView) -> int | None:
    """The first event of the row in focus, or else of the topmost row that has one, in the visible range."""
    capture, scene = view.document.capture, view.scene
    row = view.focus_row()
    lanes = [line.lane for placed in scene.layout.rows for line in placed.lines if line.lane >= 0]
    if row is not None and row.content is Content.LANES:
        lanes = [*row.lanes, *lanes]
    for lane in lanes:
        part = capture.lane_slice(lane, *view.state.view)
        if part.stop > part.start:
            return int(part.start)
    return None


def _up_nesting(view: TimelineView) -> None:
    if view.state.selection is not None:
        _select(view, view.document.capture.parent_of_row(view.state.selection))


def _down_nesting(view: TimelineView) -> None:
    if view.state.selection is not None:
        nested = view.document.capture.nested_rows(view.state.selection)
        if len(nested):
            _select(view, int(nested[0]))


def _follow(view: TimelineView, *, back: bool) -> None:
    selected = view.state.selection
    if selected is None:
        return
    capture = view.document.capture
    rows = (capture.links_to(selected) if back else capture.links_from(selected))[0]
    inside = [int(row) for row in rows.tolist() if row >= 0]
    if inside:
        _select(view, inside[0])
    elif len(rows):
        view.status_changed.emit(tr("The other end of this link is not in the capture", "timeline"))
    else:
        view.status_changed.emit(
            tr("Nothing leads to this event", "timeline")
            if back
            else tr("This event leads to nothing", "timeline")
        )


def _highlight_name(view: TimelineView) -> None:
    if view.state.selection is None:
        return
    name = int(view.document.capture.events.name[view.state.selection])
    view.state.set_highlight(() if view.state.highlight == frozenset({name}) else (name,))


def _copy(view: TimelineView) -> None:
    if view.state.selection is not None:
        text = describe_event(view.document.capture, view.state.selection, view.state.origin_ns)
        QGuiApplication.clipboard().setText(text.plain())


def _step_found(direction: int) -> Action:
    def run(view: TimelineView) -> None:
        _select(view, view.search.step(direction))
        view.status_changed.emit(view.search.text())

    return run


def _mark(view: TimelineView) -> None:
    """At the pointer, else at the start of the selection, else in the middle of the view."""
    state = view.state
    if state.cursor_ns is not None:
        moment = state.cursor_ns
    elif state.selection is not None:
        moment = view.document.capture.event_span(state.selection)[0]
    else:
        moment = sum(state.view) // 2
    number = len(state.marks) + 1
    state.add_mark(moment, tr("Mark {n}", "timeline", n=number))


def _near_mark(view: TimelineView, direction: int) -> None:
    middle = sum(view.state.view) // 2
    times = [mark.time_ns for mark in view.state.marks]
    ahead = [time_ns for time_ns in times if (time_ns - middle) * direction > 0]
    if ahead:
        view.scene.center_on(min(ahead) if direction > 0 else max(ahead))


def _remove_marks(view: TimelineView) -> None:
    view.state.set_marks(())


def _origin_at_pointer(view: TimelineView) -> None:
    moment = view.state.cursor_ns
    if moment is None and view.state.selection is not None:
        moment = view.document.capture.event_span(view.state.selection)[0]
    if moment is not None:
        view.state.set_origin(moment)


EVENT_COMMANDS: tuple[Command, ...] = (
    timeline_command("event.next", "Next Event on the Lane", "Navigate", _next, (".",), group="event"),
    timeline_command(
        "event.previous", "Previous Event on the Lane", "Navigate", _previous, (",",), group="event"
    ),
    timeline_command(
        "event.up",
        "Enclosing Event",
        "Navigate",
        _up_nesting,
        ("Alt+Up",),
        enabled=has_selection,
        group="event",
    ),
    timeline_command(
        "event.down",
        "First Nested Event",
        "Navigate",
        _down_nesting,
        ("Alt+Down",),
        enabled=has_selection,
        group="event",
    ),
    timeline_command(
        "event.frame",
        "Zoom to This Event",
        "Navigate",
        lambda view: view.scene.frame_event(view.state.selection or 0),
        ("Return", "Enter"),
        enabled=has_selection,
        group="event",
    ),
    timeline_command(
        "link.back",
        "Follow the Link Back",
        "Navigate",
        lambda view: _follow(view, back=True),
        ("[",),
        enabled=has_selection,
        group="link",
    ),
    timeline_command(
        "link.forward",
        "Follow the Link Forward",
        "Navigate",
        lambda view: _follow(view, back=False),
        ("]",),
        enabled=has_selection,
        group="link",
    ),
    timeline_command(
        "search.next",
        "Next Found Event",
        "Navigate",
        _step_found(1),
        ("Ctrl+G", "F3", "N"),
        enabled=has_found,
        group="search",
    ),
    timeline_command(
        "search.previous",
        "Previous Found Event",
        "Navigate",
        _step_found(-1),
        ("Ctrl+Shift+G", "Shift+F3", "Shift+N"),
        enabled=has_found,
        group="search",
    ),
    timeline_command("mark.set", "Set a Mark", "Navigate", _mark, ("M",), group="mark"),
    timeline_command(
        "mark.next",
        "Next Mark",
        "Navigate",
        lambda view: _near_mark(view, 1),
        ("Ctrl+.",),
        enabled=lambda view: bool(view.state.marks),
        group="mark",
    ),
    timeline_command(
        "mark.previous",
        "Previous Mark",
        "Navigate",
        lambda view: _near_mark(view, -1),
        ("Ctrl+M",),
        enabled=lambda view: bool(view.state.marks),
        group="mark",
    ),
    timeline_command(
        "mark.remove_all",
        "Remove All Marks",
        "Navigate",
        _remove_marks,
        enabled=lambda view: bool(view.state.marks),
        group="mark",
    ),
    timeline_command(
        "mark.origin", "Count Times from the Pointer", "Navigate", _origin_at_pointer, ("O",), group="mark"
    ),
    timeline_command(
        "mark.origin_start",
        "Count Times from the Start",
        "Navigate",
        lambda view: view.state.set_origin(None),
        group="mark",
    ),
    timeline_command(
        "event.highlight_name",
        "Highlight All of This Name",
        "Analyze",
        _highlight_name,
        ("Ctrl+H",),
        enabled=has_selection,
        group="select",
    ),
    timeline_command(
        "event.copy", "Copy the Event", "Analyze", _copy, ("Ctrl+C",), enabled=has_selection, group="select"
    ),
)
