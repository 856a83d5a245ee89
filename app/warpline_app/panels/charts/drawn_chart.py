"""Base of charts that paint themselves: background, title, saving as a picture."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.theme import ui_font
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.charts.picture_saving import ask_and_save, save_picture


class DrawnChart(QWidget):
    """A chart whose `draw` works on the widget and on pictures; ``export_name`` is the proposed file name."""

    export_name = "chart"

    def __init__(self, messages: MessageTarget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages = messages

    def draw(self, painter: QPainter) -> None:
        """Draw on any device."""
        raise AssertionError("a chart draws itself")

    def draw_title(
        self, painter: QPainter, title: str, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        """Draw the title line; its font stays set."""
        painter.setFont(ui_font(11))
        painter.setPen(appearance().theme.color("muted"))
        painter.drawText(8, 13, painter.fontMetrics().elidedText(title, mode, self.width() - 16))

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        painter.fillRect(self.rect(), appearance().theme.color("panel"))
        self.draw(painter)

    def choose_export(self) -> None:
        """Ask for a file and save the chart."""
        ask_and_save(self, self.export_name, self.export, self._messages)

    def export(self, path: Path) -> None:
        """Save the chart: SVG if the name ends in .svg, else PNG at twice its size."""
        save_picture(path, self.rect(), appearance().theme.color("panel"), self.draw)
