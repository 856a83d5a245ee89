"""An open capture: the file, its state, and what belongs to it beside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline_app.open.alignment import ClockShifts
from warpline_app.open.messages import MessageList
from warpline_app.remembered.dismissals import Dismissals
from warpline_app.state.timeline_state import TimelineState

if TYPE_CHECKING:
    from warpline.storage import Capture


class Document(QObject):
    """An open capture with its state; what a tab shows.

    ``source`` is the file a person chose: another profiler's trace has been converted into the capture shown.
    ``messages`` is where a view of the capture tells what went wrong: the list of the workspace the document is in.
    """

    def __init__(
        self,
        capture: Capture,
        title: str = "",
        parent: QObject | None = None,
        *,
        source: Path | None = None,
        messages: MessageList | None = None,
    ) -> None:
        """Takes over ``capture``: `close` closes it."""
        super().__init__(parent)
        self.capture = capture
        self.state = TimelineState(*capture.span, self)
        self.source: Path = source or self.path
        self._title = title or self.path.name
        self.messages: MessageList = messages or MessageList(self)
        self.dismissals = Dismissals(parent=self)
        """Findings of the capture that a person does not want to see again."""
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
        """The file of the capture."""
        return Path(str(self.capture.path))

    def close(self) -> None:
        """Let go of the file and of itself. The views of this document must be gone."""
        self.capture.close()
        # A child of the workspace would stay until the window goes, and keep the file mapped.
        self.deleteLater()
