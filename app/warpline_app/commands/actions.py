"""From the list of commands to menus and shortcuts of one window."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from warpline.i18n import tr
from warpline_app.commands.command import Command
from warpline_app.commands.context import Context

MENU_ORDER = ("File", "View", "Navigate", "Analyze", "Help")
SUBMENUS: dict[tuple[str, str], str] = {
    ("View", "rows"): "Rows",
    ("View", "filter"): "Show Only",
    ("View", "height"): "Height and Order of Rows",
    ("View", "layout"): "Layout",
    ("View", "panels"): "Panels",
    ("Navigate", "pan"): "Pan and Scroll",
    ("Navigate", "mark"): "Marks",
    ("Navigate", "row"): "Rows",
}
"""Groups of commands that get a menu of their own, by category and group: a menu is read at a glance or not at all."""

_WIDGET_KEYS = frozenset(
    {"Return", "Enter", "Space", "Home", "End", "PgUp", "PgDown", "Tab", "Up", "Down", "Left", "Right"}
)


def is_window_wide(key: str) -> bool:
    """Whether a key can act wherever the focus is.

    Keys that tables, buttons and lists need (arrows, Return, Space, copy, select all) belong to the widget with the
    focus; the timeline watches them itself.
    """
    if key in {"Ctrl+C", "Ctrl+A"}:
        return False
    *modifiers, last = key.split("+")
    # Tables have no use for these two with Ctrl, and tabs have none without.
    return last not in _WIDGET_KEYS or ("Ctrl" in modifiers and last in {"Tab", "PgUp", "PgDown"})


def key_text(key: str) -> str:
    """A key sequence as this platform writes it (``Ctrl+O``, ``⌘O``)."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


class CommandActions(QObject):
    """Runs commands in a context, and builds what triggers them.

    Shortcuts and menu entries are made apart: an entry is greyed out when its menu opens, a shortcut asks
    ``enabled`` at the moment the key is pressed, so neither can be out of date.
    """

    ran = Signal(str)
    """id of a command that has run"""
    refused = Signal(str)
    """id of a command that was asked for and cannot be used now"""

    def __init__(self, owner: QWidget, context: Context, commands: Iterable[Command]) -> None:
        super().__init__(owner)
        self._owner = owner
        self._context = context
        self.commands: dict[str, Command] = {}
        for command in commands:
            if command.id in self.commands:
                raise ValueError(f"two commands are called {command.id!r}")
            self.commands[command.id] = command
        self._shortcuts: list[QShortcut] = []
        for command in self.commands.values():
            if not command.held:
                self._shortcuts.extend(
                    self._shortcut(command, key) for key in command.keys if is_window_wide(key)
                )

    def _shortcut(self, command: Command, key: str) -> QShortcut:
        shortcut = QShortcut(QKeySequence(key), self._owner)
        shortcut.activated.connect(lambda: self.run(command.id))
        return shortcut

    def is_enabled(self, command_id: str) -> bool:
        """Whether the command can be used now."""
        return self.commands[command_id].enabled(self._context)

    def is_checked(self, command_id: str) -> bool:
        """Whether a switch is on; False for what is no switch."""
        checked = self.commands[command_id].checked
        return checked is not None and checked(self._context)

    def run(self, command_id: str) -> bool:
        """Run a command; False when it cannot be used now. Raises KeyError for an unknown id."""
        command = self.commands[command_id]
        if not command.enabled(self._context):
            self.refused.emit(command_id)
            return False
        command.callback(self._context)
        self.ran.emit(command_id)
        return True

    def action(self, command_id: str, parent: QObject) -> QAction:
        """A menu entry for the command; it shows the key but does not listen for it."""
        command = self.commands[command_id]
        key = f"\t{key_text(command.keys[0])}" if command.keys else ""
        action = QAction(command.text.replace("&", "&&") + key, parent)
        action.setObjectName(command.id)
        action.setCheckable(command.checkable)
        action.setStatusTip(command.hint_text)
        action.triggered.connect(lambda: self.run(command.id))
        self._refresh(action, command)
        return action

    def _refresh(self, action: QAction, command: Command) -> None:
        is_enabled = command.enabled(self._context)
        action.setEnabled(is_enabled)
        action.setToolTip(command.hint_text if is_enabled else command.refusal_text or command.hint_text)
        if command.checked is not None:
            action.setChecked(command.checked(self._context))

    def fill_menu_bar(
        self, bar: QMenuBar, submenus: dict[str, Callable[[QWidget], QMenu]] | None = None
    ) -> dict[str, QMenu]:
        """One menu per category in the usual order; returns the menus by category.

        ``submenus`` maps the id of a command to a function that makes a menu shown right after it.
        """
        menus: dict[str, QMenu] = {}
        categories = dict.fromkeys((*MENU_ORDER, *(c.category for c in self.commands.values())))
        for category in categories:
            members = [c for c in self.commands.values() if c.category == category and c.in_menu]
            if not members:
                continue
            menu = QMenu(tr(category, "command"), bar)
            menu.setToolTipsVisible(True)
            self._fill(menu, members, submenus or {})
            bar.addMenu(menu)
            menus[category] = menu
        return menus

    def _fill(
        self, menu: QMenu, members: list[Command], submenus: dict[str, Callable[[QWidget], QMenu]]
    ) -> None:
        pairs: list[tuple[QAction, Command]] = []
        targets: dict[str, QMenu] = {}
        group = members[0].group
        for command in members:
            title = SUBMENUS.get((command.category, command.group))
            if command.group != group and command.group not in targets:
                menu.addSeparator()
            group = command.group
            target = menu
            if title is not None:
                if command.group not in targets:
                    targets[command.group] = menu.addMenu(tr(title, "command"))
                target = targets[command.group]
            action = self.action(command.id, target)
            target.addAction(action)
            pairs.append((action, command))
            if command.id in submenus:
                menu.addMenu(submenus[command.id](menu))

        def refresh() -> None:
            for action, command in pairs:
                self._refresh(action, command)

        menu.aboutToShow.connect(refresh)
