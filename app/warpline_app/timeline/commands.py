"""Every verb of the timeline. Menus, palette, help, keys and tests are made from this list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence

from warpline.i18n import tr
from warpline_app.commands import Command

from .event_text import describe_event
from .layout import MAX_LANE_PX, MIN_LANE_PX, line_height
from .rows import Content, Row

if TYPE_CHECKING:
    from .view import TimelineView

STEP = 1.25
FAST_PAN = 0.8

Action = Callable[["TimelineView"], None]
Test = Callable[["TimelineView"], bool]


def _on_view(action: Action) -> Callable[[Any], None]:
    def run(context: Any) -> None:
        if context.view is not None:
            action(context.view)

    return run


def _if_view(test: Test) -> Callable[[Any], bool]:
    return lambda context: context.view is not None and test(context.view)


def _always(_view: TimelineView) -> bool:
    return True


def _has_selection(view: TimelineView) -> bool:
    return view.state.selection is not None


def _has_range(view: TimelineView) -> bool:
    return view.state.range_selection is not None


def _has_row(view: TimelineView) -> bool:
    return view.focus_row() is not None


def _has_found(view: TimelineView) -> bool:
    return len(view.search.found.rows) > 0


def _command(
    command_id: str,
    title: str,
    category: str,
    action: Action,
    keys: tuple[str, ...] = (),
    *,
    enabled: Test = _always,
    checked: Test | None = None,
    held: bool = False,
    group: str = "",
    in_menu: bool = True,
    hint: str = "",
) -> Command:
    return Command(
        command_id,
        title,
        category,
        _on_view(action),
        keys,
        enabled=_if_view(enabled),
        checked=None if checked is None else _if_view(checked),
        held=held,
        group=group,
        in_menu=in_menu,
        hint=hint,
    )


# zoom and pan


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


# events


def _select(view: TimelineView, row: int | None) -> None:
    if row is not None and row >= 0:
        view.state.select(row)
        view.scene.reveal_event(row)


def _next(view: TimelineView) -> None:
    selected = view.state.selection
    _select(view, _first_in_view(view) if selected is None else view.document.capture.next_event(selected))


def _previous(view: TimelineView) -> None:
    selected = view.state.selection
    _select(
        view, _first_in_view(view) if selected is None else view.document.capture.previous_event(selected)
    )


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


def _arrows(view: TimelineView) -> None:
    order = ("selection", "all", "off")
    view.state.set_arrows(order[(order.index(view.state.arrows) + 1) % len(order)])


# marks


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


# rows


def _with_row(action: Callable[[TimelineView, Row], None]) -> Action:
    def run(view: TimelineView) -> None:
        row = view.focus_row()
        if row is not None:
            action(view, row)

    return run


def _hide(view: TimelineView, row: Row) -> None:
    view.state.set_hidden({*view.state.hidden, row.key})


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
    text = view.ask_text(
        tr("Filter rows", "timeline"),
        tr("Show rows whose title contains (or /regex/):", "timeline"),
        view.state.filter.rows,
    )
    if text is not None:
        is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        view.state.change_filter(rows=text[1:-1] if is_regex else text, regex=is_regex)


def _filter_names(view: TimelineView) -> None:
    text = view.ask_text(
        tr("Filter events", "timeline"),
        tr("Dim events whose name does not contain (or match /regex/):", "timeline"),
        view.state.filter.names,
    )
    if text is not None:
        is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        view.state.change_filter(names=text[1:-1] if is_regex else text, regex=is_regex)


def _save_view(view: TimelineView) -> None:
    if view.layouts is None:
        return
    name = view.ask_text(tr("Save view", "timeline"), tr("Name of the view:", "timeline"))
    if name:
        view.layouts.save_view(view.document.capture.uuid, name, view.state)


def _apply_view(view: TimelineView) -> None:
    from PySide6.QtWidgets import QInputDialog

    from .saved_layout import apply_layout

    if view.layouts is None:
        return
    views = view.layouts.views(view.document.capture.uuid)
    if not views:
        view.status_changed.emit(tr("No view of this capture was saved yet", "timeline"))
        return
    name, accepted = QInputDialog.getItem(
        view, tr("Apply view", "timeline"), tr("View:", "timeline"), sorted(views), 0, False
    )
    if accepted and name in views:
        apply_layout(view.state, views[name])


def _reset_layout(view: TimelineView) -> None:
    state = view.state
    state.set_pins(())
    state.set_orders({})
    state.set_hidden(())
    state.set_all_expanded({})
    state.set_heights({})


TIMELINE_COMMANDS: tuple[Command, ...] = (
    _command("view.zoom_in", "Zoom In", "View", _zoom(1 / STEP), ("W", "Up"), held=True, group="zoom"),
    _command("view.zoom_out", "Zoom Out", "View", _zoom(STEP), ("S", "Down"), held=True, group="zoom"),
    _command(
        "view.zoom_in_step",
        "Zoom In a Step",
        "View",
        _zoom(1 / STEP),
        ("Ctrl++", "Ctrl+=", "+", "="),
        group="zoom",
        in_menu=False,
    ),
    _command(
        "view.zoom_out_step",
        "Zoom Out a Step",
        "View",
        _zoom(STEP),
        ("Ctrl+-", "-"),
        group="zoom",
        in_menu=False,
    ),
    _command(
        "view.zoom_range", "Zoom to the Range", "View", _zoom_range, ("Z",), enabled=_has_range, group="zoom"
    ),
    _command(
        "view.frame",
        "Frame the Selection",
        "View",
        _frame_selection,
        ("F",),
        group="zoom",
        hint="The event, else the range; again for everything",
    ),
    _command(
        "view.fit",
        "Show Everything",
        "View",
        lambda view: view.state.show_all(),
        ("Home", "Ctrl+0"),
        group="zoom",
    ),
    _command("view.one_ns", "Zoom to One Nanosecond", "View", _one_nanosecond, group="zoom", in_menu=False),
    _command(
        "view.undo",
        "Undo Zoom or Filter",
        "View",
        lambda view: view.state.undo(),
        ("Backspace", "Ctrl+Z"),
        enabled=lambda view: view.state.can_undo,
        group="undo",
    ),
    _command(
        "view.redo",
        "Redo Zoom or Filter",
        "View",
        lambda view: view.state.redo(),
        ("Shift+Backspace", "Ctrl+Shift+Z"),
        enabled=lambda view: view.state.can_redo,
        group="undo",
    ),
    _command("view.arrows", "Arrows: Selection, All in View, Off", "View", _arrows, ("L",), group="links"),
    _command(
        "view.save_view",
        "Save View…",
        "View",
        _save_view,
        group="layout",
        enabled=lambda view: view.layouts is not None,
    ),
    _command(
        "view.apply_view",
        "Apply View…",
        "View",
        _apply_view,
        group="layout",
        enabled=lambda view: view.layouts is not None,
    ),
    _command("view.reset_layout", "Reset the Layout of Rows", "View", _reset_layout, group="layout"),
    _command("navigate.left", "Pan Left", "Navigate", _pan(-0.25), ("A", "Left"), held=True, group="pan"),
    _command("navigate.right", "Pan Right", "Navigate", _pan(0.25), ("D", "Right"), held=True, group="pan"),
    _command(
        "navigate.page_left",
        "Pan a Screen Left",
        "Navigate",
        _pan(-FAST_PAN),
        ("Ctrl+Left",),
        group="pan",
        in_menu=False,
    ),
    _command(
        "navigate.page_right",
        "Pan a Screen Right",
        "Navigate",
        _pan(FAST_PAN),
        ("Ctrl+Right",),
        group="pan",
        in_menu=False,
    ),
    _command(
        "navigate.page_up", "Scroll Rows Up", "Navigate", _page(-1), ("PgUp",), group="pan", in_menu=False
    ),
    _command(
        "navigate.page_down",
        "Scroll Rows Down",
        "Navigate",
        _page(1),
        ("PgDown",),
        group="pan",
        in_menu=False,
    ),
    _command("event.next", "Next Event on the Lane", "Navigate", _next, (".",), group="event"),
    _command("event.previous", "Previous Event on the Lane", "Navigate", _previous, (",",), group="event"),
    _command(
        "event.up",
        "Enclosing Event",
        "Navigate",
        _up_nesting,
        ("Alt+Up",),
        enabled=_has_selection,
        group="event",
    ),
    _command(
        "event.down",
        "First Nested Event",
        "Navigate",
        _down_nesting,
        ("Alt+Down",),
        enabled=_has_selection,
        group="event",
    ),
    _command(
        "event.frame",
        "Zoom to This Event",
        "Navigate",
        lambda view: view.scene.frame_event(view.state.selection or 0),
        ("Return", "Enter"),
        enabled=_has_selection,
        group="event",
    ),
    _command(
        "link.back",
        "Follow the Link Back",
        "Navigate",
        lambda view: _follow(view, back=True),
        ("[",),
        enabled=_has_selection,
        group="link",
    ),
    _command(
        "link.forward",
        "Follow the Link Forward",
        "Navigate",
        lambda view: _follow(view, back=False),
        ("]",),
        enabled=_has_selection,
        group="link",
    ),
    _command(
        "search.next",
        "Next Found Event",
        "Navigate",
        _step_found(1),
        ("Ctrl+G", "F3", "N"),
        enabled=_has_found,
        group="search",
    ),
    _command(
        "search.previous",
        "Previous Found Event",
        "Navigate",
        _step_found(-1),
        ("Ctrl+Shift+G", "Shift+F3", "Shift+N"),
        enabled=_has_found,
        group="search",
    ),
    _command("mark.set", "Set a Mark", "Navigate", _mark, ("M",), group="mark"),
    _command(
        "mark.next",
        "Next Mark",
        "Navigate",
        lambda view: _near_mark(view, 1),
        ("Ctrl+.",),
        enabled=lambda view: bool(view.state.marks),
        group="mark",
    ),
    _command(
        "mark.previous",
        "Previous Mark",
        "Navigate",
        lambda view: _near_mark(view, -1),
        ("Ctrl+M",),
        enabled=lambda view: bool(view.state.marks),
        group="mark",
    ),
    _command(
        "mark.remove_all",
        "Remove All Marks",
        "Navigate",
        _remove_marks,
        enabled=lambda view: bool(view.state.marks),
        group="mark",
    ),
    _command(
        "mark.origin", "Count Times from the Pointer", "Navigate", _origin_at_pointer, ("O",), group="mark"
    ),
    _command(
        "mark.origin_start",
        "Count Times from the Start",
        "Navigate",
        lambda view: view.state.set_origin(None),
        group="mark",
    ),
    _command(
        "row.next", "Next Row", "Navigate", _step_row(1), ("Ctrl+Down", "J"), group="row", in_menu=False
    ),
    _command(
        "row.previous",
        "Previous Row",
        "Navigate",
        _step_row(-1),
        ("Ctrl+Up", "K"),
        group="row",
        in_menu=False,
    ),
    _command(
        "row.toggle",
        "Open or Close the Row",
        "View",
        _with_row(lambda view, row: view.scene.toggle(row)),
        ("Space",),
        enabled=_has_row,
        group="rows",
    ),
    _command(
        "row.expand_below",
        "Open Everything Below",
        "View",
        _with_row(lambda view, row: _set_below(view, row, True)),
        enabled=_has_row,
        group="rows",
        in_menu=False,
    ),
    _command(
        "row.collapse_below",
        "Close Everything Below",
        "View",
        _with_row(lambda view, row: _set_below(view, row, False)),
        enabled=_has_row,
        group="rows",
        in_menu=False,
    ),
    _command(
        "row.expand_all",
        "Open All Rows",
        "View",
        lambda view: _expand_all(view, True),
        ("Ctrl+Shift+E",),
        group="rows",
    ),
    _command(
        "row.collapse_all",
        "Close All Rows",
        "View",
        lambda view: _expand_all(view, False),
        ("Ctrl+Shift+C",),
        group="rows",
    ),
    _command(
        "row.pin",
        "Pin or Unpin the Row",
        "View",
        _with_row(lambda view, row: view.state.toggle_pin(row.key)),
        ("P",),
        enabled=_has_row,
        checked=lambda view: (row := view.focus_row()) is not None and row.key in view.state.pins,
        group="rows",
    ),
    _command("row.hide", "Hide the Row", "View", _with_row(_hide), ("H",), enabled=_has_row, group="rows"),
    _command(
        "row.show_hidden",
        "Show Hidden Rows",
        "View",
        lambda view: view.state.set_hidden(()),
        ("Shift+H",),
        enabled=lambda view: bool(view.state.hidden),
        group="rows",
    ),
    _command("row.only", "Only This Row", "View", _with_row(_only), enabled=_has_row, group="filter"),
    _command(
        "row.only_thread",
        "Only This Thread",
        "View",
        _with_row(_only_owner("thread")),
        enabled=_has_row,
        group="filter",
    ),
    _command(
        "row.only_process",
        "Only This Process",
        "View",
        _with_row(_only_owner("process")),
        enabled=_has_row,
        group="filter",
    ),
    _command(
        "row.only_stream",
        "Only This Stream",
        "View",
        _with_row(_only_owner("stream")),
        enabled=_has_row,
        group="filter",
    ),
    _command(
        "row.show_all",
        "Show All Rows",
        "View",
        lambda view: view.state.change_filter(only=(), rows=""),
        enabled=lambda view: bool(view.state.filter.only or view.state.filter.rows),
        group="filter",
    ),
    _command("row.filter", "Filter Rows…", "View", _filter_rows, ("Ctrl+Shift+R",), group="filter"),
    _command(
        "row.taller",
        "Taller Row",
        "View",
        _with_row(_taller(4)),
        ("Ctrl+]",),
        enabled=_has_row,
        group="height",
        in_menu=False,
    ),
    _command(
        "row.flatter",
        "Flatter Row",
        "View",
        _with_row(_taller(-4)),
        ("Ctrl+[",),
        enabled=_has_row,
        group="height",
        in_menu=False,
    ),
    _command(
        "row.usual_height",
        "Usual Height",
        "View",
        _with_row(_usual_height),
        enabled=_has_row,
        group="height",
        in_menu=False,
    ),
    _command(
        "row.move_up",
        "Move the Row Up",
        "View",
        _with_row(_move(-1)),
        ("Ctrl+Shift+Up",),
        enabled=_has_row,
        group="height",
        in_menu=False,
    ),
    _command(
        "row.move_down",
        "Move the Row Down",
        "View",
        _with_row(_move(1)),
        ("Ctrl+Shift+Down",),
        enabled=_has_row,
        group="height",
        in_menu=False,
    ),
    _command(
        "row.natural_order",
        "Natural Order",
        "View",
        _with_row(_natural_order),
        enabled=_has_row,
        group="height",
        in_menu=False,
    ),
    _command(
        "view.filter_names",
        "Filter Events by Name…",
        "Analyze",
        _filter_names,
        ("Ctrl+Shift+F",),
        group="filter",
    ),
    _command(
        "view.clear_filter",
        "Clear the Filter",
        "Analyze",
        lambda view: view.clear_filter(),
        enabled=lambda view: not view.state.filter.is_empty,
        group="filter",
    ),
    _command(
        "event.highlight_name",
        "Highlight All of This Name",
        "Analyze",
        _highlight_name,
        ("Ctrl+H",),
        enabled=_has_selection,
        group="select",
    ),
    _command(
        "view.range_of_selection",
        "Select the Event's Range",
        "Analyze",
        _range_of_selection,
        ("R",),
        enabled=_has_selection,
        group="select",
    ),
    _command(
        "view.range_of_view",
        "Select the Visible Range",
        "Analyze",
        _range_of_view,
        ("Ctrl+A",),
        group="select",
    ),
    _command(
        "event.copy", "Copy the Event", "Analyze", _copy, ("Ctrl+C",), enabled=_has_selection, group="select"
    ),
    _command(
        "view.clear",
        "Clear the Selection",
        "Analyze",
        lambda view: view.state.clear(),
        ("Esc",),
        group="select",
        hint="The range, then the event, then the highlight, then the filter",
    ),
)
"""In the order of the menus. Commands that are ``held`` are watched by the timeline itself."""

COMMANDS_BY_ID: dict[str, Command] = {command.id: command for command in TIMELINE_COMMANDS}


def _sequences() -> Iterator[tuple[str, Command]]:
    for command in TIMELINE_COMMANDS:
        if not command.held:
            for key in command.keys:
                yield QKeySequence(key).toString(), command


_BY_KEY: dict[str, Command] = {}


def command_of_key(event: QKeyEvent) -> Command | None:
    """The command a key press means, for a timeline that stands alone; in a window shortcuts come first."""
    if not _BY_KEY:
        _BY_KEY.update(_sequences())
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    pressed = QKeySequence(event.key() | modifiers.value).toString()
    found = _BY_KEY.get(pressed)
    if found is None and modifiers == Qt.KeyboardModifier.ShiftModifier:
        # A character that needs Shift on this keyboard is meant as the character.
        found = _BY_KEY.get(event.text().upper()) if event.text() and not event.text().isalpha() else None
    return found
