"""One tab with an open capture: its document and the timeline that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from warpline_app.settings import Settings
from warpline_app.state import Document

if TYPE_CHECKING:
    from warpline_app.timeline.view import TimelineView


class CapturePage(QWidget):
    """Owns a document and its timeline; `close_document` lets go of both.

    ``source`` is the file the person chose: another profiler's trace has been converted into the capture shown.
    """

    def __init__(
        self, document: Document, source: Path, settings: Settings | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        from warpline_app.timeline.view import TimelineView

        self.document = document
        self.source = source
        self.view: TimelineView = TimelineView(document, self, settings=settings)
        document.state.reveal_wanted.connect(self.view.scene.reveal_event)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self.setFocusProxy(self.view)

    def close_document(self) -> None:
        """Take the timeline away, then close the file."""
        self.view.shut_down()
        self.view.hide()
        self.view.setParent(None)
        self.view.deleteLater()
        self.document.close()
