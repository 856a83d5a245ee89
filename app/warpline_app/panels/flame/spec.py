"""Registers the panel Flame graph."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.flame.panel import FlamePanel

    return FlamePanel


def has_data(document: Document) -> bool:
    """Whether events are nested or have stacks."""
    return not document.capture.kinds.keys().isdisjoint(
        ("operator", "range", "phase", "python", "sample", "module", "thread_state", "other")
    )


spec = PanelSpec("flame", "Flame graph", load, position=30, keys=("Ctrl+3",), has_data=has_data)
