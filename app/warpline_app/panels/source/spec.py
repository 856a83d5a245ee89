"""The panel Source, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.source.panel import SourcePanel

    return SourcePanel


spec = PanelSpec("source", "Source", load, position=35, shows_source=True)
