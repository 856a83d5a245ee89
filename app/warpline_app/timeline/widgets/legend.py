"""The strip below the rows that tells what the colours and textures of thread states mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from warpline.i18n import english, tr, translated
from warpline.model.waits import WAIT_FAMILIES, WAIT_KINDS
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font
from warpline_app.timeline.draw import codes

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.timeline.draw.codes import ColorTable

HEIGHT = 22
_SWATCH_PX = (22, 12)
_GAP, _SPACE = 6, 16
_PIECE = 1 << 20


@dataclass(frozen=True)
class LegendEntry:
    """A colour family and what it means; ``column`` and ``text`` list its events (``text`` empty: not to be listed)."""

    color: str
    title: str
    column: str = ""
    text: str = ""
    hint: str = ""


_STATES = (
    LegendEntry("running", english("running"), "name", "=running"),
    LegendEntry("runnable", english("waits for a core"), "name", "=runnable"),
)
_UNKNOWN = LegendEntry(
    "blocked",
    english("blocked, not known why"),
    hint=english("Blocked outside the calls that are measured, or shorter than the threshold"),
)


def wait_kinds(capture: Capture) -> frozenset[int]:
    """Which kinds of waits the thread states of a capture name; looks at pieces until all were met."""
    table = capture.kinds.get("thread_state")
    found: set[int] = set()
    if table is None or "wait" not in table.attributes:
        return frozenset()
    values, valid = table.column("wait")
    for first in range(0, len(values), _PIECE):
        part = values[first : first + _PIECE][valid[first : first + _PIECE]]
        found.update(np.flatnonzero(np.bincount(part)).tolist())
        if len(found) >= len(WAIT_KINDS) - 1:
            break
    return frozenset(found - {0})


def legend_entries(capture: Capture) -> tuple[LegendEntry, ...]:
    """What there is to explain; nothing where thread states do not say what they wait for."""
    kinds = wait_kinds(capture)
    waits = tuple(
        LegendEntry(
            family.color,
            family.title,
            "thread_state.wait",
            " | ".join(f"={translated(WAIT_KINDS[kind])}" for kind in family.kinds if kind in kinds),
        )
        for family in WAIT_FAMILIES
        if kinds.intersection(family.kinds)
    )
    return (*_STATES, *waits, _UNKNOWN) if waits else ()


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
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Legend of thread states", "timeline"))
        self.hide()

    def show_entries(self, entries: tuple[LegendEntry, ...], table: ColorTable) -> None:
        """Explain these, with the colours of a timeline."""
        self.entries, self._table = entries, table
        self.setVisible(bool(entries) and self._wanted)
        self.update()

    def set_wanted(self, on: bool) -> None:
        """Show or hide the strip."""
        self._wanted = on
        self.setVisible(bool(self.entries) and on)
        self.wanted_changed.emit(on)

    def set_theme(self, theme: Theme, table: ColorTable) -> None:
        """Paint in other colours."""
        self.theme, self._table = theme, table
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(200, HEIGHT)

    def places(self) -> list[tuple[LegendEntry, QRectF]]:
        """The entries that fit, and where each is."""
        metrics = QFontMetricsF(ui_font(11))
        x, found = 10.0, []
        for entry in self.entries:
            width = _SWATCH_PX[0] + _GAP + metrics.horizontalAdvance(translated(entry.title))
            if x + width > self.width() - 4:
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
            painter.drawImage(
                QRectF(place.left(), top, *_SWATCH_PX), self._swatch(entry.color, self.devicePixelRatioF())
            )
            text = place.adjusted(_SWATCH_PX[0] + _GAP, 0, 2, 0)
            painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), translated(entry.title))

    def _swatch(self, color: str, ratio: float) -> QImage:
        assert self._table is not None
        width, height = (round(side * ratio) for side in _SWATCH_PX)
        base = codes.INDEX[color] * codes.VARIANTS
        line = np.full(width, base + codes.SOLID)
        if codes.INDEX[color] in codes.HATCHED_COLORS:
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
            if entry is not None:
                tip = translated(entry.hint) if entry.hint else tr("Click: list these in Events", "timeline")
                QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)
