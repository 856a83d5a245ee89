"""Registers the panel Details."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.details.panel import DetailsPanel

    return DetailsPanel


spec = PanelSpec(
    "details",
    "Details",
    load,
    position=100,
    area="right",
    keys=("Ctrl+D",),
    ahead=(
        "warpline.analysis.structure.attribution",
        "warpline.analysis.structure.modules",
        "warpline.analysis.structure.thread_states",
        "warpline.analysis.structure.wait_story",
    ),
)
