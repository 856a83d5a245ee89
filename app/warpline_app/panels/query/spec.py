"""Registers the panel Query."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec("query", "Query", panel_class(__name__, "QueryPanel"), position=77, keys=("Ctrl+L",))
