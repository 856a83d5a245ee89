"""Context menus of the timeline, made from its commands, and the context these act in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from warpline.i18n import tr
from warpline_app.session.timeline_state import TimelineState

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView
    from warpline_app.window.main_window import MainWindow

ROW_MENU = (
    "row.pin",
    "row.hide",
    "row.show_hidden",
    "",
    "row.select",
    "row.only",
    "row.show_all",
    "",
    "row.toggle",
    "row.expand_below",
    "row.collapse_below",
    "",
    "row.taller",
    "row.flatter",
    "row.usual_height",
    "row.move_up",
    "row.move_down",
    "row.natural_order",
)
EVENT_MENU = (
    "event.frame",
    "view.range_of_selection",
    "event.highlight_name",
    "event.copy",
    "",
    "link.back",
    "link.forward",
    "event.next",
    "event.previous",
)
VIEW_MENU = ("view.zoom_range", "view.fit", "view.undo")


class ViewContext:
    """The context of commands that are run from a timeline itself."""

    def __init__(self, view: TimelineView) -> None:
        self._view = view

    @property
    def view(self) -> TimelineView:
        """The timeline."""
        return self._view

    @property
    def state(self) -> TimelineState:
        """Its state."""
        return self._view.state

    @property
    def window(self) -> MainWindow:
        """The window around it; the timeline's own commands do not ask for it."""
        return cast("MainWindow", self._view.window())


def menu_of(view: TimelineView, command_ids: Iterable[str]) -> QMenu:
    """A menu of commands; an empty id is a line between them."""
    menu = QMenu(view)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    add_commands(menu, view, command_ids)
    return menu


def add_commands(menu: QMenu, view: TimelineView, command_ids: Iterable[str]) -> None:
    """Adds commands to a menu."""
    from warpline_app.verbs.timeline import COMMANDS_BY_ID

    context = ViewContext(view)
    for command_id in command_ids:
        if not command_id:
            menu.addSeparator()
            continue
        command = COMMANDS_BY_ID[command_id]
        action = menu.addAction(command.text)
        action.setObjectName(command.id)
        action.setEnabled(command.enabled(context))
        if command.checked is not None:
            action.setCheckable(True)
            action.setChecked(command.checked(context))
        action.triggered.connect(lambda _=False, run=command.callback: run(context))


def ruler_menu(view: TimelineView, time_ns: int) -> QMenu:
    """The menu of the ruler at a moment."""
    menu = menu_of(view, ())
    state = view.state
    menu.addAction(tr("Set or name a mark…", "timeline")).triggered.connect(lambda: view.ask_mark(time_ns))
    menu.addAction(tr("Count times from here", "timeline")).triggered.connect(
        lambda: state.set_origin(time_ns)
    )
    menu.addAction(tr("Count times from the start", "timeline")).triggered.connect(
        lambda: state.set_origin(None)
    )
    if any(mark.time_ns == time_ns for mark in state.marks):
        remove = menu.addAction(tr("Remove this mark", "timeline"))
        remove.triggered.connect(lambda: state.remove_mark(time_ns))
    return menu
