"""Registers the panel Source."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether events can have stacks."""
    kinds = document.capture.kinds.values()
    return any(attribute.dtype == "stack" for table in kinds for attribute in table.spec.attributes)


spec = PanelSpec(
    "source",
    "Source",
    panel_class(__name__, "SourcePanel"),
    position=35,
    shows_source=True,
    has_data=has_data,
)
