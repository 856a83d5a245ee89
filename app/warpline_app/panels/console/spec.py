"""Registers the panel Console."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether the program was recorded here."""
    return bool(document.console_text)


spec = PanelSpec(
    "console",
    "Console",
    panel_class(__name__, "ConsolePanel"),
    position=90,
    keys=("Ctrl+9",),
    has_data=has_data,
)
