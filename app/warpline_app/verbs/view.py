"""Verbs about what is shown: zoom, pan, range, filter, layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.state.timeline_state import Filter
from warpline_app.verbs.timeline_command import A_RANGE, A_SELECTION, Action, if_timeline, timeline_command

if TYPE_CHECKING:
    from warpline_app.commands.navigator import Navigator

STEP = 1.25
FAST_PAN = 0.8


def _zoom(factor: float) -> Action:
    return lambda nav: nav.zoom(factor)


def _pan(share: float) -> Action:
    return lambda nav: nav.pan(share)


def _frame_selection(nav: Navigator) -> None:
    """The selected event, then the selected range, and all of it when that is shown already."""
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


def _range_of_view(nav: Navigator) -> None:
    nav.state.select_range(*nav.state.view)


def _one_nanosecond(nav: Navigator) -> None:
    moment = nav.anchor_ns()
    nav.state.set_view(moment, moment + 1)


def _page(direction: int) -> Action:
    return lambda nav: nav.turn_page(direction)


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


VIEW_COMMANDS: tuple[WindowCommand, ...] = (
    timeline_command(
        "view.zoom_in", "Zoom In", "View", _zoom(1 / STEP), ("W", "Up"), motion="in", group="zoom"
    ),
    timeline_command(
        "view.zoom_out", "Zoom Out", "View", _zoom(STEP), ("S", "Down"), motion="out", group="zoom"
    ),
    timeline_command(
        "view.zoom_in_step",
        "Zoom In a Step",
        "View",
        _zoom(1 / STEP),
        ("Ctrl++", "Ctrl+=", "+", "="),
        group="zoom",
        in_menu=False,
    ),
    timeline_command(
        "view.zoom_out_step",
        "Zoom Out a Step",
        "View",
        _zoom(STEP),
        ("Ctrl+-", "-"),
        group="zoom",
        in_menu=False,
    ),
    timeline_command(
        "view.zoom_range", "Zoom to the Range", "View", _zoom_range, ("Z",), needs=(A_RANGE,), group="zoom"
    ),
    timeline_command(
        "view.frame",
        "Frame the Selection",
        "View",
        _frame_selection,
        ("F",),
        group="zoom",
        hint="The event, else the range; again for everything",
    ),
    timeline_command(
        "view.fit",
        "Show Everything",
        "View",
        lambda nav: nav.state.show_all(),
        ("Home", "Ctrl+0"),
        group="zoom",
    ),
    timeline_command(
        "view.one_ns", "Zoom to One Nanosecond", "View", _one_nanosecond, group="zoom", in_menu=False
    ),
    timeline_command(
        "view.undo",
        "Undo Zoom, Filter or Hiding",
        "View",
        lambda nav: nav.state.undo(),
        ("Backspace", "Ctrl+Z"),
        needs=(Need(if_timeline(lambda nav: nav.state.can_undo), "There is nothing to take back"),),
        group="undo",
    ),
    timeline_command(
        "view.redo",
        "Redo Zoom, Filter or Hiding",
        "View",
        lambda nav: nav.state.redo(),
        ("Shift+Backspace", "Ctrl+Shift+Z"),
        needs=(Need(if_timeline(lambda nav: nav.state.can_redo), "Nothing was taken back"),),
        group="undo",
    ),
    timeline_command(
        "view.arrows", "Arrows: Selection, All in View, Off", "View", _arrows, ("L",), group="links"
    ),
    timeline_command(
        "navigate.left", "Pan Left", "Navigate", _pan(-0.25), ("A", "Left"), motion="left", group="pan"
    ),
    timeline_command(
        "navigate.right", "Pan Right", "Navigate", _pan(0.25), ("D", "Right"), motion="right", group="pan"
    ),
    timeline_command(
        "navigate.page_left",
        "Pan a Screen Left",
        "Navigate",
        _pan(-FAST_PAN),
        ("Ctrl+Left",),
        group="pan",
        in_menu=False,
    ),
    timeline_command(
        "navigate.page_right",
        "Pan a Screen Right",
        "Navigate",
        _pan(FAST_PAN),
        ("Ctrl+Right",),
        group="pan",
        in_menu=False,
    ),
    timeline_command(
        "navigate.page_up", "Scroll Rows Up", "Navigate", _page(-1), ("PgUp",), group="pan", in_menu=False
    ),
    timeline_command(
        "navigate.page_down",
        "Scroll Rows Down",
        "Navigate",
        _page(1),
        ("PgDown",),
        group="pan",
        in_menu=False,
    ),
    timeline_command(
        "view.filter_names",
        "Filter Events by Name…",
        "Analyze",
        _filter_names,
        ("Ctrl+Shift+F",),
        group="filter",
    ),
    timeline_command(
        "view.clear_filter",
        "Clear the Filter",
        "Analyze",
        lambda nav: nav.state.set_filter(Filter()),
        needs=(Need(if_timeline(lambda nav: not nav.state.filter.is_empty), "Nothing is filtered"),),
        group="filter",
    ),
    timeline_command(
        "view.range_of_selection",
        "Select the Event's Range",
        "Analyze",
        _range_of_selection,
        ("R",),
        needs=(A_SELECTION,),
        group="select",
    ),
    timeline_command(
        "view.range_of_view",
        "Select the Visible Range",
        "Analyze",
        _range_of_view,
        ("Ctrl+A",),
        group="select",
    ),
    timeline_command(
        "view.clear",
        "Clear the Selection",
        "Analyze",
        lambda nav: nav.state.clear(),
        ("Esc",),
        group="select",
        hint="The range, then the row, the event, the highlight, the filter",
    ),
)
