"""Registers the panel Events."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec(
    "events",
    "Events",
    panel_class("warpline_app.panels.events.panel:EventsPanel"),
    position=20,
    keys=("Ctrl+2",),
    lists_events=True,
)
