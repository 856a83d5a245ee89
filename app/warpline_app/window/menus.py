"""Menus of the window whose entries change."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from warpline.i18n import tr
from warpline_app.commands.menus import menu_entry
from warpline_app.commands.runner import CommandRunner
from warpline_app.session.settings import Settings


class RecentMenu(QMenu):
    """Files that were open lately; those that are gone cannot be chosen."""

    chosen = Signal(Path)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(tr("Open Recent"), parent)
        self._settings = settings

    def fill(self) -> None:
        """List what the settings know now; called before the menu is seen."""
        self.clear()
        paths = self._settings.recent_files
        for path in paths:
            action = self.addAction(str(path).replace("&", "&&"))
            action.setEnabled(path.exists())
            action.triggered.connect(lambda _=False, chosen=path: self.chosen.emit(chosen))
        self.setEnabled(bool(paths))
        if paths:
            self.addSeparator()
            self.addAction(tr("Clear list"), self._settings.clear_recent_files)


def theme_menu(runner: CommandRunner, parent: QWidget) -> QMenu:
    """The themes, with the one in use marked."""
    menu = QMenu(tr("Theme"), parent)
    entries: list[tuple[QAction, str]] = []
    for command in runner.commands.values():
        if command.id.startswith("theme."):
            action = menu_entry(runner, command.id, menu)
            menu.addAction(action)
            entries.append((action, command.id))

    def refresh() -> None:
        for action, name in entries:
            action.setChecked(runner.is_checked(name))

    menu.aboutToShow.connect(refresh)
    return menu
