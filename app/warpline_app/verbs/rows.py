"""Commands on rows: pin, hide, expand, reorder, resize, filter.

The timeline's model is imported inside functions: the window appears before it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warpline.i18n import english, tr, translated
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.timeline_command import A_ROW, Test, if_timeline, timeline_command

if TYPE_CHECKING:
    from warpline_app.timeline.model.row import TimelineRow
    from warpline_app.timeline.widgets.navigator import Navigator


def _hide(nav: Navigator, row: TimelineRow) -> None:
    nav.state.set_hidden({*nav.state.hidden, row.key})


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
    change = {child.key: is_open for child in row.walk() if child.is_foldable}
    nav.state.set_all_expanded({**nav.state.expanded, **change})


def _expand_all(nav: Navigator, is_open: bool) -> None:
    change = {row.key: is_open for row in nav.tree.root.walk() if row.key and row.is_foldable}
    nav.state.set_all_expanded({**nav.state.expanded, **change})


def _resize(by: int) -> Callable[[Navigator, TimelineRow], None]:
    def run(nav: Navigator, row: TimelineRow) -> None:
        from warpline_app.timeline.model.layout import MAX_LANE_PX, MIN_LANE_PX, line_height

        height = line_height(row, nav.state.heights) + by
        nav.state.set_height(row.key, min(max(height, MIN_LANE_PX), MAX_LANE_PX))

    return run


def _move(direction: int) -> Callable[[Navigator, TimelineRow], None]:
    def run(nav: Navigator, row: TimelineRow) -> None:
        parent = row.parent
        if parent is None:
            return
        position = {key: index for index, key in enumerate(nav.state.order.get(parent.key, ()))}
        children = sorted(parent.children, key=lambda child: position.get(child.key, len(position)))
        keys = [child.key for child in children]
        index = keys.index(row.key)
        keys.insert(min(max(index + direction, 0), len(keys) - 1), keys.pop(index))
        nav.state.set_order(parent.key, keys)

    return run


def _reset_order(nav: Navigator, row: TimelineRow) -> None:
    for candidate in (row, row.parent):
        if candidate is not None:
            nav.state.set_order(candidate.key, None)


def _row_command(
    command_id: str,
    title: str,
    action: Callable[[Navigator, TimelineRow], None],
    keys: tuple[str, ...] = (),
    *,
    group: str,
    in_menu: bool = True,
    checked: Test | None = None,
    hint: str = "",
) -> WindowCommand:
    """A View menu command that acts on the focus row."""

    def run(nav: Navigator) -> None:
        row = nav.focus_row()
        if row is not None:
            action(nav, row)

    return timeline_command(
        command_id,
        title,
        "View",
        run,
        keys,
        needs=(A_ROW,),
        group=group,
        in_menu=in_menu,
        checked=checked,
        hint=hint,
    )


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
        "row.next",
        "Next row",
        "Navigate",
        lambda nav: nav.step_row(1),
        ("Ctrl+Down", "J"),
        group="row",
        in_menu=False,
    ),
    timeline_command(
        "row.previous",
        "Previous row",
        "Navigate",
        lambda nav: nav.step_row(-1),
        ("Ctrl+Up", "K"),
        group="row",
        in_menu=False,
    ),
    _row_command(
        "row.toggle", "Expand or collapse row", lambda nav, row: nav.toggle(row), ("Space",), group="rows"
    ),
    _row_command(
        "row.expand_below",
        "Expand all below",
        lambda nav, row: _set_below(nav, row, True),
        group="rows",
        in_menu=False,
    ),
    _row_command(
        "row.collapse_below",
        "Collapse all below",
        lambda nav, row: _set_below(nav, row, False),
        group="rows",
        in_menu=False,
    ),
    timeline_command(
        "row.expand_all",
        "Expand all rows",
        "View",
        lambda nav: _expand_all(nav, True),
        ("Ctrl+Shift+E",),
        group="rows",
    ),
    timeline_command(
        "row.collapse_all",
        "Collapse all rows",
        "View",
        lambda nav: _expand_all(nav, False),
        ("Ctrl+Shift+C",),
        group="rows",
    ),
    _row_command(
        "row.pin",
        "Pin or unpin row",
        lambda nav, row: nav.state.toggle_pin(row.key),
        ("P",),
        checked=lambda nav: (row := nav.focus_row()) is not None and row.key in nav.state.pins,
        group="rows",
    ),
    _row_command("row.hide", "Hide row", _hide, ("H",), group="rows"),
    timeline_command(
        "row.show_hidden",
        "Show hidden rows",
        "View",
        lambda nav: nav.state.set_hidden(()),
        ("Shift+H",),
        needs=(Need(if_timeline(lambda nav: bool(nav.state.hidden)), "No row is hidden"),),
        group="rows",
    ),
    _row_command(
        "row.select",
        "Limit panels to this row",
        _select,
        ("Shift+Return",),
        group="filter",
        hint="Panels count only this row and the rows below it; run it again to count everything",
    ),
    _row_command("row.only", "Show only this row", _only, group="filter"),
    _row_command(
        "row.only_thread",
        "Show only this thread",
        _only_owner("thread", english("This row is not part of a thread")),
        group="filter",
    ),
    _row_command(
        "row.only_process",
        "Show only this process",
        _only_owner("process", english("This row is not part of a process")),
        group="filter",
    ),
    _row_command(
        "row.only_stream",
        "Show only this stream",
        _only_owner("stream", english("This row is not part of a stream")),
        group="filter",
    ),
    timeline_command(
        "row.show_all",
        "Show all rows",
        "View",
        lambda nav: nav.state.change_filter(only=(), rows=""),
        needs=(Need(if_timeline(_leaves_rows_out), "No row is filtered out"),),
        group="filter",
    ),
    timeline_command("row.filter", "Filter rows…", "View", _filter_rows, ("Ctrl+Shift+R",), group="filter"),
    _row_command("row.taller", "Increase row height", _resize(4), ("Ctrl+]",), group="height", in_menu=False),
    _row_command(
        "row.flatter", "Decrease row height", _resize(-4), ("Ctrl+[",), group="height", in_menu=False
    ),
    _row_command(
        "row.usual_height",
        "Reset row height",
        lambda nav, row: nav.state.set_height(row.key, None),
        group="height",
        in_menu=False,
    ),
    _row_command("row.move_up", "Move row up", _move(-1), ("Ctrl+Shift+Up",), group="height", in_menu=False),
    _row_command(
        "row.move_down", "Move row down", _move(1), ("Ctrl+Shift+Down",), group="height", in_menu=False
    ),
    _row_command("row.natural_order", "Reset row order", _reset_order, group="height", in_menu=False),
)
