"""Charts with two axes in the window's style; saved as PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QApplication, QMenu, QSizePolicy, QWidget

from warpline.i18n import tr
from warpline.model.times import format_time
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import saved
from warpline_app.look.theme import ui_font
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.charts.drawn_chart import DrawnChart
from warpline_app.panels.charts.marks import (
    BarMarks,
    ChartMark,
    ChartPlane,
    DotMarks,
    FloatArray,
    LabelMark,
    LineMark,
    MomentMark,
)
from warpline_app.panels.charts.ticks import linear_ticks

_TICK_PX = {"bottom": 90, "left": 44}
_LEFT_PX, _BOTTOM_PX = 66, 22


class ChartAxis:
    """The visible range of an axis, and the places and texts of its ticks."""

    def __init__(self, side: str) -> None:
        self.side = side
        self.range = (0.0, 1.0)
        self.text: Callable[[float], str] = str
        self.texts: Callable[[list[float], float], list[str]] | None = None
        """Texts of all ticks, given their spacing; takes precedence over ``text``."""
        self.ticks: Callable[[float, float, int], list[float]] = linear_ticks

    def labels(self, length_px: float) -> list[tuple[float, str]]:
        """Ticks that have room on ``length_px`` pixels: value and text."""
        values = self.ticks(*self.range, max(2, int(length_px / _TICK_PX[self.side])))
        spacing = values[1] - values[0] if len(values) > 1 else 0.0
        texts = self.texts(values, spacing) if self.texts is not None else [self.text(v) for v in values]
        return list(zip(values, texts, strict=True))


class Chart(DrawnChart):
    """One plot. `clicked` and `hovered` pass positions in axis units."""

    clicked = Signal(float, float)
    hovered = Signal(float, float)

    def __init__(self, messages: MessageTarget, parent: QWidget | None = None) -> None:
        super().__init__(messages, parent)
        self.x_axis = ChartAxis("bottom")
        self.y_axis = ChartAxis("left")
        self.marks: list[ChartMark] = []
        self._has_axes = True
        self._pressed = QPoint()
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)

    def sizeHint(self) -> QSize:
        return QSize(256, 192)

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEFT_PX + 10, _BOTTOM_PX + 50)

    def show_axes(self, on: bool) -> None:
        """Show or hide the axes; hidden axes mark an empty chart."""
        self._has_axes = on
        self.update()

    def show_range(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Show exactly this range."""
        self.x_axis.range, self.y_axis.range = x, y
        self.update()

    def clear(self) -> None:
        """Draw nothing."""
        self.marks = []
        self.update()

    def _add(self, mark: ChartMark) -> None:
        self.marks.append(mark)
        self.update()

    def bars(
        self,
        x: FloatArray,
        width: float | FloatArray,
        height: FloatArray,
        color: str,
        base: FloatArray | None = None,
        *,
        is_outline: bool = False,
    ) -> None:
        """Vertical bars from ``base`` (default 0), or outlines."""
        base = np.zeros(len(x)) if base is None else base
        wide = np.broadcast_to(np.asarray(width, np.float64), x.shape)
        self._add(BarMarks(x=x, width=wide, base=base, height=height, color=color, is_outline=is_outline))

    def line(self, x: FloatArray, y: FloatArray, color: str, *, filled: bool = False) -> None:
        """A line, broken at NaN."""
        self._add(LineMark(x=x, y=y, color=color, is_filled=filled))

    def dots(
        self,
        x: FloatArray,
        y: FloatArray,
        size: FloatArray,
        color: str,
        symbol: str,
        *,
        is_outline: bool = False,
    ) -> None:
        """Points of ``size`` pixels; ``symbol`` as in `DotMarks`."""
        self._add(DotMarks(x=x, y=y, size=size, color=color, symbol=symbol, is_outline=is_outline))

    def label(
        self, x: float, y: float, text: str, color: str, *, above: bool = False, right: bool = False
    ) -> None:
        """A text at a position: to its right, or with ``right`` to its left; below or above it."""
        self._add(LabelMark(x=x, y=y, text=text, color=color, is_above=above, is_left=right))

    def marker(self, x: float, color: str, text: str = "", *, thin: bool = False) -> None:
        """A vertical line with a label at its top."""
        self._add(MomentMark(x=x, color=color, text=text, is_thin=thin))

    def plane(self) -> ChartPlane:
        """Where values are drawn."""
        left, bottom = (_LEFT_PX, _BOTTOM_PX) if self._has_axes else (0, 0)
        area = QRectF(self.rect().adjusted(left, 1, -1, -bottom - 1))
        return ChartPlane(area, self.x_axis.range, self.y_axis.range)

    def draw(self, painter: QPainter) -> None:
        """Draw grid, marks and axes."""
        plane = self.plane()
        if min(plane.unit) <= 0 or not self._has_axes:
            return
        rows = self.y_axis.labels(plane.area.height())
        painter.setPen(appearance().theme.color("grid"))
        for value, _ in rows:
            y = plane.point(0, value).y()
            painter.drawLine(QPointF(plane.area.left(), y), QPointF(plane.area.right(), y))
        for mark in self.marks:
            with saved(painter):
                painter.setClipRect(plane.area)
                mark.draw(painter, plane)
        self._draw_axes(painter, plane, rows)

    def _draw_axes(self, painter: QPainter, plane: ChartPlane, rows: list[tuple[float, str]]) -> None:
        theme, area = appearance().theme, plane.area
        painter.setFont(ui_font(11))
        metrics = painter.fontMetrics()
        painter.setPen(theme.color("muted"))
        for value, text in rows:
            middle = plane.point(0, value).y() + metrics.ascent() / 2 - 1
            baseline = min(max(middle, area.top() + metrics.ascent()), area.bottom())
            wide = metrics.horizontalAdvance(text)
            painter.drawText(QPointF(area.left() - 8 - wide, baseline), text)
        for value, text in self.x_axis.labels(area.width()):
            x, wide = plane.point(value, 0).x(), metrics.horizontalAdvance(text)
            painter.setPen(theme.color("hairline"))
            painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 4))
            painter.setPen(theme.color("muted"))
            left = min(max(x - wide / 2, area.left() - _LEFT_PX), area.right() - wide)
            painter.drawText(QPointF(left, area.bottom() + 5 + metrics.ascent()), text)
        painter.setPen(theme.color("hairline"))
        painter.drawPolyline([area.topLeft(), area.bottomLeft(), area.bottomRight()])

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        moved = (event.position().toPoint() - self._pressed).manhattanLength()
        if event.button() == Qt.MouseButton.LeftButton and moved < QApplication.startDragDistance():
            self.clicked.emit(*self.plane().values(event.position()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.plane().area.contains(event.position()):
            self.hovered.emit(*self.plane().values(event.position()))

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Save chart…"), self.choose_export)
        menu.popup(self.mapToGlobal(position))


def time_axis(chart: Chart, start_ns: int, stop_ns: int, origin_ns: int = 0) -> None:
    """Label an x axis of ns since the capture's start with times since ``origin_ns``, at round values."""
    fine = max((stop_ns - start_ns) // 200, 1)
    axis = chart.x_axis
    axis.text = lambda value: format_time(round(value) - origin_ns, fine)
    axis.ticks = lambda low, high, most: [
        value + origin_ns for value in linear_ticks(low - origin_ns, high - origin_ns, most)
    ]
    chart.update()
