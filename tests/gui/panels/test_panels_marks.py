"""Marks of charts on pixels: places and values, many bars, broken lines; a drag is no click."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from warpline_app.open.messages import MessageList
from warpline_app.panels.charts.chart import Chart
from warpline_app.panels.charts.marks import BarMarks, ChartMark, ChartPlane, LineMark

INK, PAPER = QColor("#000000"), QColor("#ffffff")


def drawn(mark: ChartMark, plane: ChartPlane) -> QImage:
    picture = QImage(plane.area.size().toSize(), QImage.Format.Format_RGB32)
    picture.fill(PAPER)
    painter = QPainter(picture)
    mark.draw(painter, plane)
    painter.end()
    return picture


def test_places_are_those_of_values(qapp: object) -> None:
    plane = ChartPlane(QRectF(66, 1, 200, 100), (-1e18, 3e18), (0.0, 0.5))
    for x, y in ((-1e18, 0.0), (3e18, 0.5), (0.0, 0.125)):
        assert plane.values(plane.point(x, y)) == pytest.approx((x, y), rel=1e-9, abs=1e-9)
    assert plane.point(-1e18, 0.0) == QPointF(66, 101)
    assert plane.point(3e18, 0.5) == QPointF(266, 1)


def test_the_highest_of_many_bars_on_a_pixel_is_seen(qapp: object) -> None:
    count = 50_000
    height = np.ones(count)
    height[[12_345, 40_000]] = 10
    flat = np.zeros(count)
    bars = BarMarks(
        x=np.linspace(0.5, count - 0.5, count), width=flat + 0.8, base=flat, height=height, color="#000000"
    )
    picture = drawn(bars, ChartPlane(QRectF(0, 0, 100, 50), (0.0, float(count)), (0.0, 10.0)))
    high = [x for x in range(100) if picture.pixelColor(x, 10) == INK]
    assert high == [12_345 * 100 // count, 80]
    assert all(picture.pixelColor(x, 48) == INK for x in range(100))


def test_a_line_is_broken_where_nothing_is_known(qapp: object) -> None:
    x = np.arange(6.0)
    line = LineMark(x=x, y=np.array([1.0, 1.0, np.nan, np.nan, 1.0, 1.0]), color="#000000", is_filled=True)
    picture = drawn(line, ChartPlane(QRectF(0, 0, 50, 20), (0.0, 5.0), (0.0, 2.0)))
    for place, is_line in ((5, True), (25, False), (45, True)):
        column = [picture.pixelColor(place, y) for y in range(20)]
        assert any(color != PAPER for color in column) is is_line


def test_a_drag_is_no_click(qtbot: QtBot) -> None:
    chart = Chart(MessageList())
    qtbot.addWidget(chart)
    chart.resize(300, 200)
    chart.show_range((0, 10), (0, 1))
    clicks: list[tuple[float, float]] = []
    chart.clicked.connect(lambda x, y: clicks.append((x, y)))
    place = chart.plane().point(5, 0.5).toPoint()
    qtbot.mousePress(chart, Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=place + QPoint(40, 0))
    assert clicks == []
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=place)
    assert clicks == [pytest.approx((5, 0.5), abs=0.05)]
