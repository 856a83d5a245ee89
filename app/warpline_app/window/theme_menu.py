"""The menu of themes."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from warpline.i18n import tr
from warpline_app.commands.menus import menu_entry
from warpline_app.commands.mnemonics import ENGLISH
from warpline_app.commands.runner import CommandRunner


def theme_menu(runner: CommandRunner, parent: QWidget) -> QMenu:
    """The themes, with the current one checked."""
    menu = QMenu(tr("Theme"), parent)
    menu.menuAction().setProperty(ENGLISH, "Theme")
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
