"""Paints the visible cells of a table, one line of plain text each.

A table updates while a range is dragged, so it must paint within a frame. Qt's delegates go through several layers
per cell; this makes one pass over the visible cells and caches text widths.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QLine, QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from warpline_app.look.eliding import elide_apart
from warpline_app.look.theme import Theme, wash
from warpline_app.panels.table.content import TableColumn

INSET_PX = 10
_BAR_PX = 8
_BAR_TEXT_PX = 48
_MARK_PX = 9
_CACHED_TEXTS = 8_192


class CellPainter:
    """Draws cells of one height in one font."""

    def __init__(self, font: QFont, row_height: int) -> None:
        self.font = font
        self.row_height = row_height
        metrics = QFontMetrics(font)
        self._metrics = metrics
        self._baseline = (row_height + metrics.ascent() - metrics.descent()) // 2
        self._advances: dict[str, int] = {}
        self.elided = lru_cache(_CACHED_TEXTS)(self._elided)

    def advance(self, text: str) -> int:
        """Width in pixels of a text of digits and signs, summed by letter, which is exact for figures."""
        widths = self._advances
        total = 0
        for letter in text:
            width = widths.get(letter)
            if width is None:
                width = widths[letter] = self._metrics.horizontalAdvance(letter)
            total += width
        return total

    def _elided(self, text: str, width: int, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> str:
        return self._metrics.elidedText(text, mode, width)

    def draw_backgrounds(
        self, painter: QPainter, area: QRect, tops: list[int], selected: list[bool], theme: Theme
    ) -> None:
        """Draw backgrounds, highlights of selected rows and lines between rows that begin at ``tops``."""
        painter.fillRect(area, theme.color("panel"))
        lines = []
        shade = QColor(wash(theme))
        for top, is_selected in zip(tops, selected, strict=True):
            if is_selected:
                painter.fillRect(area.left(), top, area.width(), self.row_height, shade)
            bottom = top + self.row_height - 1
            lines.append(QLine(area.left(), bottom, area.right(), bottom))
        painter.setPen(theme.color("grid"))
        painter.drawLines(lines)

    def draw_column(
        self,
        painter: QPainter,
        column: TableColumn,
        left: int,
        width: int,
        cells: list[tuple[int, int]],
        theme: Theme,
    ) -> None:
        """Draw the cells (item, top) of a column at ``left`` with this width."""
        left, width = left + INSET_PX, width - 2 * INSET_PX
        if width <= 0:
            return
        text_color, muted = theme.color("text"), theme.color("muted")
        pen = None
        rooms, texts = [], []
        for item, top in cells:
            x, room = left, width
            if column.bar is not None:
                bar_px = self._bar(painter, column, item, QRect(left, top, width, self.row_height), theme)
                x, room = x + bar_px, room - bar_px
            elif column.color is not None:
                mark = column.color(item)
                if mark is not None:
                    painter.fillRect(x, top + self.row_height // 2 - 6, 3, 13, QColor(mark))
                    x, room = x + _MARK_PX, room - _MARK_PX
            rooms.append((x, room))
            texts.append(column.text(item))
        if not column.is_number:
            texts = elide_apart(texts, lambda place, text, mode: self.elided(text, rooms[place][1], mode))
        for (item, top), (x, room), whole in zip(cells, rooms, texts, strict=True):
            text = whole
            if not text:
                continue
            if column.is_number:
                wide = self.advance(text)
                if wide > room:
                    text = self.elided(text, room)
                    wide = self.advance(text)
                x += room - wide
            color = muted if text in {"–", "—"} else text_color
            if column.frame is not None and column.frame(item) is not None:
                color = theme.color("link")
            if color is not pen:
                painter.setPen(color)
                pen = color
            painter.drawText(x, top + self._baseline, text)

    def _bar(self, painter: QPainter, column: TableColumn, item: int, cell: QRect, theme: Theme) -> int:
        """Draw the bar of a share; returns the width used."""
        assert column.bar is not None
        share = min(max(column.bar(item), 0.0), 1.0)
        length = max(1, round(max(20, cell.width() - _BAR_TEXT_PX) * share))
        if share > 0:
            color = column.color(item) if column.color is not None else None
            top = cell.top() + (self.row_height - _BAR_PX) // 2
            painter.fillRect(cell.left(), top, length, _BAR_PX, QColor(color or theme.hex("kernel")))
        return length + 6
