"""The panel Model, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.model.panel import ModelPanel

    return ModelPanel


spec = PanelSpec("model", "Model", load, position=38)
