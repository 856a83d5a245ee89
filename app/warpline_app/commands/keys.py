"""Keys of commands: notation, which ones work anywhere in the window, and the command a key press runs."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from warpline_app.commands.command import WindowCommand

_WIDGET_KEYS = frozenset(
    {"Return", "Enter", "Space", "Home", "End", "PgUp", "PgDown", "Tab", "Up", "Down", "Left", "Right"}
)


def is_window_wide(key: str) -> bool:
    """Whether a key works wherever the keyboard focus is.

    Keys that tables, buttons and lists need (arrows, Return, Space, copy, select all) belong to the focused widget; the
    timeline handles them itself.
    """
    if key in {"Ctrl+C", "Ctrl+A"}:
        return False
    *modifiers, last = key.split("+")
    # With Ctrl, tables do not use these keys; without it, tabs do not.
    return last not in _WIDGET_KEYS or ("Ctrl" in modifiers and last in {"Tab", "PgUp", "PgDown"})


def key_text(key: str) -> str:
    """A key sequence as this platform writes it (``Ctrl+O``, ``⌘O``)."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


class KeyTable:
    """Maps a key press to a command, where no shortcut handles it."""

    def __init__(self, commands: Iterable[WindowCommand]) -> None:
        self._by_key: dict[str, WindowCommand] = {}
        self._held: dict[str, WindowCommand] = {}
        for command in commands:
            table = self._by_key if command.motion is None else self._held
            table.update({QKeySequence(key).toString(): command for key in command.keys})

    def command_of(self, event: QKeyEvent) -> WindowCommand | None:
        """The command for a key press. Held keys are not included: their position decides, not their letter."""
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        command = self._by_key.get(_text(event, modifiers))
        if command is None and modifiers == Qt.KeyboardModifier.ShiftModifier and not event.text().isalpha():
            # A character that needs Shift on this keyboard counts as that character.
            command = self._by_key.get(event.text().upper())
        return command

    def held_command_of(self, event: QKeyEvent) -> WindowCommand | None:
        """The command for a held key by its letter: without a timeline its position is unknown."""
        return self._held.get(_text(event, event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier))


def _text(event: QKeyEvent, modifiers: Qt.KeyboardModifier) -> str:
    return QKeySequence(event.key() | modifiers.value).toString()
