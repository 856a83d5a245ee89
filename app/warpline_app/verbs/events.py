"""Commands on events, links and search results.

The timeline's model is imported inside functions: the window appears before it is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from warpline.i18n import tr
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.timeline_command import (
    A_FIND,
    A_SELECTION,
    Action,
    if_timeline,
    timeline_command,
)

if TYPE_CHECKING:
    from warpline.model.frames import StackFrame
    from warpline_app.timeline.widgets.navigator import Navigator


def _select(nav: Navigator, row: int | None) -> None:
    if row is not None and row >= 0:
        nav.go_to(row)


def _step(nav: Navigator, direction: int) -> None:
    """Go to the next (1) or previous (-1) event.

    That is the next instance of a lit finding, else the next event with a highlighted name, else the next event in the
    lane.
    """
    from warpline_app.timeline.model.events_of_names import neighbour, place_among

    if nav.state.lit is not None:
        _step_lit(nav, direction)
        return
    capture, selected, names = nav.document.capture, nav.state.selection, nav.state.highlight
    if names and names == frozenset(nav.search.result.names.tolist()):
        _select(nav, nav.search.step(direction))
    elif names and (selected is None or int(capture.events.name[selected]) in names):
        row = neighbour(capture, names, selected, direction, nav.state.view[0])
        _select(nav, row)
        if row is not None:
            place, count = place_among(capture, names, row)
            nav.tell(tr("{place:,} of {count:,}", "timeline", place=place, count=count))
    elif selected is None:
        _select(nav, nav.first_event_in_view())
    else:
        _select(nav, capture.next_event(selected) if direction > 0 else capture.previous_event(selected))


def _step_lit(nav: Navigator, direction: int) -> None:
    """Go to another instance of the lit finding."""
    from warpline_app.state.lit_walk import step_lit

    lit = step_lit(nav.state, direction)
    if lit is None:
        nav.tell(tr("This finding has no instances to step through", "timeline"))
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
            tr("No link leads to this event", "timeline")
            if back
            else tr("No link starts at this event", "timeline")
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
    """The source line where the selected event happened, from its stack."""
    from warpline.analysis.structure.wait_story import line_of
    from warpline.model.frames import parse_frame

    if nav.state.selection is None:
        return None
    capture, row = nav.document.capture, nav.state.selection
    table = capture.kinds.get(capture.kind_of_code.get(int(capture.events.kind[row]), ""))
    frame = line_of(capture, table.at(row)) if table is not None else None
    if frame is None or not frame.file:
        # Python calls traced by a framework are named after their source line.
        frame = parse_frame(capture.strings[int(capture.events.name[row])])
    return frame if frame.file else None


_A_LINE = Need(
    if_timeline(lambda nav: _frame_of_selection(nav) is not None),
    "This event has no stack with a source line",
)

_A_PART = Need(
    if_timeline(lambda nav: nav.state.whole_ns is not None),
    "Open a part of a capture: a range exported as .h5",
)


def _copy(nav: Navigator) -> None:
    from warpline_app.timeline.model.event_text import describe_event

    if nav.state.selection is not None:
        text = describe_event(nav.document.capture, nav.state.selection, nav.state.origin_ns)
        QGuiApplication.clipboard().setText(text.plain())


def _step_result(direction: int) -> Action:
    return lambda nav: _select(nav, nav.search.step(direction))


def _origin_at_pointer(nav: Navigator) -> None:
    moment = nav.state.cursor_ns
    if moment is None and nav.state.selection is not None:
        moment = nav.document.capture.event_span(nav.state.selection)[0]
    if moment is not None:
        nav.state.set_origin(moment)


def _event_command(
    command_id: str,
    title: str,
    category: str,
    action: Action,
    keys: tuple[str, ...] = (),
    *,
    needs: tuple[Need, ...] = (),
    group: str,
    hint: str = "",
) -> WindowCommand:
    """A command on the selected event."""
    return timeline_command(
        command_id, title, category, action, keys, needs=(A_SELECTION, *needs), group=group, hint=hint
    )


EVENT_COMMANDS: tuple[WindowCommand, ...] = (
    timeline_command(
        "event.next", "Next event in lane", "Navigate", lambda nav: _step(nav, 1), (".",), group="event"
    ),
    timeline_command(
        "event.previous",
        "Previous event in lane",
        "Navigate",
        lambda nav: _step(nav, -1),
        (",",),
        group="event",
    ),
    _event_command("event.up", "Go to parent event", "Navigate", _up_nesting, ("Alt+Up",), group="event"),
    _event_command(
        "event.down", "Go to first child event", "Navigate", _down_nesting, ("Alt+Down",), group="event"
    ),
    _event_command(
        "event.frame",
        "Zoom to selected event",
        "Navigate",
        lambda nav: nav.frame_event(nav.state.selection or 0),
        ("Return", "Enter"),
        group="event",
    ),
    _event_command(
        "link.back", "Follow link back", "Navigate", lambda nav: _follow(nav, back=True), ("[",), group="link"
    ),
    _event_command(
        "link.forward",
        "Follow link forward",
        "Navigate",
        lambda nav: _follow(nav, back=False),
        ("]",),
        group="link",
    ),
    timeline_command(
        "search.next",
        "Next search result",
        "Navigate",
        _step_result(1),
        ("Ctrl+G", "F3", "N"),
        needs=(A_FIND,),
        group="search",
    ),
    timeline_command(
        "search.previous",
        "Previous search result",
        "Navigate",
        _step_result(-1),
        ("Ctrl+Shift+G", "Shift+F3", "Shift+N"),
        needs=(A_FIND,),
        group="search",
    ),
    timeline_command(
        "mark.origin", "Set time origin at pointer", "Navigate", _origin_at_pointer, ("O",), group="mark"
    ),
    timeline_command(
        "mark.origin_start",
        "Reset time origin",
        "Navigate",
        lambda nav: nav.state.set_origin(None),
        group="mark",
    ),
    timeline_command(
        "mark.origin_whole",
        "Show times as in the whole capture",
        "Navigate",
        lambda nav: nav.state.set_origin(nav.state.whole_ns),
        needs=(_A_PART,),
        group="mark",
        hint="Times in an exported part count from the start of the capture that it was exported from",
    ),
    _event_command(
        "event.highlight_name",
        "Highlight all with this name",
        "Analyze",
        _highlight_name,
        ("Ctrl+H",),
        group="select",
    ),
    _event_command(
        "event.source",
        "Show source line",
        "Analyze",
        _source,
        ("Ctrl+U",),
        needs=(_A_LINE,),
        group="select",
        hint="The source line where the selected event ran or waited",
    ),
    _event_command("event.copy", "Copy event", "Analyze", _copy, ("Ctrl+C",), group="select"),
)
