"""The panel Steps, before it is loaded."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.steps.panel import StepsPanel

    return StepsPanel


spec = PanelSpec("steps", "Steps", load, position=40, keys=("Ctrl+4",))
