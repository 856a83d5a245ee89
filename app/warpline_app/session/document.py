"""An open capture: the file, its state, and what belongs to it beside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline_app.session.alignment import ClockShifts
from warpline_app.session.timeline_state import TimelineState

if TYPE_CHECKING:
    from warpline.storage import Capture


class Document(QObject):
    """An open capture with its state; what a tab shows."""

    def __init__(self, capture: Capture, title: str = "", parent: QObject | None = None) -> None:
        """Takes over ``capture``: `close` closes it."""
        super().__init__(parent)
        self.capture = capture
        self.state = TimelineState(*capture.span, self)
        self._title = title or Path(str(capture.path)).name
        self.alignment = ClockShifts()
        """How far the clocks of ``capture`` are moved against those in its file."""
        self.console_text = ""
        """What the program printed, where this capture was recorded from the window."""

    @property
    def title(self) -> str:
        """What the tab says."""
        return self._title

    @property
    def path(self) -> Path:
        """The file."""
        return Path(str(self.capture.path))

    def close(self) -> None:
        """Let go of the file. The views of this document must be gone."""
        self.capture.close()
