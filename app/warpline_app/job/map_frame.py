"""A job's map with scroll bars, shown only while part of the map is out of view."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QScrollBar, QWidget

from warpline_app.job.map_canvas import JobMapCanvas
from warpline_app.job.map_geometry import Axis

_FINE = 100
"""Scroll bar steps per cell."""


class MapFrame(QWidget):
    """Canvas and scroll bars, kept in sync."""

    def __init__(self, canvas: JobMapCanvas, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = canvas
        self.down, self.across = QScrollBar(Qt.Orientation.Vertical), QScrollBar(Qt.Orientation.Horizontal)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(canvas, 0, 0)
        grid.addWidget(self.down, 0, 1)
        grid.addWidget(self.across, 1, 0)
        self._is_following = False
        canvas.view_changed.connect(self._follow)
        self.down.valueChanged.connect(lambda value: self._scroll(value, None))
        self.across.valueChanged.connect(lambda value: self._scroll(None, value))
        self._follow()

    def _follow(self) -> None:
        self._is_following = True
        for bar, axis in ((self.down, self.canvas.rows), (self.across, self.canvas.steps)):
            length = axis.stop - axis.start
            bar.setRange(0, max(round((axis.count - length) * _FINE), 0))
            bar.setPageStep(max(round(length * _FINE), 1))
            bar.setSingleStep(_FINE)
            bar.setValue(round(axis.start * _FINE))
            bar.setVisible(not axis.is_whole)
        self._is_following = False

    def _scroll(self, row: int | None, step: int | None) -> None:
        if self._is_following:
            return

        def moved(axis: Axis, value: int | None) -> Axis:
            return axis if value is None else axis.moved(value / _FINE - axis.start)

        self.canvas.set_view(moved(self.canvas.rows, row), moved(self.canvas.steps, step))
