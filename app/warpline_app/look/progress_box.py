"""A progress display with a *Cancel* button, for the middle of an empty tab."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel


class ProgressBox(QWidget):
    """Heading, bar, detail and *Cancel*; `add` puts more widgets above the button."""

    cancel_requested = Signal()

    def __init__(self, heading: str, width_px: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(width_px)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(10)
        self.label = PlainLabel(heading)
        self.label.setObjectName("subhead")
        self.label.setWordWrap(True)
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.detail = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.detail.setObjectName("muted")
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.clicked.connect(self.cancel_requested)
        for widget in (self.label, self.bar, self.detail):
            self._column.addWidget(widget)
        self._column.addWidget(self.cancel, 0, Qt.AlignmentFlag.AlignLeft)

    def add(self, widget: QWidget) -> None:
        """Insert a widget above the button."""
        self._column.insertWidget(self._column.count() - 1, widget)

    def report(self, fraction: float, text: str) -> None:
        """Show the fraction done and what is being done."""
        if fraction > 0:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * min(fraction, 1.0)))
        self.detail.setText(text)


def center_in(page: QWidget, box: ProgressBox) -> None:
    """Lay out a box in the middle of an otherwise empty page."""
    layout = QGridLayout(page)
    layout.addWidget(box, 0, 0, Qt.AlignmentFlag.AlignCenter)
