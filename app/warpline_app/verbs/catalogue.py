"""All commands: those of the verb modules, and those that other distributions register."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtGui import QKeySequence

from warpline import plugins
from warpline.i18n import translated
from warpline_app.commands.command import Need, WindowCommand
from warpline_app.verbs.compare import COMPARE_COMMANDS
from warpline_app.verbs.derived_rows import DERIVED_COMMANDS
from warpline_app.verbs.events import EVENT_COMMANDS
from warpline_app.verbs.files import FILE_COMMANDS
from warpline_app.verbs.job import JOB_COMMANDS
from warpline_app.verbs.layout import LAYOUT_COMMANDS
from warpline_app.verbs.live import LIVE_COMMANDS
from warpline_app.verbs.notes import NOTE_COMMANDS
from warpline_app.verbs.panels import panel_commands
from warpline_app.verbs.rows import ROW_COMMANDS
from warpline_app.verbs.view import VIEW_COMMANDS
from warpline_app.verbs.window import WINDOW_COMMANDS

ENTRY_POINT_GROUP = "warpline.verbs"
TIMELINE_COMMANDS: tuple[WindowCommand, ...] = (
    *VIEW_COMMANDS,
    *LAYOUT_COMMANDS,
    *EVENT_COMMANDS,
    *NOTE_COMMANDS,
    *ROW_COMMANDS,
    *DERIVED_COMMANDS,
)
"""Commands that act on the timeline in front."""


def all_commands() -> tuple[WindowCommand, ...]:
    """Every command, in menu order. Commands of other distributions cannot take an id or key of ours."""
    panels = panel_commands()
    ours = (
        *FILE_COMMANDS,
        *TIMELINE_COMMANDS,
        *LIVE_COMMANDS,
        *COMPARE_COMMANDS,
        *JOB_COMMANDS,
        *WINDOW_COMMANDS,
    )
    taken = {_portable(key) for command in ours for key in command.keys}
    commands = {
        command.id: command
        for command in (
            *FILE_COMMANDS,
            *TIMELINE_COMMANDS,
            *LIVE_COMMANDS,
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
    """The commands of each entry point, which names a tuple of them."""
    for plugin in plugins.load_plugins(ENTRY_POINT_GROUP, tuple, _check_commands):
        yield from (_broken(plugin),) if plugin.value is None else plugin.value


def _check_commands(commands: tuple[object, ...]) -> None:
    for command in commands:
        plugins.checked(command, WindowCommand)


def _broken(plugin: plugins.Plugin[tuple[WindowCommand, ...]]) -> WindowCommand:
    """Stands for commands that cannot be loaded, and says why when it is run."""
    return WindowCommand(
        plugin.name,
        plugin.name,
        "Help",
        lambda _context: None,
        needs=(Need(lambda _context: False, translated(plugin.problem)),),
        in_menu=False,
    )
