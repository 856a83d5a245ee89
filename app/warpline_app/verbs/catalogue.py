"""All commands of the application: one line per module that brings some."""

from __future__ import annotations

from warpline_app.commands.command import Command


def all_commands() -> tuple[Command, ...]:
    """Every command, in the order of the menus."""
    from warpline_app.verbs.timeline import TIMELINE_COMMANDS
    from warpline_app.verbs.window import FILE_COMMANDS, WINDOW_COMMANDS

    return (*FILE_COMMANDS, *TIMELINE_COMMANDS, *WINDOW_COMMANDS)
