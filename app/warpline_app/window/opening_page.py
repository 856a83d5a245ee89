"""The tab of a file that is being opened."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.session.opening import Opening


class OpeningPage(QWidget):
    """Says what is being opened, and how far that is."""

    cancel_requested = Signal()
    SHOW_AFTER_MS = 150

    def __init__(self, opening: Opening, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("openingPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        opening.progressed.connect(self.report)
        self._box = QWidget()
        column = QVBoxLayout(self._box)
        column.setSpacing(10)
        self.label = QLabel(opening.heading)
        self.label.setObjectName("subhead")
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(360)
        self.detail = QLabel()
        self.detail.setObjectName("muted")
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.clicked.connect(self.cancel_requested)
        column.addWidget(self.label)
        column.addWidget(self.bar)
        column.addWidget(self.detail)
        column.addWidget(self.cancel, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QGridLayout(self)
        layout.addWidget(self._box, 0, 0, Qt.AlignmentFlag.AlignCenter)
        # Most captures open within a few frames: a progress bar that flashes by is noise.
        self._box.hide()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._box.show)
        self._timer.start(self.SHOW_AFTER_MS)

    def report(self, fraction: float, text: str) -> None:
        """Show how far it is."""
        if fraction > 0:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * min(fraction, 1.0)))
        self.detail.setText(text)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """The empty canvas the timeline will appear on."""
        painter.fillRect(event.rect(), appearance().theme.color("canvas"))
