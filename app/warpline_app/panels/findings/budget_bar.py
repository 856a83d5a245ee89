"""The time budget as a stacked bar with a legend; tooltips give exact values."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Budget
from warpline.i18n import sentences, tr, translated
from warpline.model.times import format_duration
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, luminance, to_rgb, ui_font
from warpline_app.look.widgets import shows_tooltip
from warpline_app.look.wrapped import WrappedLabel
from warpline_app.panels.findings.legend import BudgetLegend
from warpline_app.timeline.draw.cause_look import cause_looks, fill_cause

_BAR_PX = 22
_SPACING_PX = 6


class StackedBar(QWidget):
    """Adjacent parts, as long as their shares. A click, or arrows and Return, chooses one."""

    part_chosen = Signal(int)
    """its index"""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.budget: Budget | None = None
        self._hovered = -1
        self._chosen = -1
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
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
            if number in {self._chosen, self._hovered}:
                token, px = ("selection", 2) if number == self._chosen else ("text", 1)
                painter.setPen(QPen(self.theme.color(token), px))
                painter.drawRect(rect.adjusted(px - 1, px - 1, -px, -px))

    def part_text(self, number: int) -> str:
        """Title, time and percentage of a part."""
        assert self.budget is not None
        part = self.budget.parts[number]
        whole = max(self.budget.stop_ns - self.budget.start_ns, 1)
        return tr(
            "{title}: {time}, {percent:.2f} % of {whole}. Click to see it in the timeline.",
            title=translated(part.title),
            time=format_duration(part.time_ns),
            percent=100 * part.time_ns / whole,
            whole=format_duration(whole),
        )

    def event(self, event: QEvent) -> bool:
        def text_at(point: QPoint) -> str:
            number = self.part_at(point)
            return self.part_text(number) if number >= 0 else ""

        own = {Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in own
        ):
            event.accept()
            return True
        return shows_tooltip(self, event, text_at) or super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Frame the part under the pointer."""
        self._hover(self.part_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)

    def _hover(self, number: int) -> None:
        if number != self._hovered:
            self._hovered = number
            self.setCursor(Qt.CursorShape.PointingHandCursor if number >= 0 else Qt.CursorShape.ArrowCursor)
            self.update()

    def set_chosen(self, number: int) -> None:
        """Frame the part whose time is highlighted in the timeline; −1 for none."""
        self._chosen = number
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the part under the pointer."""
        number = self.part_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and number >= 0:
            self.part_chosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move between the parts, Return and Space choose one."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        last = len(self.part_rects()) - 1
        if step and last >= 0:
            self._hover(min(max(self._hovered + step, 0), last))
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space} and self._hovered >= 0:
            self.part_chosen.emit(self._hovered)
        else:
            super().keyPressEvent(event)


class BudgetBar(QWidget):
    """The bar, its legend and notes."""

    part_chosen = Signal(object)
    """a BudgetPart: show when its time was"""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = StackedBar(theme)
        self.legend = BudgetLegend(theme)
        for view in (self.bar, self.legend):
            view.part_chosen.connect(self._choose)
        self.notes = WrappedLabel("")
        self.notes.setObjectName("muted")
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
        self.notes.setText(sentences(map(translated, notes)))
        self.notes.setVisible(bool(notes))
        texts = (self.bar.part_text(number) for number in range(len(budget.parts)))
        self.bar.setAccessibleName(tr("Time budget of {who}", who=translated(budget.waited_for)))
        self.bar.setAccessibleDescription("; ".join(texts))
        self.bar.update()

    def _choose(self, number: int) -> None:
        if self.bar.budget is not None:
            self.part_chosen.emit(self.bar.budget.parts[number])

    def set_chosen(self, cause: str) -> None:
        """Frame the part of a cause; empty for none."""
        parts = self.bar.budget.parts if self.bar.budget is not None else ()
        self.bar.set_chosen(next((number for number, part in enumerate(parts) if part.cause == cause), -1))

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.bar.theme = self.legend.theme = theme
        self.update()
