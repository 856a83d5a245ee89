"""Connects a timeline to the commands: its context menus, its keys, its questions."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu

from warpline.i18n import tr
from warpline.model.notes import Note
from warpline_app.commands.menus import add_entries
from warpline_app.commands.runner import CommandRunner
from warpline_app.timeline.widgets.held_keys import verb_of
from warpline_app.timeline.widgets.navigator import Navigator
from warpline_app.verbs.notes import ask_note

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
    "",
    "note.row",
    "",
    "derived.run",
    "derived.rename",
    "derived.remove",
)
EVENT_MENU = (
    "event.frame",
    "view.range_of_selection",
    "event.highlight_name",
    "event.source",
    "event.copy",
    "note.add",
    "",
    "link.back",
    "link.forward",
    "event.next",
    "event.previous",
)
VIEW_MENU = ("view.zoom_range", "view.fit", "view.undo")


class TimelineInput(QObject):
    """Runs the commands a timeline asks for, through ``runner``; lives as long as the timeline."""

    def __init__(self, navigator: Navigator, runner: CommandRunner) -> None:
        view = navigator.view
        super().__init__(view)
        self._navigator = navigator
        self._view = view
        self._runner = runner
        view.row_menu_requested.connect(lambda where, _key: self.row_menu().popup(where))
        view.event_menu_requested.connect(
            lambda where, time_ns, event: self.event_menu(time_ns, event).popup(where)
        )
        view.ruler_menu_requested.connect(lambda where, time_ns: self.ruler_menu(time_ns).popup(where))
        view.mark_requested.connect(self.ask_mark)
        view.state.note_wanted.connect(lambda note: ask_note(navigator, note))
        view.key_pressed.connect(self.press)

    def press(self, event: QKeyEvent) -> None:
        """Run the command of a key press; accepts the event when there is one."""
        if self._runner.press(event, verb_of(event)):
            event.accept()

    def ask_mark(self, time_ns: int) -> None:
        """Ask for the text of the note or mark that begins at a time, or of a new one."""
        ask_note(self._navigator, self._note_at(time_ns) or Note(start_ns=time_ns))

    def _note_at(self, time_ns: int) -> Note | None:
        return next((note for note in self._view.state.notes if note.start_ns == time_ns), None)

    def row_menu(self) -> QMenu:
        """The context menu of the row in focus."""
        return self._menu(ROW_MENU)

    def event_menu(self, time_ns: int, event: int | None) -> QMenu:
        """The context menu of the canvas; over an event, which is selected, it has the event's commands."""
        state = self._view.state
        menu = self._menu(EVENT_MENU if event is not None else ())
        menu.addSeparator()
        menu.addAction(tr("Add mark here", "timeline")).triggered.connect(lambda: state.add_mark(time_ns))
        add_entries(menu, self._runner, VIEW_MENU)
        return menu

    def ruler_menu(self, time_ns: int) -> QMenu:
        """The context menu of the ruler at a time."""
        state = self._view.state
        menu = self._menu(())
        whole = (
            tr("Show times as in the whole capture", "timeline"),
            lambda: state.set_origin(state.whole_ns),
        )
        for text, action in (
            (tr("Add or change note…", "timeline"), lambda: self.ask_mark(time_ns)),
            (tr("Set time origin here", "timeline"), lambda: state.set_origin(time_ns)),
            (tr("Reset time origin", "timeline"), lambda: state.set_origin(None)),
            *((whole,) if state.whole_ns is not None else ()),
        ):
            menu.addAction(text).triggered.connect(action)
        note = self._note_at(time_ns)
        if note is not None:
            remove = menu.addAction(tr("Remove note or mark", "timeline"))
            remove.triggered.connect(lambda: state.remove_note(note.id))
        return menu

    def _menu(self, command_ids: Iterable[str]) -> QMenu:
        menu = QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        add_entries(menu, self._runner, command_ids)
        return menu
