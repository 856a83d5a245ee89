"""Menus built from the list of commands: the menu bar, context menus and single entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from warpline.i18n import tr
from warpline_app.commands.command import WindowCommand
from warpline_app.commands.keys import key_text
from warpline_app.commands.mnemonics import ENGLISH, LETTER, add_mnemonics, with_mnemonic
from warpline_app.commands.runner import CommandRunner
from warpline_app.look.plain import plain

MENU_ORDER = ("File", "View", "Navigate", "Analyze", "Help")
SUBMENUS: dict[tuple[str, str], str] = {
    ("View", "rows"): "Rows",
    ("View", "filter"): "Row filter",
    ("View", "height"): "Row height and order",
    ("View", "layout"): "Layout",
    ("View", "panels"): "Panels",
    ("Navigate", "pan"): "Pan and scroll",
    ("Navigate", "mark"): "Notes and marks",
    ("Navigate", "row"): "Rows",
}
"""Submenus by category and group: a menu stays short enough to take in at a glance."""
MakeMenu = Callable[[QWidget], QMenu]


def menu_entry(runner: CommandRunner, command_id: str, parent: QObject) -> QAction:
    """A menu entry for a command; it shows the key but does not listen for it."""
    command = runner.commands[command_id]
    entry = QAction(_entry_text(runner, command), parent)
    entry.setObjectName(command.id)
    entry.setProperty(ENGLISH, command.title)
    entry.setCheckable(command.checkable)
    entry.setStatusTip(plain(command.hint_text))
    entry.triggered.connect(lambda: runner.run(command.id))
    refresh_entry(runner, command, entry)
    return entry


def _entry_text(runner: CommandRunner, command: WindowCommand) -> str:
    key = f"\t{key_text(command.keys[0])}" if command.keys else ""
    return runner.text(command.id).replace("&", "&&") + key


def refresh_entry(runner: CommandRunner, command: WindowCommand, entry: QAction) -> None:
    """Enable or disable an entry, with the reason as its tooltip, and set its check mark."""
    refusal = runner.refusal(command.id)
    entry.setEnabled(refusal is None)
    entry.setToolTip(plain(refusal or command.hint_text))
    if command.title_now is not None:
        entry.setText(with_mnemonic(_entry_text(runner, command), entry.property(LETTER) or ""))
    if command.checkable:
        entry.setChecked(runner.is_checked(command.id))


def add_entries(menu: QMenu, runner: CommandRunner, command_ids: Iterable[str]) -> None:
    """Add commands to a menu that is shown once; an empty id adds a separator."""
    menu.setToolTipsVisible(True)
    for command_id in command_ids:
        if command_id:
            menu.addAction(menu_entry(runner, command_id, menu))
        else:
            menu.addSeparator()


def fill_menu_bar(
    bar: QMenuBar, runner: CommandRunner, submenus: dict[str, MakeMenu] | None = None
) -> dict[str, QMenu]:
    """Fill the menu bar with one menu per category; returns the menus by category.

    Each menu and entry gets its own mnemonic letter. ``submenus`` maps a command's id to a function that makes the menu
    inserted after it. Entries are enabled or disabled whenever their menu opens.
    """
    menus: dict[str, QMenu] = {}
    commands = runner.commands.values()
    for category in dict.fromkeys((*MENU_ORDER, *(command.category for command in commands))):
        members = [command for command in commands if command.category == category and command.in_menu]
        if not members:
            continue
        # Commands of other rooms are added to the menu; the way out stays at its end.
        members.sort(key=lambda command: command.group == "quit")
        menu = QMenu(tr(category, "command"), bar)
        menu.setToolTipsVisible(True)
        _fill(menu, runner, members, submenus or {})
        bar.addMenu(menu).setProperty(ENGLISH, category)
        menus[category] = menu
    add_mnemonics(bar)
    return menus


def _fill(
    menu: QMenu, runner: CommandRunner, members: list[WindowCommand], submenus: dict[str, MakeMenu]
) -> None:
    pairs: list[tuple[QAction, WindowCommand]] = []
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
                targets[command.group].setToolTipsVisible(True)
                targets[command.group].menuAction().setProperty(ENGLISH, title)
            target = targets[command.group]
        entry = menu_entry(runner, command.id, target)
        target.addAction(entry)
        pairs.append((entry, command))
        if command.id in submenus:
            menu.addMenu(submenus[command.id](menu))

    def refresh() -> None:
        for entry, command in pairs:
            refresh_entry(runner, command, entry)

    menu.aboutToShow.connect(refresh)
