"""Generates docs/keys.md from the list of commands."""

from __future__ import annotations

from collections.abc import Iterable

from warpline_app.commands.command import WindowCommand
from warpline_app.commands.menus import MENU_ORDER
from warpline_app.dialogs.help_sheet import MOUSE

_INTRODUCTION = """# Keys, gestures and commands

Generated from the list of commands by `python scripts/write_keys.py`; a test compares it. Every command is in the
palette (`Ctrl+Shift+P`). Letter keys go by their position on the keyboard, so `W` `A` `S` `D` stay together on every
layout; held down, they accelerate.
"""


def keys_page(commands: Iterable[WindowCommand]) -> str:
    """The page as Markdown, in English."""
    groups: dict[str, list[WindowCommand]] = {category: [] for category in MENU_ORDER}
    for command in commands:
        groups.setdefault(command.category, []).append(command)
    parts = [_INTRODUCTION]
    for category, members in groups.items():
        if not members:
            continue
        parts.append(f"\n## {category}\n\n| command | keys |\n|---|---|\n")
        for command in members:
            keys = " ".join(f"`{_cell(key)}`" for key in command.keys)
            hint = f" — {command.hint}" if command.hint else ""
            parts.append(f"| {_cell(command.title)}{_cell(hint)} | {keys} |\n")
    parts.append("\n## Mouse\n\n| gesture | what it does |\n|---|---|\n")
    parts += [f"| {gesture} | {text} |\n" for gesture, text in MOUSE]
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
