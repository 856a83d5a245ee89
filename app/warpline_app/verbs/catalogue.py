"""All commands: those of the verb modules, and those that other distributions register."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtGui import QKeySequence

from warpline import plugins
from warpline.i18n import tr
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.compare import COMPARE_COMMANDS
from warpline_app.verbs.events import EVENT_COMMANDS
from warpline_app.verbs.files import FILE_COMMANDS
from warpline_app.verbs.job import JOB_COMMANDS
from warpline_app.verbs.layout import LAYOUT_COMMANDS
from warpline_app.verbs.panels import panel_commands
from warpline_app.verbs.rows import ROW_COMMANDS
from warpline_app.verbs.view import VIEW_COMMANDS
from warpline_app.verbs.window import WINDOW_COMMANDS

ENTRY_POINT_GROUP = "warpline.verbs"
TIMELINE_COMMANDS: tuple[WindowCommand, ...] = (
    *VIEW_COMMANDS,
    *LAYOUT_COMMANDS,
    *EVENT_COMMANDS,
    *ROW_COMMANDS,
)
"""Commands that act on the timeline in front."""


def all_commands() -> tuple[WindowCommand, ...]:
    """Every command, in menu order. Commands of other distributions cannot take an id or key of ours."""
    panels = panel_commands()
    ours = (*FILE_COMMANDS, *TIMELINE_COMMANDS, *COMPARE_COMMANDS, *JOB_COMMANDS, *WINDOW_COMMANDS)
    taken = {_portable(key) for command in ours for key in command.keys}
    commands = {
        command.id: command
        for command in (
            *FILE_COMMANDS,
            *TIMELINE_COMMANDS,
            *panels,
            *COMPARE_COMMANDS,
            *JOB_COMMANDS,
            *WINDOW_COMMANDS,
        )
    }
    for command in (*panels, *_installed()):
        if command in panels or command.id not in commands:
            # Other distributions register panels, too.
            free = tuple(key for key in command.keys if _portable(key) not in taken)
            taken.update(_portable(key) for key in free)
            commands[command.id] = replace(command, keys=free)
    return tuple(commands.values())


def _portable(key: str) -> str:
    return QKeySequence(key).toString()


def _installed() -> Iterator[WindowCommand]:
    """The commands of the entry points, each of which names a tuple of commands."""
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            commands = tuple(point.load())
            if not all(isinstance(command, WindowCommand) for command in commands):
                raise TypeError(tr("{value!r} is not a tuple of commands", value=commands))
        except Exception as error:  # another distribution's code may raise anything
            yield _broken(point, error)
        else:
            yield from commands


def _broken(point: plugins.EntryPoint, error: Exception) -> WindowCommand:
    """A stand-in for commands that cannot be loaded: the palette lists it and says why it does not work."""
    reason = tr("cannot be loaded from {value}: {error}", value=point.value, error=error)
    broken = Need(lambda _context: False, reason)
    return WindowCommand(
        point.name, point.name, "Help", lambda _context: None, needs=(broken,), in_menu=False
    )
