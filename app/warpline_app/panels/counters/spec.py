"""Registers the panel Counters."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.panel_spec import PanelSpec, panel_class


def has_data(document: Document) -> bool:
    """Whether there are counters or GPUs."""
    capture = document.capture
    return bool(capture.counters) or any(track.role == "gpu" for track in capture.tracks)


spec = PanelSpec(
    "counters",
    "Counters",
    panel_class(__name__, "CountersPanel"),
    position=70,
    keys=("Ctrl+7",),
    has_data=has_data,
)
