"""The panel Events, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.events.panel import EventsPanel

    return EventsPanel


spec = PanelSpec("events", "Events", load, position=20, keys=("Ctrl+2",), lists_events=True)
