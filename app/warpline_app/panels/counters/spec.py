"""The panel Counters, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.counters.panel import CountersPanel

    return CountersPanel


spec = PanelSpec("counters", "Counters", load, position=70, keys=("Ctrl+7",))
