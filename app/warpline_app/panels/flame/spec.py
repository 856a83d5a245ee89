"""The panel Flame graph, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.flame.panel import FlamePanel

    return FlamePanel


spec = PanelSpec("flame", "Flame graph", load, position=30, keys=("Ctrl+3",))
