"""Keys of commands: how they are written, which act wherever the focus is, and which command a press means."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from warpline_app.commands.command import WindowCommand

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


class KeyTable:
    """Which command a key press means, where no shortcut has taken it."""

    def __init__(self, commands: Iterable[WindowCommand]) -> None:
        self._by_key: dict[str, WindowCommand] = {}
        self._held: dict[str, WindowCommand] = {}
        for command in commands:
            table = self._by_key if command.motion is None else self._held
            table.update({QKeySequence(key).toString(): command for key in command.keys})

    def command_of(self, event: QKeyEvent) -> WindowCommand | None:
        """The command of a press. Keys that are held are not looked for: their place decides, and not the letter."""
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        found = self._by_key.get(_text(event, modifiers))
        if found is None and modifiers == Qt.KeyboardModifier.ShiftModifier:
            # A character that needs Shift on this keyboard is meant as the character.
            found = (
                self._by_key.get(event.text().upper())
                if event.text() and not event.text().isalpha()
                else None
            )
        return found

    def held_command_of(self, event: QKeyEvent) -> WindowCommand | None:
        """The command of a key that is held, by its letter: where there is no timeline to know its place."""
        return self._held.get(_text(event, event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier))


def _text(event: QKeyEvent, modifiers: Qt.KeyboardModifier) -> str:
    return QKeySequence(event.key() | modifiers.value).toString()
