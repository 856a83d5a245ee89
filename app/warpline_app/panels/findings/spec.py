"""Registers the panel Findings."""

from __future__ import annotations

from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """Import the panel's class."""
    from warpline_app.panels.findings.panel import FindingsPanel

    return FindingsPanel


spec = PanelSpec(
    "findings",
    "Findings",
    load,
    position=5,
    keys=("Ctrl+I",),
    greets=True,
    ahead=("warpline.analysis.findings.wording", "warpline.analysis.framework.selection"),
)
