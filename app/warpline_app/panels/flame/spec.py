"""Registers the panel Flame graph."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether events are nested or have stacks."""
    return not document.capture.kinds.keys().isdisjoint(
        ("operator", "range", "phase", "python", "sample", "module", "thread_state", "other")
    )


spec = PanelSpec(
    "flame",
    "Flame graph",
    panel_class(__name__, "FlamePanel"),
    position=30,
    keys=("Ctrl+3",),
    has_data=has_data,
)
