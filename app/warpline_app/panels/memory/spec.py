"""Registers the panel Memory."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether allocations were recorded."""
    return "memory" in document.capture.kinds


spec = PanelSpec(
    "memory", "Memory", panel_class(__name__, "MemoryPanel"), position=60, keys=("Ctrl+6",), has_data=has_data
)
