"""Registers the panel Findings."""

from __future__ import annotations

from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class

spec = PanelSpec(
    "findings",
    "Findings",
    panel_class(__name__, "FindingsPanel"),
    position=5,
    keys=("Ctrl+I",),
    greets=True,
    ahead=(
        "warpline.analysis.findings.why",
        "warpline.analysis.findings.wording",
        "warpline.analysis.framework.selection",
    ),
)
