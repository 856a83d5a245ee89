"""Verbs about rows: pin, hide, open, order, height, and which are shown.

The timeline's model is imported where a verb needs it: the window is on the screen before it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warpline.i18n import english, tr, translated
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.timeline_command import A_ROW, Action, if_timeline, timeline_command

if TYPE_CHECKING:
    from warpline_app.commands.navigator import Navigator
    from warpline_app.timeline.model.row import TimelineRow


def _with_row(action: Callable[[Navigator, TimelineRow], None]) -> Action:
    def run(nav: Navigator) -> None:
        row = nav.focus_row()
        if row is not None:
            action(nav, row)

    return run


def _hide(nav: Navigator, row: TimelineRow) -> None:
    nav.state.hide({*nav.state.hidden, row.key})


def _select(nav: Navigator, row: TimelineRow) -> None:
    nav.state.select_track(None if nav.state.track_selection == row.key else row.key)


def _only(nav: Navigator, row: TimelineRow) -> None:
    nav.state.change_filter(only=(row.key,))


def _only_owner(role: str, refusal: str) -> Callable[[Navigator, TimelineRow], None]:
    def run(nav: Navigator, row: TimelineRow) -> None:
        for candidate in (row, *row.ancestors()):
            if candidate.role == role:
                nav.state.change_filter(only=(candidate.key,))
                return
        nav.tell(translated(refusal))

    return run


def _set_below(nav: Navigator, row: TimelineRow, is_open: bool) -> None:
    if is_open:
        nav.tree.open(row)
    change = {below.key: is_open for below in row.walk() if below.is_foldable}
    nav.state.set_all_expanded({**nav.state.expanded, **change})


def _expand_all(nav: Navigator, is_open: bool) -> None:
    change = {row.key: is_open for row in nav.tree.root.walk() if row.key and row.is_foldable}
    nav.state.set_all_expanded({**nav.state.expanded, **change})


def _taller(by: int) -> Callable[[Navigator, TimelineRow], None]:
    def run(nav: Navigator, row: TimelineRow) -> None:
        from warpline_app.timeline.model.layout import MAX_LANE_PX, MIN_LANE_PX, line_height

        height = line_height(row, nav.state.heights) + by
        nav.state.set_height(row.key, min(max(height, MIN_LANE_PX), MAX_LANE_PX))

    return run


def _usual_height(nav: Navigator, row: TimelineRow) -> None:
    nav.state.set_height(row.key, None)


def _move(direction: int) -> Callable[[Navigator, TimelineRow], None]:
    def run(nav: Navigator, row: TimelineRow) -> None:
        parent = row.parent
        if parent is None:
            return
        wish = {key: index for index, key in enumerate(nav.state.order.get(parent.key, ()))}
        keys = [
            child.key for child in sorted(parent.children, key=lambda child: wish.get(child.key, len(wish)))
        ]
        at = keys.index(row.key)
        to = min(max(at + direction, 0), len(keys) - 1)
        keys.insert(to, keys.pop(at))
        nav.state.set_order(parent.key, keys)

    return run


def _natural_order(nav: Navigator, row: TimelineRow) -> None:
    for candidate in (row, row.parent):
        if candidate is not None:
            nav.state.set_order(candidate.key, None)


def _step_row(direction: int) -> Action:
    return lambda nav: nav.step_row(direction)


def _leaves_rows_out(nav: Navigator) -> bool:
    return bool(nav.state.filter.only or nav.state.filter.rows)


def _filter_rows(nav: Navigator) -> None:
    text = nav.ask_text(
        tr("Filter rows", "timeline"),
        tr("Show rows whose title contains (or /regex/):", "timeline"),
        nav.state.filter.rows,
    )
    if text is not None:
        is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        nav.state.change_filter(rows=text[1:-1] if is_regex else text, regex=is_regex)


ROW_COMMANDS: tuple[WindowCommand, ...] = (
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
        _with_row(lambda nav, row: nav.toggle(row)),
        ("Space",),
        needs=(A_ROW,),
        group="rows",
    ),
    timeline_command(
        "row.expand_below",
        "Open Everything Below",
        "View",
        _with_row(lambda nav, row: _set_below(nav, row, True)),
        needs=(A_ROW,),
        group="rows",
        in_menu=False,
    ),
    timeline_command(
        "row.collapse_below",
        "Close Everything Below",
        "View",
        _with_row(lambda nav, row: _set_below(nav, row, False)),
        needs=(A_ROW,),
        group="rows",
        in_menu=False,
    ),
    timeline_command(
        "row.expand_all",
        "Open All Rows",
        "View",
        lambda nav: _expand_all(nav, True),
        ("Ctrl+Shift+E",),
        group="rows",
    ),
    timeline_command(
        "row.collapse_all",
        "Close All Rows",
        "View",
        lambda nav: _expand_all(nav, False),
        ("Ctrl+Shift+C",),
        group="rows",
    ),
    timeline_command(
        "row.pin",
        "Pin or Unpin the Row",
        "View",
        _with_row(lambda nav, row: nav.state.toggle_pin(row.key)),
        ("P",),
        needs=(A_ROW,),
        checked=lambda nav: (row := nav.focus_row()) is not None and row.key in nav.state.pins,
        group="rows",
    ),
    timeline_command(
        "row.hide", "Hide the Row", "View", _with_row(_hide), ("H",), needs=(A_ROW,), group="rows"
    ),
    timeline_command(
        "row.show_hidden",
        "Show Hidden Rows",
        "View",
        lambda nav: nav.state.hide(()),
        ("Shift+H",),
        needs=(Need(if_timeline(lambda nav: bool(nav.state.hidden)), "No row is hidden"),),
        group="rows",
    ),
    timeline_command(
        "row.select",
        "Panels About This Row",
        "View",
        _with_row(_select),
        ("Shift+Return",),
        needs=(A_ROW,),
        group="filter",
        hint="Numbers count only this row and what is below it; again: everything",
    ),
    timeline_command("row.only", "Only This Row", "View", _with_row(_only), needs=(A_ROW,), group="filter"),
    timeline_command(
        "row.only_thread",
        "Only This Thread",
        "View",
        _with_row(_only_owner("thread", english("This row belongs to no thread"))),
        needs=(A_ROW,),
        group="filter",
    ),
    timeline_command(
        "row.only_process",
        "Only This Process",
        "View",
        _with_row(_only_owner("process", english("This row belongs to no process"))),
        needs=(A_ROW,),
        group="filter",
    ),
    timeline_command(
        "row.only_stream",
        "Only This Stream",
        "View",
        _with_row(_only_owner("stream", english("This row belongs to no stream"))),
        needs=(A_ROW,),
        group="filter",
    ),
    timeline_command(
        "row.show_all",
        "Show All Rows",
        "View",
        lambda nav: nav.state.change_filter(only=(), rows=""),
        needs=(Need(if_timeline(_leaves_rows_out), "No row is filtered out"),),
        group="filter",
    ),
    timeline_command("row.filter", "Filter Rows…", "View", _filter_rows, ("Ctrl+Shift+R",), group="filter"),
    timeline_command(
        "row.taller",
        "Taller Row",
        "View",
        _with_row(_taller(4)),
        ("Ctrl+]",),
        needs=(A_ROW,),
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.flatter",
        "Flatter Row",
        "View",
        _with_row(_taller(-4)),
        ("Ctrl+[",),
        needs=(A_ROW,),
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.usual_height",
        "Usual Height",
        "View",
        _with_row(_usual_height),
        needs=(A_ROW,),
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.move_up",
        "Move the Row Up",
        "View",
        _with_row(_move(-1)),
        ("Ctrl+Shift+Up",),
        needs=(A_ROW,),
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.move_down",
        "Move the Row Down",
        "View",
        _with_row(_move(1)),
        ("Ctrl+Shift+Down",),
        needs=(A_ROW,),
        group="height",
        in_menu=False,
    ),
    timeline_command(
        "row.natural_order",
        "Natural Order",
        "View",
        _with_row(_natural_order),
        needs=(A_ROW,),
        group="height",
        in_menu=False,
    ),
)
