"""Verbs about rows: pin, hide, open, order, height, and which are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline_app.commands.command import Command
from warpline_app.timeline.model.layout import MAX_LANE_PX, MIN_LANE_PX, line_height
from warpline_app.timeline.model.rows import Row
from warpline_app.verbs.questions import ask_text
from warpline_app.verbs.tools import Action, has_row, timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView


def _with_row(action: Callable[[TimelineView, Row], None]) -> Action:
    def run(view: TimelineView) -> None:
        row = view.focus_row()
        if row is not None:
            action(view, row)

    return run


def _hide(view: TimelineView, row: Row) -> None:
    view.state.hide({*view.state.hidden, row.key})


def _select(view: TimelineView, row: Row) -> None:
    view.state.select_track(None if view.state.track_selection == row.key else row.key)


def _only(view: TimelineView, row: Row) -> None:
    view.state.change_filter(only=(row.key,))


def _only_owner(role: str) -> Callable[[TimelineView, Row], None]:
    def run(view: TimelineView, row: Row) -> None:
        for candidate in (row, *row.ancestors()):
            if candidate.role == role:
                view.state.change_filter(only=(candidate.key,))
                return
        view.status_changed.emit(tr("This row belongs to no {what}", "timeline", what=tr(role, "timeline")))

    return run


def _set_below(view: TimelineView, row: Row, is_open: bool) -> None:
    if is_open:
        view.scene.tree.open(row)
    change = {below.key: is_open for below in row.walk() if below.is_foldable}
    view.state.set_all_expanded({**view.state.expanded, **change})


def _expand_all(view: TimelineView, is_open: bool) -> None:
    change = {row.key: is_open for row in view.scene.tree.root.walk() if row.key and row.is_foldable}
    view.state.set_all_expanded({**view.state.expanded, **change})


def _taller(by: int) -> Callable[[TimelineView, Row], None]:
    def run(view: TimelineView, row: Row) -> None:
        height = line_height(row, view.state.heights) + by
        view.state.set_height(row.key, min(max(height, MIN_LANE_PX), MAX_LANE_PX))

    return run


def _usual_height(view: TimelineView, row: Row) -> None:
    view.state.set_height(row.key, None)


def _move(direction: int) -> Callable[[TimelineView, Row], None]:
    def run(view: TimelineView, row: Row) -> None:
        parent = row.parent
        if parent is None:
            return
        wish = {key: index for index, key in enumerate(view.state.order.get(parent.key, ()))}
        keys = [
            child.key for child in sorted(parent.children, key=lambda child: wish.get(child.key, len(wish)))
        ]
        at = keys.index(row.key)
        to = min(max(at + direction, 0), len(keys) - 1)
        keys.insert(to, keys.pop(at))
        view.state.set_order(parent.key, keys)

    return run


def _natural_order(view: TimelineView, row: Row) -> None:
    for candidate in (row, row.parent):
        if candidate is not None:
            view.state.set_order(candidate.key, None)


def _step_row(direction: int) -> Action:
    def run(view: TimelineView) -> None:
        rows = view.scene.layout.rows
        if not rows:
            return
        keys = [placed.row.key for placed in rows]
        at = keys.index(view.scene.focus_key) if view.scene.focus_key in keys else -direction
        at = min(max(at + direction, 0), len(keys) - 1) if view.scene.focus_key in keys else 0
        view.scene.focus_key = keys[at]
        view.scene.reveal_row(keys[at])
        view.header.update()

    return run


def _filter_rows(view: TimelineView) -> None:
    text = ask_text(
        view,
        tr("Filter rows", "timeline"),
        tr("Show rows whose title contains (or /regex/):", "timeline"),
        view.state.filter.rows,
    )
    if text is not None:
        is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        view.state.change_filter(rows=text[1:-1] if is_regex else text, regex=is_regex)


ROW_COMMANDS: tuple[Command, ...] = (
    timeline_command(
        "row.next", "Next Row", "Navigate", _step_row(1), ("Ctrl+Down", "J"), group="row", in_menu=False
    ),
    timeline_command(
        "row.previous",
        "Previous Row",
        "Navigate",
        _step_row(-1),
        ("Ctrl+Up", "K"),
        group="row",
        in_menu=False,
    ),
    timeline_command(
        "row.toggle",
        "Open or Close the Row",
        "View",
        _with_row(lambda view, row: view.scene.toggle(row)),
        ("Space",),
        enabled=has_row,
        group="rows",
    ),
    timeline_command(
        "row.expand_below",
        "Open Everything Below",
        "View",
        _with_row(lambda view, row: _set_below(view, row, True)),
        enabled=has_row,
        group="rows",
        in_menu=False,
    ),
    timeline_command(
        "row.collapse_below",
        "Close Everything Below",
        "View",
        _with_row(lambda view, row: _set_below(view, row, False)),
        enabled=has_row,
        group="rows",
        in_menu=False,
    ),
    timeline_command(
        "row.expand_all",
        "Open All Rows",
        "View",
        lambda view: _expand_all(view, True),
        ("Ctrl+Shift+E",),
        group="rows",
    ),
    timeline_command(
        "row.collapse_all",
        "Close All Rows",
        "View",
        lambda view: _expand_all(view, False),
        ("Ctrl+Shift+C",),
        group="rows",
    ),
    timeline_command(
        "row.pin",
        "Pin or Unpin the Row",
        "View",
        _with_row(lambda view, row: view.state.toggle_pin(row.key)),
        ("P",),
        enabled=has_row,
        checked=lambda view: (row := view.focus_row()) is not None and row.key in view.state.pins,
        group="rows",
    ),
    timeline_command(
        "row.hide", "Hide the Row", "View", _with_row(_hide), ("H",), enabled=has_row, group="rows"
    ),
    timeline_command(
        "row.show_hidden",
        "Show Hidden Rows",
        "View",
        lambda view: view.state.hide(()),
        ("Shift+H",),
        enabled=lambda view: bool(view.state.hidden),
        group="rows",
    ),
    timeline_command(
        "row.select",
        "Panels About This Row",
        "View",
        _with_row(_select),
        ("Shift+Return",),
        enabled=has_row,
        group="filter",
        hint="Numbers count only this row and what is below it; again: everything",
    ),
    timeline_command("row.only", "Only This Row", "View", _with_row(_only), enabled=has_row, group="filter"),
    timeline_command(
        "row.only_thread",
        "Only This Thread",
        "View",
        _with_row(_only_owner("thread")),
        enabled=has_row,
        group="filter",
    ),
    timeline_command(
        "row.only_process",
        "Only This Process",
        "View",
        _with_row(_only_owner("process")),
        enabled=has_row,
        group="filter",
    ),
    timeline_command(
        "row.only_stream",
        "Only This Stream",
        "View",
        _with_row(_only_owner("stream")),
        enabled=has_row,
        group="filter",
    ),
    timeline_command(
        "row.show_all",
        "Show All Rows",
        "View",
        lambda view: view.state.change_filter(only=(), rows=""),
        enabled=lambda view: bool(view.state.filter.only or view.state.filter.rows),
        group="filter",
    ),
    timeline_command("row.filter", "Filter Rows…", "View", _filter_rows, ("Ctrl+Shift+R",), group="filter"),
    timeline_command(
        "row.taller",
        "Taller Row",
        "View",
        _with_row(_taller(4)),
        ("Ctrl+]",),
        enabled=has_row,
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.flatter",
        "Flatter Row",
        "View",
        _with_row(_taller(-4)),
        ("Ctrl+[",),
        enabled=has_row,
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.usual_height",
        "Usual Height",
        "View",
        _with_row(_usual_height),
        enabled=has_row,
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.move_up",
        "Move the Row Up",
        "View",
        _with_row(_move(-1)),
        ("Ctrl+Shift+Up",),
        enabled=has_row,
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.move_down",
        "Move the Row Down",
        "View",
        _with_row(_move(1)),
        ("Ctrl+Shift+Down",),
        enabled=has_row,
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.natural_order",
        "Natural Order",
        "View",
        _with_row(_natural_order),
        enabled=has_row,
        group="height",
        in_menu=False,
    ),
)
