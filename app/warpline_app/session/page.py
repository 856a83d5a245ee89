"""One tab with an open capture: its document and the timeline that shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from warpline_app.session.document import Document
from warpline_app.session.settings import Settings

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView


class CapturePage(QWidget):
    """Owns a document and its timeline; `close_document` lets go of both.

    ``source`` is the file the person chose: another profiler's trace has been converted into the capture shown.
    """

    def __init__(
        self, document: Document, source: Path, settings: Settings | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        from warpline_app.timeline.widgets.view import TimelineView

        self.document = document
        self.source = source
        self.view: TimelineView = TimelineView(document, self, settings=settings)
        document.state.reveal_wanted.connect(self.view.scene.reveal_event)
        document.state.row_wanted.connect(self.view.scene.reveal_row)
        self._was_painted = False
        self._waiting: list[Callable[[], None]] = []
        self.view.canvas.frame_drawn.connect(self._painted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self.setFocusProxy(self.view)

    def after_first_frame(self, act: Callable[[], None]) -> None:
        """Do something as soon as the timeline was painted, or at the next opportunity when it was already."""
        if self._was_painted:
            QTimer.singleShot(0, self, act)
        else:
            self._waiting.append(act)

    def _painted(self) -> None:
        if not self._was_painted:
            self._was_painted = True
            for act in self._waiting:
                QTimer.singleShot(0, self, act)
            self._waiting.clear()

    def close_document(self) -> None:
        """Take the timeline away, then close the file."""
        self.take_timeline_away()
        self.document.close()

    def take_timeline_away(self) -> None:
        """Stop all drawing and let go of the timeline; the file stays open for whoever shows it next."""
        self.view.shut_down()
        self.view.hide()
        self.view.setParent(None)
        self.view.deleteLater()
