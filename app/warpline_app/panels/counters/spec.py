"""The panel Counters, before it is loaded."""

from __future__ import annotations

from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec


def load() -> type[Panel]:
    """The panel's class."""
    from warpline_app.panels.counters.panel import CountersPanel

    return CountersPanel


def has_data(document: Document) -> bool:
    """Whether there is a curve: a counter, or the use of a GPU."""
    capture = document.capture
    return bool(capture.counters) or any(track.role == "gpu" for track in capture.tracks)


spec = PanelSpec("counters", "Counters", load, position=70, keys=("Ctrl+7",), has_data=has_data)
