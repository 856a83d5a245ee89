"""Every verb of the timeline. Menus, palette, help, keys and tests are made from this list."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from warpline_app.commands.command import Command
from warpline_app.verbs.events import EVENT_COMMANDS
from warpline_app.verbs.layout import LAYOUT_COMMANDS
from warpline_app.verbs.rows import ROW_COMMANDS
from warpline_app.verbs.view import VIEW_COMMANDS

TIMELINE_COMMANDS: tuple[Command, ...] = (
    *VIEW_COMMANDS,
    *LAYOUT_COMMANDS,
    *EVENT_COMMANDS,
    *ROW_COMMANDS,
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
