"""A one-line label that elides its text and shows it whole in the tooltip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from warpline_app.look.painting import contained
from warpline_app.look.plain import plain


class ElidedLabel(QLabel):
    """Takes the width it gets and requests none, so long texts never widen a window."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    @property
    def is_elided(self) -> bool:
        """Whether the text does not fit."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the elided text as the tooltip unless another is set."""
        super().resizeEvent(event)
        whole = plain(self.text())
        if not self.toolTip() or self.toolTip() == whole:
            self.setToolTip(whole if self.is_elided else "")

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        rect = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), self._mode, rect.width())
        # Drawn directly: importing QStyle would create 566 constants in Python.
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(rect, int(self.alignment() | Qt.TextFlag.TextSingleLine), text)
