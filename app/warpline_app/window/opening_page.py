"""The tab of a file being opened."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.progress_box import ProgressBox, center_in
from warpline_app.open.opening import Opening

_WIDTH_PX = 360


class OpeningPage(QWidget):
    """Shows the file's name and the progress."""

    cancel_requested = Signal()
    SHOW_AFTER_MS = 150

    def __init__(self, opening: Opening, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("openingPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.box = ProgressBox(opening.heading, _WIDTH_PX)
        self.box.cancel_requested.connect(self.cancel_requested)
        opening.progressed.connect(self.box.report)
        center_in(self, self.box)
        # Most captures open within a few frames: a progress bar would only flash.
        self.box.hide()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.box.show)
        self._timer.start(self.SHOW_AFTER_MS)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Draw the empty canvas where the timeline will appear."""
        painter.fillRect(event.rect(), appearance().theme.color("canvas"))
