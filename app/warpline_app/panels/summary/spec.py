"""Registers the panel Summary."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.summary.panel import SummaryPanel

    return SummaryPanel


spec = PanelSpec("summary", "Summary", load, position=10, keys=("Ctrl+1",))
