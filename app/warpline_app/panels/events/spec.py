"""Registers the panel Events."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.events.panel import EventsPanel

    return EventsPanel


spec = PanelSpec("events", "Events", load, position=20, keys=("Ctrl+2",), lists_events=True)
