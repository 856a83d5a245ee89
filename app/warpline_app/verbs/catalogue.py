"""All commands of the application: one line for each module that brings some."""

from __future__ import annotations

from warpline_app.commands.command import WindowCommand
from warpline_app.verbs.events import EVENT_COMMANDS
from warpline_app.verbs.files import FILE_COMMANDS
from warpline_app.verbs.layout import LAYOUT_COMMANDS
from warpline_app.verbs.rows import ROW_COMMANDS
from warpline_app.verbs.view import VIEW_COMMANDS
from warpline_app.verbs.window import WINDOW_COMMANDS

TIMELINE_COMMANDS: tuple[WindowCommand, ...] = (
    *VIEW_COMMANDS,
    *LAYOUT_COMMANDS,
    *EVENT_COMMANDS,
    *ROW_COMMANDS,
)
"""Those that act on the timeline in front."""


def all_commands() -> tuple[WindowCommand, ...]:
    """Every command, in the order of the menus."""
    return (*FILE_COMMANDS, *TIMELINE_COMMANDS, *WINDOW_COMMANDS)
