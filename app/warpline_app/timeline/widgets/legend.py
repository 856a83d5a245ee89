"""The strip below the rows that tells what colours, heights and textures mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from warpline.i18n import tr, translated
from warpline_app.look.painting import contained
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
"""Room at the end for the number of those that have none."""


class Legend(QWidget):
    """Swatches with words, painted as the rows are. A click lists the events of one."""

    events_wanted = Signal(str, str)
    """identity of a column of the table of thread states, and what must stand in it"""
    wanted_changed = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.entries: tuple[LegendEntry, ...] = ()
        self._table: ColorTable | None = None
        self._wanted = True
        self.is_told = False
        """Whether `show_entries` was called."""
        self._expected = False
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Legend of colours and textures", "timeline"))
        self.hide()

    def show_entries(self, entries: tuple[LegendEntry, ...], table: ColorTable) -> None:
        """Explain these, with the colours of a timeline."""
        self.is_told = True
        self.entries, self._table, self._expected = entries, table, bool(entries)
        self.setVisible(self._expected and self._wanted)
        self.update()

    def expect(self, on: bool) -> None:
        """Take the room of the entries that will come, so that rows do not move when they do; False: none will."""
        self._expected = on
        self.setVisible(on and self._wanted)

    def set_wanted(self, on: bool) -> None:
        """Show or hide the strip."""
        self._wanted = on
        self.setVisible(self._expected and on)
        self.wanted_changed.emit(on)

    def set_theme(self, theme: Theme, table: ColorTable) -> None:
        """Paint in other colours."""
        self.theme, self._table = theme, table
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(200, HEIGHT)

    @property
    def left_out(self) -> tuple[LegendEntry, ...]:
        """The entries that have no room; the mark at the end tells them."""
        return self.entries[len(self.places()) :]

    def places(self) -> list[tuple[LegendEntry, QRectF]]:
        """The entries that fit, and where each is."""
        metrics = QFontMetricsF(ui_font(11))
        x, found = 10.0, []
        for entry in self.entries:
            width = _SWATCH_PX[0] + _GAP + metrics.horizontalAdvance(translated(entry.title))
            if x + width > self.width() - (_MORE_PX if entry is not self.entries[-1] else 4):
                break
            found.append((entry, QRectF(x, 0, width, HEIGHT)))
            x += width + _SPACE
        return found

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """The swatches and their words."""
        painter.fillRect(self.rect(), self.theme.color("header"))
        painter.fillRect(QRectF(0, 0, self.width(), 1), self.theme.color("hairline"))
        painter.setFont(ui_font(11))
        painter.setPen(self.theme.color("muted"))
        for entry, place in self.places():
            top = (HEIGHT - _SWATCH_PX[1]) // 2
            where = QRectF(place.left(), top, *_SWATCH_PX)
            if is_drawing(painter):
                # A drawing has no pixels for textures, in its rows as well as here.
                painter.fillRect(where, QColor(self.theme.family(entry.color)))
            else:
                painter.drawImage(where, self._swatch(entry, painter.deviceTransform().m11()))
            text = place.adjusted(_SWATCH_PX[0] + _GAP, 0, 2, 0)
            painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), translated(entry.title))
        if self.left_out:
            end = self.rect().adjusted(0, 0, -10, 0)
            side = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(end, int(side), f"+{len(self.left_out)}")

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
        """Lists the events of what was clicked."""
        entry = self._entry_at(event.position().x())
        if entry is not None and entry.text and event.button() == Qt.MouseButton.LeftButton:
            self.events_wanted.emit(entry.column, entry.text)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A hand over what leads somewhere."""
        entry = self._entry_at(event.position().x())
        leads = entry is not None and bool(entry.text)
        self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)

    def event(self, event: QEvent) -> bool:
        """Tips say what a click does."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            entry = self._entry_at(event.pos().x())
            tip = "\n".join(translated(other.title) for other in self.left_out)
            if entry is not None:
                lists = tr("Click: list these in Events", "timeline") if entry.text else ""
                tip = "\n".join(
                    part for part in (translated(entry.hint) if entry.hint else "", lists) if part
                )
            if entry is not None or event.pos().x() > self.width() - _MORE_PX:
                QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)
