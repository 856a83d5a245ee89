"""Registers the panel Steps."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether any event can be a step."""
    return not document.capture.kinds.keys().isdisjoint(("phase", "range", "operator", "other"))


spec = PanelSpec(
    "steps", "Steps", panel_class(__name__, "StepsPanel"), position=40, keys=("Ctrl+4",), has_data=has_data
)
