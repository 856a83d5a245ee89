"""Charts in the look of the window: pyqtgraph without its own colours, menus and buttons; saved as PNG or SVG."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from pyqtgraph.exporters import ImageExporter
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from warpline.i18n import tr
from warpline.model.times import format_duration
from warpline_app.theme import Theme, ui_font

FloatArray = npt.NDArray[np.float64]


class TextAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """An axis whose numbers are written by a function."""

    def __init__(self, orientation: str, text: Callable[[float], str]) -> None:
        super().__init__(orientation)
        self.text = text
        self.texts: Callable[[list[float], float], list[str]] | None = None
        """Writes all ticks together, given the distance between them; goes before ``text``."""
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Texts of the ticks."""
        if self.texts is not None:
            return self.texts([value * scale for value in values], spacing * scale)
        return [self.text(value * scale) for value in values]


class Chart(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """One plot. `clicked` tells where, in the units of the axes."""

    clicked = Signal(float, float)
    hovered = Signal(float, float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self.x_axis = TextAxis("bottom", str)
        self.y_axis = TextAxis("left", str)
        super().__init__(parent, axisItems={"bottom": self.x_axis, "left": self.y_axis})
        self.export_name = "chart"
        self.setFrameShape(self.Shape.NoFrame)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        self.getPlotItem().getViewBox().setDefaultPadding(0.02)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self.scene().sigMouseClicked.connect(self._clicked)
        self.scene().sigMouseMoved.connect(self._moved)
        self.theme = theme
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use these colours; what is drawn must be drawn again."""
        self.theme = theme
        self.setBackground(theme.color("panel"))
        for axis in (self.x_axis, self.y_axis):
            axis.setPen(pg.mkPen(theme.color("hairline")))
            axis.setTextPen(theme.color("muted"))
            axis.setTickFont(ui_font(11))
            axis.setStyle(tickLength=-4, tickTextOffset=6)
        self.showGrid(x=False, y=True, alpha=0.12)

    def show_axes(self, on: bool) -> None:
        """Axes and their numbers; without them an empty chart does not look like one of small values."""
        for axis in (self.x_axis, self.y_axis):
            axis.setVisible(on)

    def bars(
        self,
        x: FloatArray,
        width: float | FloatArray,
        height: FloatArray,
        color: str,
        base: FloatArray | None = None,
    ) -> Any:
        """Upright bars from ``base`` (0 by default)."""
        base = np.zeros(len(x)) if base is None else base
        item = pg.BarGraphItem(
            x=x, y0=base, height=height, width=width, brush=QColor(color), pen=QPen(Qt.PenStyle.NoPen)
        )
        self.addItem(item)
        return item

    def line(
        self, x: FloatArray, y: FloatArray, color: str, *, filled: bool = False, step: bool = False
    ) -> Any:
        """A line, broken at NaN; ``step`` holds each value until the next."""
        options: dict[str, Any] = {"pen": pg.mkPen(QColor(color), width=1.4), "connect": "finite"}
        if filled:
            shade = QColor(color)
            shade.setAlpha(60)
            options.update(fillLevel=0, brush=shade)
        if step and len(x):
            options["stepMode"] = "right"
            options.pop("connect")
        item = pg.PlotDataItem(x, y, **options)
        self.addItem(item)
        return item

    def marker(self, x: float, color: str, text: str = "") -> Any:
        """An upright line."""
        item = pg.InfiniteLine(
            x,
            angle=90,
            pen=pg.mkPen(QColor(color), width=2),
            label=text or None,
            labelOpts={"position": 0.92, "color": QColor(color), "movable": False},
        )
        self.addItem(item, ignoreBounds=True)
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

    # -- saving

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Save chart…"), self.choose_export)
        menu.popup(self.mapToGlobal(position))

    def choose_export(self) -> None:
        """Ask for a file and save the chart in it."""
        dialog = QFileDialog(self, tr("Save chart"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(["PNG (*.png)", "SVG (*.svg)"])
        dialog.setDefaultSuffix("png")
        dialog.selectFile(f"{self.export_name}.png")
        dialog.fileSelected.connect(lambda name: self.export(Path(name)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def export(self, path: Path) -> None:
        """Save the chart: SVG when the name ends so, PNG at twice the size otherwise."""
        if path.suffix.lower() == ".svg":
            generator = QSvgGenerator()
            generator.setFileName(str(path))
            generator.setSize(self.size())
            generator.setViewBox(self.rect())
            painter = QPainter(generator)
            painter.fillRect(self.rect(), self.theme.color("panel"))
            self.render(painter)
            painter.end()
            return
        exporter = ImageExporter(self.getPlotItem())
        exporter.parameters()["width"] = self.width() * 2
        exporter.export(str(path))


def duration_ticks(values: list[float], spacing: float) -> list[str]:
    """Durations at ticks, with as many decimals as tell neighbours apart."""
    highest = max((abs(value) for value in values), default=0.0)
    unit, scale = next(
        ((u, s) for u, s in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)) if highest >= s), ("ns", 1.0)
    )
    decimals = max(0, -math.floor(math.log10(spacing / scale) + 1e-9)) if spacing > 0 else 0
    return [f"{value / scale:.{decimals}f} {unit}" for value in values]


def size_unit(highest: float) -> tuple[str, float]:
    """The unit in which a size is written: (name, bytes)."""
    for name, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if highest >= scale:
            return name, float(scale)
    return "B", 1.0


def duration_text(value_ns: float) -> str:
    """A duration at a tick."""
    return format_duration(round(value_ns), 3)
