"""The panel Summary, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.summary.panel import SummaryPanel

    return SummaryPanel


spec = PanelSpec("summary", "Summary", load, position=10, keys=("Ctrl+1",))
