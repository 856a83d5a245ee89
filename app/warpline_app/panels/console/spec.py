"""Registers the panel Console."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.console.panel import ConsolePanel

    return ConsolePanel


def has_data(document: Document) -> bool:
    """Whether the program was recorded here."""
    return bool(document.console_text)


spec = PanelSpec("console", "Console", load, position=90, keys=("Ctrl+9",), has_data=has_data)
