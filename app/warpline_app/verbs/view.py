"""Commands on the view: zoom, pan, time range, filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.state.timeline_state import Filter
from warpline_app.verbs.timeline_command import A_RANGE, A_SELECTION, Action, if_timeline, timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.navigator import Navigator

STEP = 1.25
FAST_PAN = 0.8


def _zoom(factor: float) -> Action:
    return lambda nav: nav.zoom(factor)


def _pan(share: float) -> Action:
    return lambda nav: nav.pan(share)


def _frame_selection(nav: Navigator) -> None:
    """Show the selected event, else the selected range; everything when that is in view already."""
    state = nav.state
    before = state.view
    if state.selection is not None:
        nav.frame_event(state.selection)
    elif state.range_selection is not None:
        nav.show_range(*state.range_selection)
    else:
        state.show_all()
    if state.view == before:
        state.show_all()


def _zoom_range(nav: Navigator) -> None:
    if nav.state.range_selection is not None:
        nav.state.set_view(*nav.state.range_selection)


def _range_of_selection(nav: Navigator) -> None:
    if nav.state.selection is not None:
        nav.state.select_range(*nav.document.capture.event_span(nav.state.selection))


def _one_nanosecond(nav: Navigator) -> None:
    moment = nav.anchor_ns()
    nav.state.set_view(moment, moment + 1)


def _arrows(nav: Navigator) -> None:
    order = ("selection", "all", "off")
    nav.state.set_arrows(order[(order.index(nav.state.arrows) + 1) % len(order)])


def _filter_names(nav: Navigator) -> None:
    text = nav.ask_text(
        tr("Filter events", "timeline"),
        tr("Dim events whose name does not contain (or match /regex/):", "timeline"),
        nav.state.filter.names,
    )
    if text is not None:
        is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        nav.state.change_filter(names=text[1:-1] if is_regex else text, regex=is_regex)


def _pan_command(command_id: str, title: str, action: Action, key: str) -> WindowCommand:
    return timeline_command(command_id, title, "Navigate", action, (key,), group="pan", in_menu=False)


VIEW_COMMANDS: tuple[WindowCommand, ...] = (
    timeline_command(
        "view.zoom_in", "Zoom in", "View", _zoom(1 / STEP), ("W", "Up"), motion="in", group="zoom"
    ),
    timeline_command(
        "view.zoom_out", "Zoom out", "View", _zoom(STEP), ("S", "Down"), motion="out", group="zoom"
    ),
    timeline_command(
        "view.zoom_in_step",
        "Zoom in one step",
        "View",
        _zoom(1 / STEP),
        ("Ctrl++", "Ctrl+=", "+", "="),
        group="zoom",
        in_menu=False,
    ),
    timeline_command(
        "view.zoom_out_step",
        "Zoom out one step",
        "View",
        _zoom(STEP),
        ("Ctrl+-", "-"),
        group="zoom",
        in_menu=False,
    ),
    timeline_command(
        "view.zoom_range",
        "Zoom to selected range",
        "View",
        _zoom_range,
        ("Z",),
        needs=(A_RANGE,),
        group="zoom",
    ),
    timeline_command(
        "view.frame",
        "Frame selection",
        "View",
        _frame_selection,
        ("F",),
        group="zoom",
        hint="Zoom to the selected event or range; press again to see everything",
    ),
    timeline_command(
        "view.fit",
        "Zoom to fit",
        "View",
        lambda nav: nav.state.show_all(),
        ("Home", "Ctrl+0"),
        group="zoom",
        hint="Everything that happens, without empty time at the ends or a few events far away",
    ),
    timeline_command(
        "view.whole",
        "Show whole capture",
        "View",
        lambda nav: nav.state.show_whole(),
        ("Shift+Home",),
        group="zoom",
        hint="From the first to the last event, however far apart they are",
    ),
    timeline_command(
        "view.one_ns", "Zoom to one nanosecond", "View", _one_nanosecond, group="zoom", in_menu=False
    ),
    timeline_command(
        "view.undo",
        "Undo",
        "View",
        lambda nav: nav.state.undo(),
        ("Backspace", "Ctrl+Z"),
        needs=(Need(if_timeline(lambda nav: nav.state.can_undo), "Nothing to undo"),),
        group="undo",
        hint="Undoes zoom, filters, pins, marks, hidden rows, row order and row height",
        words="revert back",
        title_now=lambda nav: nav.state.undo_title,
    ),
    timeline_command(
        "view.redo",
        "Redo",
        "View",
        lambda nav: nav.state.redo(),
        ("Shift+Backspace", "Ctrl+Shift+Z"),
        needs=(Need(if_timeline(lambda nav: nav.state.can_redo), "Nothing to redo"),),
        group="undo",
        title_now=lambda nav: nav.state.redo_title,
    ),
    timeline_command(
        "view.arrows",
        "Cycle link arrows",
        "View",
        _arrows,
        ("L",),
        group="links",
        hint="Arrows for the selection, for all events in view, or off",
    ),
    timeline_command(
        "navigate.left", "Pan left", "Navigate", _pan(-0.25), ("A", "Left"), motion="left", group="pan"
    ),
    timeline_command(
        "navigate.right", "Pan right", "Navigate", _pan(0.25), ("D", "Right"), motion="right", group="pan"
    ),
    _pan_command("navigate.page_left", "Pan left one screen", _pan(-FAST_PAN), "Ctrl+Left"),
    _pan_command("navigate.page_right", "Pan right one screen", _pan(FAST_PAN), "Ctrl+Right"),
    _pan_command("navigate.page_up", "Scroll rows up", lambda nav: nav.turn_page(-1), "PgUp"),
    _pan_command("navigate.page_down", "Scroll rows down", lambda nav: nav.turn_page(1), "PgDown"),
    timeline_command(
        "view.filter_names",
        "Filter events by name…",
        "Analyze",
        _filter_names,
        ("Ctrl+Shift+F",),
        group="filter",
    ),
    timeline_command(
        "view.clear_filter",
        "Clear filter",
        "Analyze",
        lambda nav: nav.state.set_filter(Filter()),
        needs=(Need(if_timeline(lambda nav: not nav.state.filter.is_empty), "No filter is set"),),
        group="filter",
    ),
    timeline_command(
        "view.range_of_selection",
        "Select time range of event",
        "Analyze",
        _range_of_selection,
        ("R",),
        needs=(A_SELECTION,),
        group="select",
    ),
    timeline_command(
        "view.range_of_view",
        "Select visible time range",
        "Analyze",
        lambda nav: nav.state.select_range(*nav.state.view),
        ("Ctrl+A",),
        group="select",
    ),
    timeline_command(
        "view.clear",
        "Clear selection",
        "Analyze",
        lambda nav: nav.state.clear(),
        ("Esc",),
        group="select",
        hint="Clears the range, then the row, the event, the highlight and the filter",
    ),
)
