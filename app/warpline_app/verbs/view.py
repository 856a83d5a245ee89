"""Verbs about what is shown: zoom, pan, range, filter, layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import Command
from warpline_app.verbs.questions import ask_text
from warpline_app.verbs.tools import Action, has_range, has_selection, timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView

STEP = 1.25
FAST_PAN = 0.8


def _zoom(factor: float) -> Action:
    return lambda view: view.scene.zoom(factor, view.anchor_px())


def _pan(share: float) -> Action:
    return lambda view: view.scene.pan(round(view.scene.width_px * share), ratio=view.devicePixelRatioF())


def _frame_selection(view: TimelineView) -> None:
    """The selected event, then the selected range, and all of it when that is shown already."""
    state, scene = view.state, view.scene
    before = state.view
    if state.selection is not None:
        scene.frame_event(state.selection)
    elif state.range_selection is not None:
        scene.show_range(*state.range_selection)
    else:
        state.show_all()
    if state.view == before:
        state.show_all()


def _zoom_range(view: TimelineView) -> None:
    if view.state.range_selection is not None:
        view.state.set_view(*view.state.range_selection)


def _range_of_selection(view: TimelineView) -> None:
    if view.state.selection is not None:
        view.state.select_range(*view.document.capture.event_span(view.state.selection))


def _range_of_view(view: TimelineView) -> None:
    view.state.select_range(*view.state.view)


def _one_nanosecond(view: TimelineView) -> None:
    start, stop = view.state.view
    x = view.anchor_px()
    moment = (start + stop) // 2 if x is None else view.scene.scale.to_ns(x)
    view.state.set_view(moment, moment + 1)


def _page(direction: int) -> Action:
    def run(view: TimelineView) -> None:
        page = view.scene.height_px - view.scene.layout.pinned_height
        view.scene.scroll_to(view.scene.scroll_px + direction * max(1, page * 9 // 10))

    return run


def _arrows(view: TimelineView) -> None:
    order = ("selection", "all", "off")
    view.state.set_arrows(order[(order.index(view.state.arrows) + 1) % len(order)])


def _filter_names(view: TimelineView) -> None:
    text = ask_text(
        view,
        tr("Filter events", "timeline"),
        tr("Dim events whose name does not contain (or match /regex/):", "timeline"),
        view.state.filter.names,
    )
    if text is not None:
        is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        view.state.change_filter(names=text[1:-1] if is_regex else text, regex=is_regex)


VIEW_COMMANDS: tuple[Command, ...] = (
    timeline_command(
        "view.zoom_in", "Zoom In", "View", _zoom(1 / STEP), ("W", "Up"), held=True, group="zoom"
    ),
    timeline_command(
        "view.zoom_out", "Zoom Out", "View", _zoom(STEP), ("S", "Down"), held=True, group="zoom"
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
        "view.zoom_range", "Zoom to the Range", "View", _zoom_range, ("Z",), enabled=has_range, group="zoom"
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
        lambda view: view.state.show_all(),
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
        lambda view: view.state.undo(),
        ("Backspace", "Ctrl+Z"),
        enabled=lambda view: view.state.can_undo,
        group="undo",
    ),
    timeline_command(
        "view.redo",
        "Redo Zoom, Filter or Hiding",
        "View",
        lambda view: view.state.redo(),
        ("Shift+Backspace", "Ctrl+Shift+Z"),
        enabled=lambda view: view.state.can_redo,
        group="undo",
    ),
    timeline_command(
        "view.arrows", "Arrows: Selection, All in View, Off", "View", _arrows, ("L",), group="links"
    ),
    timeline_command(
        "navigate.left", "Pan Left", "Navigate", _pan(-0.25), ("A", "Left"), held=True, group="pan"
    ),
    timeline_command(
        "navigate.right", "Pan Right", "Navigate", _pan(0.25), ("D", "Right"), held=True, group="pan"
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
        lambda view: view.clear_filter(),
        enabled=lambda view: not view.state.filter.is_empty,
        group="filter",
    ),
    timeline_command(
        "view.range_of_selection",
        "Select the Event's Range",
        "Analyze",
        _range_of_selection,
        ("R",),
        enabled=has_selection,
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
        lambda view: view.state.clear(),
        ("Esc",),
        group="select",
        hint="The range, then the row, the event, the highlight, the filter",
    ),
)
