"""The panel Model, before it is loaded."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether modules were recorded, or Python's calls, which name them in some traces."""
    return not document.capture.kinds.keys().isdisjoint(("module", "python"))


spec = PanelSpec("model", "Model", panel_class(__name__, "ModelPanel"), position=38, has_data=has_data)
