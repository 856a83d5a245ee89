"""Registers the panel About this capture."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.sources.panel import SourcesPanel

    return SourcesPanel


spec = PanelSpec("sources", "About this capture", load, position=80, keys=("Ctrl+8",))
