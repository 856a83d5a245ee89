"""The legend below the rows: explains colours, heights and textures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from warpline.i18n import tr, translated
from warpline_app.look.painting import contained
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, ui_font
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.shapes import is_drawing
from warpline_app.timeline.widgets.legend_entries import LegendEntry

if TYPE_CHECKING:
    from warpline_app.timeline.draw.codes import ColorTable

HEIGHT = 22
_SWATCH_PX = (22, 12)
_GAP, _SPACE = 6, 16
_MORE_PX = 40
"""Space at the end for the number of entries that do not fit."""


class Legend(QWidget):
    """Swatches with labels, painted like the rows. A click lists an entry's events."""

    events_wanted = Signal(str, str)
    """column of the thread states table, and the text to list"""
    wanted_changed = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.entries: tuple[LegendEntry, ...] = ()
        self._table: ColorTable | None = None
        self._wanted = True
        self.has_entries = False
        """Whether `show_entries` was called."""
        self._expected = False
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Legend of colours and textures", "timeline"))
        self.hide()

    def show_entries(self, entries: tuple[LegendEntry, ...], table: ColorTable) -> None:
        """Show these entries with a timeline's colours."""
        self.has_entries = True
        self.entries, self._table, self._expected = entries, table, bool(entries)
        self.setVisible(self._expected and self._wanted)
        self.update()

    def expect(self, on: bool) -> None:
        """Reserve space for entries to come, so that rows do not move later; False: none will come."""
        self._expected = on
        self.setVisible(on and self._wanted)

    def set_wanted(self, on: bool) -> None:
        """Show or hide the legend."""
        self._wanted = on
        self.setVisible(self._expected and on)
        self.wanted_changed.emit(on)

    def set_theme(self, theme: Theme, table: ColorTable) -> None:
        """Set the colours."""
        self.theme, self._table = theme, table
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as possible."""
        return QSize(200, HEIGHT)

    @property
    def left_out(self) -> tuple[LegendEntry, ...]:
        """The entries that do not fit; the mark at the end lists them."""
        return self.entries[len(self.places()) :]

    def places(self) -> list[tuple[LegendEntry, QRectF]]:
        """The entries that fit, with their places."""
        metrics = QFontMetricsF(ui_font(11))
        x, entries = 10.0, []
        for entry in self.entries:
            width = _SWATCH_PX[0] + _GAP + metrics.horizontalAdvance(translated(entry.title))
            if x + width > self.width() - (_MORE_PX if entry is not self.entries[-1] else 4):
                break
            entries.append((entry, QRectF(x, 0, width, HEIGHT)))
            x += width + _SPACE
        return entries

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Paint swatches and labels."""
        painter.fillRect(self.rect(), self.theme.color("header"))
        painter.fillRect(QRectF(0, 0, self.width(), 1), self.theme.color("hairline"))
        painter.setFont(ui_font(11))
        painter.setPen(self.theme.color("muted"))
        for entry, place in self.places():
            top = (HEIGHT - _SWATCH_PX[1]) // 2
            where = QRectF(place.left(), top, *_SWATCH_PX)
            if is_drawing(painter):
                self._draw_swatch(painter, entry, where)
            else:
                painter.drawImage(where, self._swatch(entry, painter.deviceTransform().m11()))
            text = place.adjusted(_SWATCH_PX[0] + _GAP, 0, 2, 0)
            painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), translated(entry.title))
        if self.left_out:
            end = self.rect().adjusted(0, 0, -10, 0)
            side = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(end, int(side), f"+{len(self.left_out)}")

    def _draw_swatch(self, painter: QPainter, entry: LegendEntry, where: QRectF) -> None:
        """As in the rows, without textures: vector graphics have no pixels for them."""
        assert self._table is not None
        code = codes.INDEX[entry.color] * codes.VARIANTS + entry.variant
        column = self._table.table(_SWATCH_PX[1], self.theme.rgb("header"))[:, code].tolist()
        for line, color in enumerate(column):
            if line == 0 or color != column[line - 1]:
                painter.fillRect(where.adjusted(0, line, 0, 0), QColor.fromRgb(color))

    def _swatch(self, entry: LegendEntry, ratio: float) -> QImage:
        assert self._table is not None
        width, height = (round(side * ratio) for side in _SWATCH_PX)
        base = codes.INDEX[entry.color] * codes.VARIANTS
        line = np.full(width, base + entry.variant)
        if entry.variant == codes.PAUSE:
            line = np.where(np.arange(width) % codes.PAUSE_PHASES == 0, codes.PAUSE, codes.EMPTY)
        elif codes.INDEX[entry.color] in codes.HATCHED_COLORS:
            line = base + codes.HATCH + np.arange(width) % codes.HATCH_PHASES
        pixels = np.ascontiguousarray(self._table.table(height, self.theme.rgb("header"))[:, line])
        image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)
        return image.copy()

    def _entry_at(self, x: float) -> LegendEntry | None:
        return next((entry for entry, place in self.places() if place.left() <= x <= place.right()), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """List the events of the clicked entry."""
        entry = self._entry_at(event.position().x())
        if entry is not None and entry.text and event.button() == Qt.MouseButton.LeftButton:
            self.events_wanted.emit(entry.column, entry.text)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand over entries that can be clicked."""
        entry = self._entry_at(event.position().x())
        leads = entry is not None and bool(entry.text)
        self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)

    def event(self, event: QEvent) -> bool:
        """Show a tooltip with what a click does."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            entry = self._entry_at(event.pos().x())
            tip = "\n".join(translated(other.title) for other in self.left_out)
            if entry is not None:
                lists = tr("Click to list these in Events", "timeline") if entry.text else ""
                tip = "\n".join(
                    part for part in (translated(entry.hint) if entry.hint else "", lists) if part
                )
            if entry is not None or event.pos().x() > self.width() - _MORE_PX:
                QToolTip.showText(event.globalPos(), plain(tip), self)
            return True
        return super().event(event)
