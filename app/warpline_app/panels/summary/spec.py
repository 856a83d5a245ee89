"""Registers the panel Summary."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec("summary", "Summary", panel_class(__name__, "SummaryPanel"), position=10, keys=("Ctrl+1",))
