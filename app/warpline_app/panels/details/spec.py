"""Registers the panel Details."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec(
    "details",
    "Details",
    panel_class(__name__, "DetailsPanel"),
    position=100,
    area="right",
    keys=("Ctrl+D",),
    ahead=(
        "warpline.analysis.serving.batches",
        "warpline.analysis.structure.attribution",
        "warpline.analysis.structure.modules",
        "warpline.analysis.structure.thread_states",
        "warpline.analysis.structure.wait_story",
    ),
)
