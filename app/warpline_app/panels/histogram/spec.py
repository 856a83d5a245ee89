"""Registers the panel Histogram."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.histogram.panel import HistogramPanel

    return HistogramPanel


spec = PanelSpec("histogram", "Histogram", load, position=50, keys=("Ctrl+5",))
