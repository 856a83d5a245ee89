"""The time budget as a stacked bar with a legend; tooltips give exact values."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Budget
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, luminance, to_rgb, ui_font
from warpline_app.look.widgets import muted_label, shows_tooltip
from warpline_app.panels.findings.legend import BudgetLegend
from warpline_app.timeline.draw.cause_look import cause_looks, fill_cause

_BAR_PX = 22
_SPACING_PX = 6


class StackedBar(QWidget):
    """Adjacent parts, as long as their shares; the one under the pointer is framed."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.budget: Budget | None = None
        self._hovered = -1
        self.setFixedHeight(_BAR_PX)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(400, _BAR_PX)

    def part_rects(self) -> list[QRect]:
        """Rectangles of the parts, at least one pixel each, together the whole width."""
        if self.budget is None:
            return []
        whole = max(sum(part.time_ns for part in self.budget.parts), 1)
        width, rects, done = self.width(), [], 0
        for part in self.budget.parts:
            left = round(done / whole * width)
            done += part.time_ns
            right = round(done / whole * width)
            rects.append(QRect(min(left, width - 1), 0, max(right - left, 1), self.height()))
        return rects

    def part_at(self, point: QPoint) -> int:
        """Index of the part at a point, −1 for none."""
        hits = [number for number, rect in enumerate(self.part_rects()) if rect.contains(point)]
        return hits[-1] if hits else -1

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        if self.budget is None:
            return
        looks = cause_looks(tuple(part.cause for part in self.budget.parts), self.theme)
        painter.setFont(ui_font(11))
        metrics = painter.fontMetrics()
        whole = max(sum(part.time_ns for part in self.budget.parts), 1)
        for number, (part, rect, look) in enumerate(
            zip(self.budget.parts, self.part_rects(), looks, strict=True)
        ):
            box = QRectF(rect.adjusted(0, 0, -1 if rect.width() > 3 else 0, 0))
            fill_cause(painter, box, look, self.theme)
            share = f"{100 * part.time_ns / whole:.0f} %"
            text = f"{translated(part.title)}  {share}"
            if metrics.horizontalAdvance(text) + 12 > rect.width():
                text = share
            text_px = metrics.horizontalAdvance(text) + 10
            if text_px <= rect.width():
                if look.is_hatched:  # plain background behind the text, which hatching would cross
                    background = QRectF(rect.left() + 2, rect.top() + 3, text_px - 2, rect.height() - 6)
                    painter.fillRect(background, self.theme.color("panel", 215))
                    painter.setPen(self.theme.color("text"))
                else:
                    is_light = luminance(to_rgb(look.color)) > 0.21
                    painter.setPen(QColor(self.theme.ink_dark if is_light else self.theme.ink_light))
                inside = rect.adjusted(6, 0, 0, 0)
                painter.drawText(inside, int(Qt.AlignmentFlag.AlignVCenter), text)
            if number == self._hovered:
                painter.setPen(QPen(self.theme.color("text"), 1))
                painter.drawRect(rect.adjusted(0, 0, -1, -1))

    def part_text(self, number: int) -> str:
        """Title, time and percentage of a part."""
        assert self.budget is not None
        part = self.budget.parts[number]
        whole = max(self.budget.stop_ns - self.budget.start_ns, 1)
        return tr(
            "{title}: {time}, {percent:.2f} % of {whole}",
            title=translated(part.title),
            time=format_duration(part.time_ns),
            percent=100 * part.time_ns / whole,
            whole=format_duration(whole),
        )

    def event(self, event: QEvent) -> bool:
        def text_at(point: QPoint) -> str:
            number = self.part_at(point)
            return self.part_text(number) if number >= 0 else ""

        return shows_tooltip(self, event, text_at) or super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Frame the part under the pointer."""
        self._hover(self.part_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)

    def _hover(self, number: int) -> None:
        if number != self._hovered:
            self._hovered = number
            self.update()


class BudgetBar(QWidget):
    """The bar, its legend and notes."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = StackedBar(theme)
        self.legend = BudgetLegend(theme)
        self.notes = muted_label()
        self.notes.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(_SPACING_PX)
        column.addWidget(self.bar)
        column.addWidget(self.legend)
        column.addWidget(self.notes)

    def show_budget(self, budget: Budget, notes: tuple[str, ...]) -> None:
        """Show a budget and notes on its range."""
        self.bar.budget = budget
        self.legend.show_budget(budget)
        self.notes.setText(" ".join(map(translated, notes)))
        self.notes.setVisible(bool(notes))
        texts = (self.bar.part_text(number) for number in range(len(budget.parts)))
        self.bar.setAccessibleName(tr("Time budget of {who}", who=translated(budget.waited_for)))
        self.bar.setAccessibleDescription("; ".join(texts))
        self.bar.update()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.bar.theme = self.legend.theme = theme
        self.update()
