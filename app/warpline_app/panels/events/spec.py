"""Registers the panel Events."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec(
    "events", "Events", panel_class(__name__, "EventsPanel"), position=20, keys=("Ctrl+2",), lists_events=True
)
