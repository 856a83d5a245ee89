"""The parts of a budget with exact shares and times, wrapped to the width."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.analysis.findings.finding import Budget
from warpline.i18n import translated
from warpline.model.times import format_duration
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font
from warpline_app.look.widgets import shows_tooltip
from warpline_app.timeline.draw.cause_look import cause_looks, fill_cause

_LINE_PX = 17
_SWATCH_PX = 10
_GAP_PX = 18
MOST_SHOWN = 5
"""Parts that the legend names; the rest is counted."""


class BudgetLegend(QWidget):
    """Takes the height it needs at its width. A click on an entry chooses its part."""

    part_chosen = Signal(int)
    """its index"""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._budget: Budget | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_budget(self, budget: Budget) -> None:
        """Show the parts of a budget."""
        self._budget = budget
        self._fit_height()
        self.update()

    def texts(self) -> list[tuple[str, str, str]]:
        """(title, share, time) of the largest parts; the last entry counts the others, which the tooltip lists."""
        shown = self._all_texts()
        if len(shown) <= MOST_SHOWN + 1:
            return shown
        return [*shown[:MOST_SHOWN], (f"+{len(shown) - MOST_SHOWN}", "", "")]

    def _all_texts(self) -> list[tuple[str, str, str]]:
        if self._budget is None:
            return []
        whole = max(self._budget.stop_ns - self._budget.start_ns, 1)
        return [
            (translated(part.title), share_text(part.time_ns / whole), format_duration(part.time_ns))
            for part in self._budget.parts
        ]

    def event(self, event: QEvent) -> bool:
        """List all parts as a tooltip."""
        text = "\n".join("  ".join(texts) for texts in self._all_texts())
        return shows_tooltip(self, event, lambda _at: text) or super().event(event)

    def _places(self) -> list[QPointF]:
        """Positions of the swatches."""
        places, x, y = [], 0.0, 0.0
        for texts in self.texts():
            width = _width_of(texts)
            if x and x + width > self.width():
                x, y = 0.0, y + _LINE_PX
            places.append(QPointF(x, y))
            x += width + _GAP_PX
        return places

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the part of the entry under the pointer."""
        at = event.position()
        for number, (texts, place) in enumerate(zip(self.texts(), self._places(), strict=True)):
            box = QRectF(place.x(), place.y(), _width_of(texts), _LINE_PX)
            if event.button() == Qt.MouseButton.LeftButton and texts[1] and box.contains(at):
                self.part_chosen.emit(number)

    def _fit_height(self) -> None:
        places = self._places()
        height = int(places[-1].y()) + _LINE_PX if places else 0
        if height != self.height():
            self.setFixedHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_height()

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        if self._budget is None:
            return
        looks = cause_looks(tuple(part.cause for part in self._budget.parts), self.theme)
        plain, bold = ui_font(12), ui_font(12, bold=True)
        for texts, place, look in zip(self.texts(), self._places(), looks, strict=False):
            top = place.y() + (_LINE_PX - _SWATCH_PX) / 2
            x = place.x()
            if texts[1]:
                fill_cause(painter, QRectF(x, top, _SWATCH_PX, _SWATCH_PX), look, self.theme)
                x += _SWATCH_PX + 6
            for text, font, token in zip(texts, (plain, bold, plain), ("text", "text", "muted"), strict=True):
                painter.setFont(font)
                painter.setPen(self.theme.color(token))
                painter.drawText(QPointF(x, place.y() + _LINE_PX - 4), text)
                x += QFontMetricsF(font).horizontalAdvance(text) + 7


def share_text(share: float) -> str:
    """Percentage; nonzero shares never read as 0."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def _width_of(texts: tuple[str, str, str]) -> float:
    plain, bold = QFontMetricsF(ui_font(12)), QFontMetricsF(ui_font(12, bold=True))
    title, share, time = texts
    words = plain.horizontalAdvance(title) + bold.horizontalAdvance(share) + plain.horizontalAdvance(time)
    return _SWATCH_PX + 6 + words + 14
