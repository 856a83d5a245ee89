"""Charts in the window's style: pyqtgraph without its colours, menus and buttons; saved as PNG or SVG."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QMenu, QWidget

from warpline.i18n import tr
from warpline.model.times import format_duration, format_time
from warpline_app.look.theme import Theme, ui_font
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.charts.picture_saving import ask_and_save, save_picture

FloatArray = npt.NDArray[np.float64]


_TICK_PX = {"bottom": 90, "left": 44}
_LEFT_PX, _BOTTOM_PX = 66, 22
_MOST_TICKS = 40


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """At most about ``most`` round values (1, 2 or 5 times a power of ten) in [low, high]."""
    length = high - low
    if not (math.isfinite(length) and length > 0):
        return []
    rough = length / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 5) if power * factor >= rough), power * 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, min(last, first + _MOST_TICKS) + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Base-10 logarithms of 1, 2 and 5 times powers of ten; only powers if there are many."""
    factors = (1, 2, 5) if (high - low) * 3 <= most else (1,)
    powers = range(math.floor(low), min(math.ceil(high), math.floor(low) + _MOST_TICKS) + 1)
    every = max(1, math.ceil((high - low) / max(most, 1)))
    values = [power + math.log10(factor) for power in powers if power % every == 0 for factor in factors]
    return [value for value in values if low <= value <= high]


def whole_ticks(low: float, high: float, most: int) -> list[float]:
    """Round whole numbers."""
    found = linear_ticks(low, high, most)
    return [value for value in found if abs(value - round(value)) < 1e-6]


class TextAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """An axis with a function for its tick texts.

    It paints itself: pyqtgraph measures and records all tick levels at every range change, which takes longer than
    the rest of a chart that follows a drag.
    """

    def __init__(self, orientation: str, text: Callable[[float], str]) -> None:
        super().__init__(orientation)
        self.text = text
        self.texts: Callable[[list[float], float], list[str]] | None = None
        """Texts of all ticks, given their spacing; takes precedence over ``text``."""
        self.ticks: Callable[[float, float, int], list[float]] = linear_ticks
        self.has_grid = False
        self.colors = (QColor(), QColor(), QColor())
        """of the text, the ticks and the grid"""
        if orientation == "left":
            self.setWidth(_LEFT_PX)
        else:
            self.setHeight(_BOTTOM_PX)

    def setRange(self, mn: float, mx: float) -> None:
        """Set the visible range. Replaces pyqtgraph's method, which lays out an unused label."""
        if [mn, mx] != getattr(self, "range", None):
            self.range = [mn, mx]
            self.update()

    def paint(self, painter: QPainter, _option: object, _widget: object) -> None:
        box = self.linkedView()
        low, high = self.range
        if box is None or high <= low:
            return
        area = self.mapRectFromItem(box, box.boundingRect())
        is_left = self.orientation == "left"
        length = area.height() if is_left else area.width()
        values = self.ticks(low, high, max(2, int(length / _TICK_PX[self.orientation])))
        spacing = values[1] - values[0] if len(values) > 1 else 0.0
        texts = self.texts(values, spacing) if self.texts is not None else [self.text(v) for v in values]
        painter.setFont(ui_font(11))
        metrics = painter.fontMetrics()
        text_color, tick_color, grid_color = self.colors
        for value, text in zip(values, texts, strict=True):
            share = (value - low) / (high - low)
            wide = metrics.horizontalAdvance(text)
            if is_left:
                y = area.bottom() - share * length
                if self.has_grid:
                    painter.setPen(grid_color)
                    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
                painter.setPen(text_color)
                baseline = min(
                    max(y + metrics.ascent() / 2 - 1, area.top() + metrics.ascent()), area.bottom()
                )
                painter.drawText(QPointF(area.left() - 8 - wide, baseline), text)
            else:
                x = area.left() + share * length
                painter.setPen(tick_color)
                painter.drawLine(QPointF(x, area.bottom()), QPointF(x, area.bottom() + 4))
                painter.setPen(text_color)
                left = min(max(x - wide / 2, area.left() - _LEFT_PX), area.right() - wide)
                painter.drawText(QPointF(left, area.bottom() + 5 + metrics.ascent()), text)
        painter.setPen(tick_color)
        corner = area.topLeft() if is_left else area.bottomRight()
        painter.drawLine(area.bottomLeft(), corner)


class Chart(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """One plot. `clicked` and `hovered` pass positions in axis units."""

    clicked = Signal(float, float)
    hovered = Signal(float, float)

    def __init__(self, theme: Theme, messages: MessageTarget, parent: QWidget | None = None) -> None:
        self.x_axis = TextAxis("bottom", str)
        self.y_axis = TextAxis("left", str)
        super().__init__(parent, axisItems={"bottom": self.x_axis, "left": self.y_axis})
        self.export_name = "chart"
        self._messages = messages
        self.setFrameShape(self.Shape.NoFrame)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        self.getPlotItem().getViewBox().setDefaultPadding(0.02)
        # A nonzero grid makes pyqtgraph extend the left axis over the plot, where it draws the grid lines.
        self.y_axis.setGrid(255)
        self.y_axis.setZValue(-10)
        self.y_axis.has_grid = True
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self.scene().sigMouseClicked.connect(self._clicked)
        self.scene().sigMouseMoved.connect(self._moved)
        self.theme = theme
        self._drawn: list[tuple[tuple[object, ...], Any]] = []
        self._previous: list[tuple[tuple[object, ...], Any]] = []
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use these colours; the content must be drawn again."""
        self.theme = theme
        self.setBackground(theme.color("panel"))
        for axis in (self.x_axis, self.y_axis):
            axis.colors = (theme.color("muted"), theme.color("hairline"), theme.color("grid"))
            axis.update()

    def show_axes(self, on: bool) -> None:
        """Show or hide the axes; hidden axes mark an empty chart."""
        for axis in (self.x_axis, self.y_axis):
            axis.setVisible(on)

    def show_range(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Show exactly this range."""
        self.setRange(xRange=x, yRange=y, padding=0, disableAutoRange=True)

    # Between `begin` and `end`, identical items are reused, at a fraction of the cost of new ones.

    def begin(self) -> None:
        """Start drawing new content."""
        self._previous, self._drawn = self._drawn, []

    def end(self) -> None:
        """Finish drawing: remove unused items."""
        for _, item in self._previous:
            self.removeItem(item)
        self._previous = []

    def clear(self) -> None:
        """Draw nothing."""
        self.begin()
        self.end()

    def _item(self, key: tuple[object, ...], make: Callable[[], Any], *, bounds: bool = True) -> Any:
        """The previous item with this key, or a new one."""
        place = next((place for place, (known, _) in enumerate(self._previous) if known == key), -1)
        if place >= 0:
            item = self._previous.pop(place)[1]
        else:
            item = make()
            self.addItem(item, ignoreBounds=not bounds)
        self._drawn.append((key, item))
        return item

    def bars(
        self,
        x: FloatArray,
        width: float | FloatArray,
        height: FloatArray,
        color: str,
        base: FloatArray | None = None,
        *,
        is_outline: bool = False,
    ) -> Any:
        """Vertical bars from ``base`` (default 0), or outlines."""
        options = {"x": x, "y0": np.zeros(len(x)) if base is None else base, "height": height, "width": width}

        def make() -> Any:
            ground = QColor(0, 0, 0, 0) if is_outline else QColor(color)
            pen = pg.mkPen(QColor(color), width=2) if is_outline else QPen(Qt.PenStyle.NoPen)
            return pg.BarGraphItem(brush=ground, pen=pen, **options)

        item = self._item(("bars", color, is_outline), make)
        item.setOpts(**options)
        return item

    def line(self, x: FloatArray, y: FloatArray, color: str, *, filled: bool = False, key: str = "") -> Any:
        """A line, broken at NaN. ``key`` tells lines of one colour apart."""

        def make() -> Any:
            options: dict[str, Any] = {"pen": pg.mkPen(QColor(color), width=1)}
            if filled:
                shade = QColor(color)
                shade.setAlpha(60)
                options.update(fillLevel=0, brush=shade)
            return pg.PlotDataItem(**options)

        item = self._item(("line", color, filled, key), make)
        item.setData(x, y, connect="finite" if np.isnan(y).any() else "all")
        return item

    def dots(
        self,
        x: FloatArray,
        y: FloatArray,
        size: FloatArray,
        color: str,
        symbol: str,
        *,
        is_outline: bool = False,
    ) -> Any:
        """Points of ``size`` pixels; ``symbol`` is pyqtgraph's: o, s, t1 …"""

        def make() -> Any:
            ground = QColor(0, 0, 0, 0) if is_outline else QColor(color)
            # An edge in the background's colour keeps overlapping points apart.
            edge = QColor(color) if is_outline else self.theme.color("panel")
            return pg.ScatterPlotItem(
                brush=ground, pen=pg.mkPen(edge, width=2 if is_outline else 1), symbol=symbol, pxMode=True
            )

        item = self._item(("dots", color, symbol, is_outline, self.theme.name), make)
        item.setData(x=x, y=y, size=size)
        return item

    def label(
        self, x: float, y: float, text: str, color: str, *, above: bool = False, right: bool = False
    ) -> Any:
        """A text at a position: to its right, or with ``right`` to its left; below or above it."""

        def make() -> Any:
            item = pg.TextItem(
                text, color=QColor(color), anchor=(1.0 if right else 0.0, 1.0 if above else 0.0)
            )
            item.setFont(ui_font(11))
            return item

        item = self._item(("label", text, color, above, right), make, bounds=False)
        item.setPos(x, y)
        return item

    def marker(self, x: float, color: str, text: str = "", *, thin: bool = False) -> Any:
        """A vertical line with a label at its top."""

        def make() -> Any:
            pen = pg.mkPen(QColor(color), width=1 if thin else 2)
            options = {"position": 0.55 if thin else 0.92, "color": QColor(color), "movable": False}
            return pg.InfiniteLine(x, angle=90, pen=pen, label=text or None, labelOpts=options)

        item = self._item(("marker", color, text, thin), make, bounds=False)
        item.setValue(x)
        return item

    def _clicked(self, event: Any) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            point = self.getPlotItem().getViewBox().mapSceneToView(event.scenePos())
            self.clicked.emit(point.x(), point.y())

    def _moved(self, position: Any) -> None:
        box = self.getPlotItem().getViewBox()
        if box.sceneBoundingRect().contains(position):
            point = box.mapSceneToView(position)
            self.hovered.emit(point.x(), point.y())

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Save chart…"), self.choose_export)
        menu.popup(self.mapToGlobal(position))

    def choose_export(self) -> None:
        """Ask for a file and save the chart."""
        ask_and_save(self, self.export_name, self.export, self._messages)

    def export(self, path: Path) -> None:
        """Save the chart: SVG if the name ends in .svg, else PNG at twice its size."""
        save_picture(path, self.rect(), self.theme.color("panel"), self.render)


def time_axis(chart: Chart, start_ns: int, stop_ns: int, origin_ns: int = 0) -> None:
    """Label an x axis of ns since the capture's start with times since ``origin_ns``, at round values."""
    fine = max((stop_ns - start_ns) // 200, 1)
    axis = chart.x_axis
    axis.text = lambda value: format_time(round(value) - origin_ns, fine)
    axis.ticks = lambda low, high, most: [
        value + origin_ns for value in linear_ticks(low - origin_ns, high - origin_ns, most)
    ]
    axis.update()


def duration_ticks(values: list[float], spacing: float) -> list[str]:
    """Durations at ticks with enough decimals to tell neighbours apart."""
    highest = max((abs(value) for value in values), default=0.0)
    for unit, scale in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        decimals = max(0, -math.floor(math.log10(spacing / scale) + 1e-9)) if spacing > 0 else 0
        if round(highest / scale, decimals) < 1000 or unit == "s":
            return [f"{value / scale:.{decimals}f} {unit}" for value in values]
    raise AssertionError("unreachable")


def size_unit(highest: float) -> tuple[str, float]:
    """The unit for a size: (name, bytes)."""
    for name, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if highest >= scale:
            return name, float(scale)
    return "B", 1.0


def duration_text(value_ns: float) -> str:
    """A duration at a tick."""
    return format_duration(round(value_ns), 3)
