"""All commands: one line for each module that brings some, and those that other distributions register."""

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
"""Those that act on the timeline in front."""


def all_commands() -> tuple[WindowCommand, ...]:
    """Every command, in the order of the menus. Those of other distributions take no id and no key of ours."""
    panels = panel_commands()
    ours = (*FILE_COMMANDS, *TIMELINE_COMMANDS, *COMPARE_COMMANDS, *JOB_COMMANDS, *WINDOW_COMMANDS)
    taken = {_portable(key) for command in ours for key in command.keys}
    found = {
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
        if command in panels or command.id not in found:
            # Some of the panels are others', too.
            free = tuple(key for key in command.keys if _portable(key) not in taken)
            taken.update(_portable(key) for key in free)
            found[command.id] = replace(command, keys=free)
    return tuple(found.values())


def _portable(key: str) -> str:
    return QKeySequence(key).toString()


def _installed() -> Iterator[WindowCommand]:
    """What the entry points name: a tuple of commands each."""
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            commands = tuple(point.load())
            if not all(isinstance(command, WindowCommand) for command in commands):
                raise TypeError(tr("{found!r} is not a tuple of commands", found=commands))
        except Exception as error:  # whatever another distribution's code may do when it is imported
            yield _broken(point, error)
        else:
            yield from commands


def _broken(point: plugins.EntryPoint, error: Exception) -> WindowCommand:
    """Listed all the same, so that it is not missed in silence; it says why when it is asked for."""
    reason = tr("cannot be loaded from {value}: {error}", value=point.value, error=error)
    return WindowCommand(
        point.name,
        point.name,
        "Help",
        lambda _context: None,
        needs=(Need(lambda _context: False, reason),),
        in_menu=False,
    )
