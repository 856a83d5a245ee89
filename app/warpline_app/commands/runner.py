"""Runs a window's commands for every key, menu entry, button and palette line."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from warpline_app.commands.command import Motion, WindowCommand, run
from warpline_app.commands.context import CommandContext
from warpline_app.commands.keys import KeyTable, is_window_wide


class CommandRunner(QObject):
    """Runs commands in a context, by id or by key.

    A shortcut checks when pressed whether its command can run, so it is never out of date.
    """

    ran = Signal(str)
    """id of a command that ran"""
    refused = Signal(str)
    """id of a command that could not run; the workspace has shown the reason"""

    def __init__(self, owner: QWidget, context: CommandContext, commands: Iterable[WindowCommand]) -> None:
        """Raises ValueError for two commands with the same id."""
        super().__init__(owner)
        self._context = context
        self.commands: dict[str, WindowCommand] = {}
        for command in commands:
            if command.id in self.commands:
                raise ValueError(f"two commands are called {command.id!r}")
            self.commands[command.id] = command
        self._keys = KeyTable(self.commands.values())
        for command in self.commands.values():
            if command.motion is None:
                for key in filter(is_window_wide, command.keys):
                    self._add_shortcut(owner, command, key)

    def _add_shortcut(self, owner: QWidget, command: WindowCommand, key: str) -> None:
        shortcut = QShortcut(QKeySequence(key), owner)
        shortcut.activated.connect(lambda: self.run(command.id))

    def refusal(self, command_id: str) -> str | None:
        """Why the command cannot run now, None when it can. Raises KeyError for an unknown id."""
        return self.commands[command_id].refusal(self._context)

    def text(self, command_id: str) -> str:
        """The title of a command as it is now (``Undo zoom``), in the user's language."""
        command = self.commands[command_id]
        return (command.title_now(self._context) if command.title_now is not None else "") or command.text

    def is_enabled(self, command_id: str) -> bool:
        """Whether the command can run now."""
        return self.refusal(command_id) is None

    def is_checked(self, command_id: str) -> bool:
        """Whether a switch is on; False for any other command."""
        checked = self.commands[command_id].checked
        return checked is not None and checked(self._context)

    def run(self, command_id: str, *, is_held: bool = False) -> bool:
        """Run a command; False when it cannot run now. Raises KeyError for an unknown id."""
        has_run = run(self.commands[command_id], self._context, is_held=is_held)
        (self.ran if has_run else self.refused).emit(command_id)
        return has_run

    def press(self, event: QKeyEvent, motion: Motion | None = None) -> bool:
        """Run the command of a key press that no shortcut handles; False when there is none.

        ``motion`` is the motion of the key's position on the keyboard.
        """
        if motion is not None:
            command = next((known for known in self.commands.values() if known.motion == motion), None)
            if command is not None and not event.isAutoRepeat():
                self.run(command.id, is_held=True)
            return command is not None
        command = self._keys.command_of(event)
        if command is not None:
            self.run(command.id)
        return command is not None

    def press_without_timeline(self, event: QKeyEvent) -> bool:
        """Handle a held key while no timeline has the focus: the status line says what is missing."""
        command = self._keys.held_command_of(event)
        if command is not None and not event.isAutoRepeat():
            self.run(command.id, is_held=True)
        return command is not None
