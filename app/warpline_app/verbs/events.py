"""Verbs about events, links, marks and what a search found.

The timeline's model is imported where a verb needs it: the window is on the screen before it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from warpline.i18n import tr
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.timeline_command import (
    A_FIND,
    A_MARK,
    A_SELECTION,
    Action,
    if_timeline,
    timeline_command,
)

if TYPE_CHECKING:
    from warpline.model.frames import StackFrame
    from warpline_app.commands.navigator import Navigator


def _select(nav: Navigator, row: int | None) -> None:
    if row is not None and row >= 0:
        nav.go_to(row)


def _next(nav: Navigator) -> None:
    _step(nav, 1)


def _previous(nav: Navigator) -> None:
    _step(nav, -1)


def _step(nav: Navigator, direction: int) -> None:
    """Along the lane; while a finding is lit up, from one of its instances to the next, while names are highlighted
    from one of their events.
    """
    from warpline_app.timeline.model.events_of_names import neighbour, place_among

    if nav.state.lit is not None:
        _step_lit(nav, direction)
        return
    capture, selected, names = nav.document.capture, nav.state.selection, nav.state.highlight
    if names and names == frozenset(nav.search.found.names.tolist()):
        _select(nav, nav.search.step(direction))
    elif names and (selected is None or int(capture.events.name[selected]) in names):
        found = neighbour(capture, names, selected, direction, nav.state.view[0])
        _select(nav, found)
        if found is not None:
            place, count = place_among(capture, names, found)
            nav.tell(tr("{place:,} of {count:,}", "timeline", place=place, count=count))
    elif selected is None:
        _select(nav, nav.first_event_in_view())
    else:
        _select(nav, capture.next_event(selected) if direction > 0 else capture.previous_event(selected))


def _step_lit(nav: Navigator, direction: int) -> None:
    """To another instance of the finding that is lit up."""
    from warpline_app.state.lit_walk import step_lit

    lit = step_lit(nav.state, direction)
    if lit is None:
        nav.tell(tr("This finding has no instances that could be walked through", "timeline"))
    else:
        nav.tell(tr("{title}: {number:,} of {count:,}", title=lit.title, number=lit.at + 1, count=len(lit)))


def _up_nesting(nav: Navigator) -> None:
    if nav.state.selection is not None:
        _select(nav, nav.document.capture.parent_of_row(nav.state.selection))


def _down_nesting(nav: Navigator) -> None:
    if nav.state.selection is not None:
        nested = nav.document.capture.nested_rows(nav.state.selection)
        if len(nested):
            _select(nav, int(nested[0]))


def _follow(nav: Navigator, *, back: bool) -> None:
    selected = nav.state.selection
    if selected is None:
        return
    capture = nav.document.capture
    rows = (capture.links_to(selected) if back else capture.links_from(selected))[0]
    inside = [int(row) for row in rows.tolist() if row >= 0]
    if inside:
        _select(nav, inside[0])
    elif len(rows):
        nav.tell(tr("The other end of this link is not in the capture", "timeline"))
    else:
        nav.tell(
            tr("Nothing leads to this event", "timeline")
            if back
            else tr("This event leads to nothing", "timeline")
        )


def _highlight_name(nav: Navigator) -> None:
    if nav.state.selection is None:
        return
    name = int(nav.document.capture.events.name[nav.state.selection])
    nav.state.set_highlight(() if nav.state.highlight == frozenset({name}) else (name,))


def _source(nav: Navigator) -> None:
    frame = _frame_of_selection(nav)
    if frame is not None:
        nav.state.show_source(frame)


def _frame_of_selection(nav: Navigator) -> StackFrame | None:
    """The line of the program at which the selected event happened, as far as its stack tells."""
    from warpline.analysis.structure.wait_story import line_of
    from warpline.model.frames import parse_frame

    if nav.state.selection is None:
        return None
    capture, row = nav.document.capture, nav.state.selection
    table = capture.kinds.get(capture.kind_of_code.get(int(capture.events.kind[row]), ""))
    frame = line_of(capture, table.at(row)) if table is not None else None
    if frame is None or not frame.file:
        # Calls of Python that a framework traced are named by their line.
        frame = parse_frame(capture.strings[int(capture.events.name[row])])
    return frame if frame.file else None


_A_LINE = Need(
    if_timeline(lambda nav: _frame_of_selection(nav) is not None), "No stack of this event names a line"
)


def _copy(nav: Navigator) -> None:
    from warpline_app.timeline.model.event_text import describe_event

    if nav.state.selection is not None:
        text = describe_event(nav.document.capture, nav.state.selection, nav.state.origin_ns)
        QGuiApplication.clipboard().setText(text.plain())


def _step_found(direction: int) -> Action:
    # What was found and which of it this is stands beside the search box.
    return lambda nav: _select(nav, nav.search.step(direction))


def _mark(nav: Navigator) -> None:
    """At the pointer, else at the start of the selection, else in the middle of the nav."""
    state = nav.state
    if state.cursor_ns is not None:
        moment = state.cursor_ns
    elif state.selection is not None:
        moment = nav.document.capture.event_span(state.selection)[0]
    else:
        moment = sum(state.view) // 2
    number = len(state.marks) + 1
    state.add_mark(moment, tr("Mark {n}", "timeline", n=number))


def _near_mark(nav: Navigator, direction: int) -> None:
    middle = sum(nav.state.view) // 2
    times = [mark.time_ns for mark in nav.state.marks]
    ahead = [time_ns for time_ns in times if (time_ns - middle) * direction > 0]
    if ahead:
        nav.center_on(min(ahead) if direction > 0 else max(ahead))


def _remove_marks(nav: Navigator) -> None:
    nav.state.set_marks(())


def _origin_at_pointer(nav: Navigator) -> None:
    moment = nav.state.cursor_ns
    if moment is None and nav.state.selection is not None:
        moment = nav.document.capture.event_span(nav.state.selection)[0]
    if moment is not None:
        nav.state.set_origin(moment)


EVENT_COMMANDS: tuple[WindowCommand, ...] = (
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
        needs=(A_SELECTION,),
        group="event",
    ),
    timeline_command(
        "event.down",
        "First Nested Event",
        "Navigate",
        _down_nesting,
        ("Alt+Down",),
        needs=(A_SELECTION,),
        group="event",
    ),
    timeline_command(
        "event.frame",
        "Zoom to This Event",
        "Navigate",
        lambda nav: nav.frame_event(nav.state.selection or 0),
        ("Return", "Enter"),
        needs=(A_SELECTION,),
        group="event",
    ),
    timeline_command(
        "link.back",
        "Follow the Link Back",
        "Navigate",
        lambda nav: _follow(nav, back=True),
        ("[",),
        needs=(A_SELECTION,),
        group="link",
    ),
    timeline_command(
        "link.forward",
        "Follow the Link Forward",
        "Navigate",
        lambda nav: _follow(nav, back=False),
        ("]",),
        needs=(A_SELECTION,),
        group="link",
    ),
    timeline_command(
        "search.next",
        "Next Found Event",
        "Navigate",
        _step_found(1),
        ("Ctrl+G", "F3", "N"),
        needs=(A_FIND,),
        group="search",
    ),
    timeline_command(
        "search.previous",
        "Previous Found Event",
        "Navigate",
        _step_found(-1),
        ("Ctrl+Shift+G", "Shift+F3", "Shift+N"),
        needs=(A_FIND,),
        group="search",
    ),
    timeline_command("mark.set", "Set a Mark", "Navigate", _mark, ("M",), group="mark"),
    timeline_command(
        "mark.next",
        "Next Mark",
        "Navigate",
        lambda nav: _near_mark(nav, 1),
        ("Ctrl+.",),
        needs=(A_MARK,),
        group="mark",
    ),
    timeline_command(
        "mark.previous",
        "Previous Mark",
        "Navigate",
        lambda nav: _near_mark(nav, -1),
        ("Ctrl+M",),
        needs=(A_MARK,),
        group="mark",
    ),
    timeline_command(
        "mark.remove_all",
        "Remove All Marks",
        "Navigate",
        _remove_marks,
        needs=(A_MARK,),
        group="mark",
    ),
    timeline_command(
        "mark.origin", "Count Times from the Pointer", "Navigate", _origin_at_pointer, ("O",), group="mark"
    ),
    timeline_command(
        "mark.origin_start",
        "Count Times from the Start",
        "Navigate",
        lambda nav: nav.state.set_origin(None),
        group="mark",
    ),
    timeline_command(
        "event.highlight_name",
        "Highlight All of This Name",
        "Analyze",
        _highlight_name,
        ("Ctrl+H",),
        needs=(A_SELECTION,),
        group="select",
    ),
    timeline_command(
        "event.source",
        "Show the Source Line",
        "Analyze",
        _source,
        ("Ctrl+U",),
        needs=(A_SELECTION, _A_LINE),
        group="select",
        hint="The line of the program on which the selected event ran or waited",
    ),
    timeline_command(
        "event.copy", "Copy the Event", "Analyze", _copy, ("Ctrl+C",), needs=(A_SELECTION,), group="select"
    ),
)
