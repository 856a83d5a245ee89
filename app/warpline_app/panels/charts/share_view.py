"""Shares of a whole as a treemap or a ring: the largest named, the rest combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter
from PySide6.QtWidgets import QMenu, QWidget

from warpline.analysis.framework.kernel_names import without_prefix
from warpline.i18n import tr
from warpline_app.look.appearance import appearance
from warpline_app.look.eliding import elide_apart
from warpline_app.look.theme import Theme, contrast_ratio, to_rgb
from warpline_app.look.widgets import shows_tooltip
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.charts.drawn_chart import DrawnChart
from warpline_app.panels.charts.ring import at_point, draw_row, draw_sector, ring_and_legend, sectors, shades

MOST_PARTS = 16
_LEAST_SHARE = 0.004
_LABEL_PX = (34, 16)
_TWO_LINES_PX = 34
Rect = tuple[float, float, float, float]


@dataclass(frozen=True)
class Part:
    """A share 0–1 of the whole. ``item`` is the table row, −1 for the rest."""

    item: int
    name: str
    share: float
    color: str
    full_name: str = ""
    note: str = ""
    """What is shown before the share."""


def largest(shares: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Indices of the shares large enough for an area, descending, and of all others above 0."""
    ranked = np.argsort(-shares, kind="stable")
    ranked = ranked[shares[ranked] > 0]
    count = int(np.count_nonzero(shares[ranked[:MOST_PARTS]] >= _LEAST_SHARE))
    return ranked[:count], ranked[count:]


def squarified(shares: Sequence[float], area: Rect) -> list[Rect]:
    """Rectangles for shares (descending, any sum) in an area (left, top, width, height), as square as possible.

    After Bruls, Huizing and van Wijk, "Squarified treemaps" (2000): a row along the shorter side grows while its
    worst aspect ratio does not get worse.
    """
    left, top, width, height = area
    total = sum(shares)
    if total <= 0 or width <= 0 or height <= 0:
        return [(left, top, 0.0, 0.0) for _ in shares]
    sizes = [share / total * width * height for share in shares]
    places: list[Rect] = []
    while len(places) < len(sizes):
        begin = len(places)
        side = max(min(width, height), 1e-9)
        stop = begin + 1
        while stop < len(sizes) and _worst(sizes[begin : stop + 1], side) <= _worst(sizes[begin:stop], side):
            stop += 1
        row = sizes[begin:stop]
        thickness = sum(row) / side
        at = 0.0
        for size in row:
            length = size / thickness if thickness else 0.0
            if width >= height:
                places.append((left, top + at, thickness, length))
            else:
                places.append((left + at, top, length, thickness))
            at += length
        if width >= height:
            left, width = left + thickness, width - thickness
        else:
            top, height = top + thickness, height - thickness
    return places


def _worst(row: Sequence[float], side: float) -> float:
    """The worst aspect ratio in a row of areas of length ``side``."""
    whole = sum(row) ** 2
    if not whole:
        return float("inf")
    square = side * side
    return max(square * max(row) / whole, whole / (square * min(row)) if min(row) else float("inf"))


class ShareView(DrawnChart):
    """Draws the parts of a whole; a click selects, a double click shows on the timeline."""

    part_clicked = Signal(int)
    part_activated = Signal(int)

    def __init__(self, messages: MessageTarget, parent: QWidget | None = None) -> None:
        super().__init__(messages, parent)
        self.export_name = "share"
        self.setMinimumWidth(160)
        self.setAccessibleName(tr("Shares"))
        self._parts: list[Part] = []
        self._title = ""
        self._chosen = -1
        self._is_ring = False

    def sizeHint(self) -> QSize:
        return QSize(360, 200)

    @property
    def parts(self) -> list[Part]:
        """The parts, descending."""
        return self._parts

    def show_parts(self, parts: Sequence[Part], title: str) -> None:
        """Draw other parts; ``title`` names the whole."""
        self._parts = list(parts)
        self._title = title
        self.update()

    @property
    def is_ring(self) -> bool:
        """Whether the shares are drawn as a ring with a legend instead of areas."""
        return self._is_ring

    def set_ring(self, on: bool) -> None:
        """Draw a ring with a legend, or areas."""
        self._is_ring = on
        self.update()

    def set_chosen(self, item: int | None) -> None:
        """Outline the part of this table row."""
        self._chosen = -1 if item is None else item
        self.update()

    def place_of(self, item: int) -> QRect:
        """Rectangle of a part; empty if it is not drawn."""
        return next(
            (rect for part, rect in zip(self._parts, self._places(), strict=True) if part.item == item),
            QRect(),
        )

    def _places(self) -> list[QRect]:
        area = self.rect().adjusted(8, 20, -8, -8)
        shares = [part.share for part in self._parts]
        places = squarified(shares, (area.left(), area.top(), area.width(), area.height()))
        return [QRectF(*place).toRect().adjusted(0, 0, -1, -1) for place in places]

    def _ring(self) -> tuple[QRectF, list[QRectF]]:
        return ring_and_legend(QRectF(self.rect().adjusted(8, 24, -8, -8)), len(self._parts))

    def _part_at(self, point: QPoint) -> Part | None:
        if self._is_ring:
            ring, rows = self._ring()
            index = at_point(QPointF(point), sectors([part.share for part in self._parts], ring), rows)
            return self._parts[index] if index >= 0 else None
        parts = zip(self._parts, self._places(), strict=True)
        return next((part for part, rect in parts if rect.contains(point)), None)

    def draw(self, painter: QPainter) -> None:
        """Draw on any device."""
        theme = appearance().theme
        self.draw_title(painter, self._title)
        if self._is_ring:
            self._draw_ring(painter, theme)
            return
        names = self._names(painter.fontMetrics())
        for part, rect, name in zip(self._parts, self._places(), names, strict=True):
            painter.fillRect(rect, QColor(part.color))
            if part.item >= 0 and part.item == self._chosen:
                painter.setPen(theme.color("selection"))
                painter.drawRect(rect.adjusted(0, 0, -1, -1))
                painter.drawRect(rect.adjusted(1, 1, -2, -2))
            self._label(painter, part, name, rect, theme)

    def _draw_ring(self, painter: QPainter, theme: Theme) -> None:
        ring, rows = self._ring()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paths = sectors([part.share for part in self._parts], ring)
        colors = shades([part.color for part in self._parts], theme)
        chosen = [part.item >= 0 and part.item == self._chosen for part in self._parts]
        # The chosen one last: its outline lies over its neighbours.
        for index in sorted(range(len(paths)), key=chosen.__getitem__):
            outline = theme.color("selection") if chosen[index] else None
            draw_sector(painter, paths[index], colors[index], theme.color("panel"), outline)
        for part, color, row in zip(self._parts, colors, rows, strict=False):
            draw_row(painter, row, color, without_prefix(part.name), part.share, theme)

    def _names(self, metrics: QFontMetrics) -> list[str]:
        """Names as they fit: without namespaces if too long, and distinguishable."""
        rooms = [max(0, rect.width() - 10) for rect in self._places()]
        names = [
            part.name if metrics.horizontalAdvance(part.name) <= room else without_prefix(part.name)
            for part, room in zip(self._parts, rooms, strict=True)
        ]
        return elide_apart(names, lambda place, text, mode: metrics.elidedText(text, mode, rooms[place]))

    def _label(self, painter: QPainter, part: Part, name: str, rect: QRect, theme: Theme) -> None:
        if rect.width() < _LABEL_PX[0] or rect.height() < _LABEL_PX[1]:
            return
        ground = to_rgb(part.color)
        dark = contrast_ratio(to_rgb(theme.ink_dark), ground) >= contrast_ratio(
            to_rgb(theme.ink_light), ground
        )
        painter.setPen(QColor(theme.ink_dark if dark else theme.ink_light))
        metrics = painter.fontMetrics()
        room = rect.width() - 10
        share = f"{part.share:.1%}"
        noted = f"{part.note}  {share}"
        share = noted if part.note and metrics.horizontalAdvance(noted) <= room else share
        lines = [name, share] if rect.height() >= _TWO_LINES_PX else [f"{name}  {share}"]
        for number, line in enumerate(lines):
            text = metrics.elidedText(line, Qt.TextElideMode.ElideRight, room)
            painter.drawText(rect.left() + 5, rect.top() + 13 + 15 * number, text)

    def event(self, event: QEvent) -> bool:
        def text_at(point: QPoint) -> str:
            part = self._part_at(point)
            return "" if part is None else f"{part.full_name or part.name}\n{part.share:.2%}"

        return shows_tooltip(self, event, text_at) or super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select a part, or open the menu."""
        part = self._part_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.RightButton:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            title = tr("Show areas") if self._is_ring else tr("Show a ring")
            menu.addAction(title, lambda: self.set_ring(not self._is_ring))
            menu.addAction(tr("Save chart…"), self.choose_export)
            menu.popup(event.globalPosition().toPoint())
        elif part is not None and part.item >= 0:
            self.part_clicked.emit(part.item)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the longest event of a part."""
        part = self._part_at(event.position().toPoint())
        if part is not None and part.item >= 0:
            self.part_activated.emit(part.item)
