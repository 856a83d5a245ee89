"""Registers the panel Histogram."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec(
    "histogram", "Histogram", panel_class(__name__, "HistogramPanel"), position=50, keys=("Ctrl+5",)
)
