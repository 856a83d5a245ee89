"""What charts are made of: bars, lines, dots, labels and markers, each drawn in the pixels of a `ChartPlane`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from warpline_app.look.appearance import appearance
from warpline_app.look.theme import ui_font

FloatArray = npt.NDArray[np.float64]

_LABEL_GAP_PX = 4
_FILL_ALPHA = 60


@dataclass(frozen=True)
class ChartPlane:
    """Places values of two axes in an area of pixels."""

    area: QRectF
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    @property
    def unit(self) -> tuple[float, float]:
        """The length of a pixel in units of each axis."""
        (left, right), (low, high) = self.x_range, self.y_range
        return (right - left) / max(self.area.width(), 1), (high - low) / max(self.area.height(), 1)

    def x_px(self, values: FloatArray) -> FloatArray:
        """Pixels from the left edge of the widget."""
        return self.area.left() + (values - self.x_range[0]) / self.unit[0]

    def y_px(self, values: FloatArray) -> FloatArray:
        """Pixels from its upper edge."""
        return self.area.bottom() - (values - self.y_range[0]) / self.unit[1]

    def point(self, x: float, y: float) -> QPointF:
        """The pixel of a pair of values."""
        return QPointF(
            self.area.left() + (x - self.x_range[0]) / self.unit[0],
            self.area.bottom() - (y - self.y_range[0]) / self.unit[1],
        )

    def values(self, point: QPointF) -> tuple[float, float]:
        """The values at a pixel."""
        return (
            self.x_range[0] + (point.x() - self.area.left()) * self.unit[0],
            self.y_range[0] + (self.area.bottom() - point.y()) * self.unit[1],
        )


class ChartMark(Protocol):
    """Something in a chart."""

    def draw(self, painter: QPainter, plane: ChartPlane) -> None:
        """Draws itself; the painter is clipped to the plane's area."""
        ...


@dataclass(frozen=True, kw_only=True)
class BarMarks:
    """Vertical bars [n] from ``base`` up; or their outlines."""

    x: FloatArray
    width: FloatArray
    base: FloatArray
    height: FloatArray
    color: str
    is_outline: bool = False

    def draw(self, painter: QPainter, plane: ChartPlane) -> None:
        """Draws bars narrower than a pixel as the highest of each pixel."""
        left = plane.x_px(self.x - self.width / 2)
        right = plane.x_px(self.x + self.width / 2)
        low, high = plane.y_px(self.base), plane.y_px(self.base + self.height)
        if len(left) > plane.area.width():
            order = np.argsort(left, kind="stable")
            column = np.floor(left[order])
            first = np.flatnonzero(np.diff(column, prepend=-np.inf))
            left, right = column[first], np.maximum.reduceat(right[order], first)
            low, high = np.maximum.reduceat(low[order], first), np.minimum.reduceat(high[order], first)
        rectangles = [
            QRectF(*values)
            for values in zip(left, high, np.maximum(right - left, 1), low - high, strict=True)
        ]
        if self.is_outline:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self.color), 2))
        else:
            painter.setBrush(QColor(self.color))
            painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRects(rectangles)


@dataclass(frozen=True, kw_only=True)
class LineMark:
    """A line through points [n], broken at NaN; the area down to 0 may be filled."""

    x: FloatArray
    y: FloatArray
    color: str
    is_filled: bool = False

    def draw(self, painter: QPainter, plane: ChartPlane) -> None:
        """Draws each unbroken part."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        known = np.flatnonzero(np.isfinite(self.x) & np.isfinite(self.y))
        x, y = plane.x_px(self.x), plane.y_px(self.y)
        zero = plane.point(0, 0).y()
        for part in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
            if not len(part):
                continue
            points = [QPointF(*values) for values in zip(x[part], y[part], strict=True)]
            if self.is_filled:
                shade = QColor(self.color)
                shade.setAlpha(_FILL_ALPHA)
                painter.setBrush(shade)
                painter.setPen(Qt.PenStyle.NoPen)
                ends = (QPointF(points[-1].x(), zero), QPointF(points[0].x(), zero))
                painter.drawPolygon(QPolygonF([*points, *ends]))
            painter.setPen(QPen(QColor(self.color), 1))
            painter.drawPolyline(QPolygonF(points))


@dataclass(frozen=True, kw_only=True)
class DotMarks:
    """Points [n] of ``size`` pixels; ``symbol`` is o (circle), s (square) or t (triangle)."""

    x: FloatArray
    y: FloatArray
    size: FloatArray
    color: str
    symbol: str
    is_outline: bool = False

    def draw(self, painter: QPainter, plane: ChartPlane) -> None:
        """Draws each in the order given."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = QColor(self.color)
        painter.setBrush(Qt.BrushStyle.NoBrush if self.is_outline else color)
        # An edge in the background's colour keeps overlapping points apart.
        painter.setPen(QPen(color, 2) if self.is_outline else appearance().theme.color("panel"))
        for x, y, size in zip(plane.x_px(self.x), plane.y_px(self.y), self.size, strict=True):
            box = QRectF(x - size / 2, y - size / 2, size, size)
            if self.symbol == "o":
                painter.drawEllipse(box)
            elif self.symbol == "s":
                painter.drawRect(box)
            else:
                top = QPointF(x, box.top())
                painter.drawPolygon(QPolygonF([top, box.bottomRight(), box.bottomLeft()]))


@dataclass(frozen=True, kw_only=True)
class LabelMark:
    """A text at a position: to its right or left, below or above it."""

    x: float
    y: float
    text: str
    color: str
    is_above: bool = False
    is_left: bool = False

    def draw(self, painter: QPainter, plane: ChartPlane) -> None:
        """Draws in the small font."""
        painter.setFont(ui_font(11))
        painter.setPen(QColor(self.color))
        metrics, point = painter.fontMetrics(), plane.point(self.x, self.y)
        wide = metrics.horizontalAdvance(self.text)
        left = point.x() - _LABEL_GAP_PX - wide if self.is_left else point.x() + _LABEL_GAP_PX
        below = point.y() + _LABEL_GAP_PX + metrics.ascent()
        above = point.y() - _LABEL_GAP_PX - metrics.descent()
        painter.drawText(QPointF(left, above if self.is_above else below), self.text)


@dataclass(frozen=True, kw_only=True)
class MomentMark:
    """A vertical line with a text beside it."""

    x: float
    color: str
    text: str = ""
    is_thin: bool = False

    def draw(self, painter: QPainter, plane: ChartPlane) -> None:
        """Draws the text near the top; beside a thin line in the middle, away from what it marks."""
        x, area = plane.point(self.x, 0).x(), plane.area
        painter.setFont(ui_font(11))
        painter.setPen(QPen(QColor(self.color), 1 if self.is_thin else 2))
        painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
        metrics = painter.fontMetrics()
        wide = metrics.horizontalAdvance(self.text)
        is_left = x + _LABEL_GAP_PX + wide > area.right()
        left = x - _LABEL_GAP_PX - wide if is_left else x + _LABEL_GAP_PX
        y = area.top() + area.height() * (0.45 if self.is_thin else 0.08)
        painter.drawText(QPointF(left, max(y, area.top() + metrics.ascent())), self.text)
