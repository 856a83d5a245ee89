"""What charts that paint themselves share: ground, title, and being saved as pictures."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.theme import ui_font
from warpline_app.open.messages import MessageList
from warpline_app.panels.charts.picture_saving import ask_and_save, save_picture


class DrawnChart(QWidget):
    """Base of charts: `draw` draws on anything, the widget or a picture; ``export_name`` is proposed for the file."""

    export_name = "chart"

    def __init__(self, messages: MessageList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages = messages

    def draw(self, painter: QPainter) -> None:
        """Draw on anything."""
        raise AssertionError("a chart draws itself")

    def draw_title(
        self, painter: QPainter, title: str, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        """The line above the chart; leaves its font to what is drawn next."""
        painter.setFont(ui_font(11))
        painter.setPen(appearance().theme.color("muted"))
        painter.drawText(8, 13, painter.fontMetrics().elidedText(title, mode, self.width() - 16))

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """The chart."""
        painter.fillRect(self.rect(), appearance().theme.color("panel"))
        self.draw(painter)

    def choose_export(self) -> None:
        """Ask for a file and save the chart in it."""
        ask_and_save(self, self.export_name, self.export, self._messages)

    def export(self, path: Path) -> None:
        """Save the chart: SVG when the name ends so, PNG at twice the size otherwise."""
        save_picture(path, self.rect(), appearance().theme.color("panel"), self.draw)
