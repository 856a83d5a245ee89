"""Registers the panel About this capture."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec(
    "sources", "About this capture", panel_class(__name__, "SourcesPanel"), position=80, keys=("Ctrl+8",)
)
