"""Registers the panel Roofline."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether kernels and the shapes of operators were recorded."""
    kinds = document.capture.kinds
    return "kernel" in kinds and "operator" in kinds and "input_types" in kinds["operator"].attributes


spec = PanelSpec(
    "roofline", "Roofline", panel_class(__name__, "RooflinePanel"), position=55, has_data=has_data
)
