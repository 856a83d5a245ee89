"""Registers the panel Memory."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.memory.panel import MemoryPanel

    return MemoryPanel


def has_data(document: Document) -> bool:
    """Whether allocations were recorded."""
    return "memory" in document.capture.kinds


spec = PanelSpec("memory", "Memory", load, position=60, keys=("Ctrl+6",), has_data=has_data)
