"""The budget by step: a stacked bar for each, as high as the step is long; a click selects its range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.analysis.findings.finding import Budget
from warpline.i18n import tr, tr_n, translated
from warpline.model.times import format_duration
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font
from warpline_app.look.widgets import shows_tooltip
from warpline_app.timeline.draw.cause_look import cause_looks, fill_stacked

Int64Array = npt.NDArray[np.int64]
_TOP, _BOTTOM, _LEFT = 20, 18, 12
_WIDEST_PX = 46
_GAP_FROM_PX = 4


class StepStack(QWidget):
    """One bar per step; steps that share a pixel are represented by the longest."""

    step_chosen = Signal(object, object)
    """start and stop of a step in capture ns"""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.budget: Budget | None = None
        self._range: tuple[int, int] | None = None
        self._hovered = -1
        self._times: Int64Array = np.empty((0, 0), np.int64)
        self._whole: Int64Array = np.empty(0, np.int64)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 60)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Time budget by step"))

    def sizeHint(self) -> QSize:
        return QSize(300, 120)

    def show_budget(self, budget: Budget) -> None:
        """Show the steps of a budget."""
        self.budget = budget
        shape = len(budget.steps), len(budget.parts)
        self._times = np.array([step.times_ns for step in budget.steps], np.int64).reshape(shape)
        self._whole = np.array([step.stop_ns - step.start_ns for step in budget.steps], np.int64)
        self.update()

    def mark_range(self, selected: tuple[int, int] | None) -> None:
        """Frame the steps in the selected range."""
        self._range = selected
        self.update()

    @property
    def _pitch(self) -> float:
        return min((self.width() - 2 * _LEFT) / max(len(self._whole), 1), float(_WIDEST_PX))

    def step_at(self, x: float) -> int:
        """Index of the step at an x position, −1 for none."""
        if not len(self._whole) or x < _LEFT:
            return -1
        first = int((x - _LEFT) / self._pitch)
        if self._pitch >= 1:
            return first if first < len(self._whole) else -1
        column = int(x - _LEFT)
        begin, end = int(column / self._pitch), int((column + 1) / self._pitch)
        part = self._whole[begin:end]
        return begin + int(part.argmax()) if len(part) else -1

    def bar_of(self, step: int) -> QRectF:
        """Rectangle of a step's bar."""
        height = self.height() - _TOP - _BOTTOM
        length = height * int(self._whole[step]) / max(int(self._whole.max()), 1)
        width = self._pitch - (2 if self._pitch >= _GAP_FROM_PX else 0)
        left = _LEFT + step * self._pitch if self._pitch >= 1 else _LEFT + int(step * self._pitch)
        return QRectF(left, _TOP + height - length, max(width, 1.0), length)

    def _drawn(self) -> list[int]:
        if self._pitch >= 1:
            return list(range(len(self._whole)))
        found = (self.step_at(_LEFT + column) for column in range(self.width() - 2 * _LEFT))
        return list(dict.fromkeys(step for step in found if step >= 0))

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        if self.budget is None or not len(self._whole):
            return
        theme = self.theme
        looks = cause_looks(tuple(part.cause for part in self.budget.parts), theme)
        painter.setFont(ui_font(11))
        painter.setPen(theme.color("muted"))
        head = tr_n("{count} step", "{count} steps", len(self._whole))
        longest = tr("up to {time}", time=format_duration(int(self._whole.max())))
        painter.drawText(QRectF(_LEFT, 0, self.width(), _TOP - 4), f"{head} · {longest}")
        for step in self._drawn():
            bar = self.bar_of(step)
            whole, bottom = max(int(self._whole[step]), 1), bar.bottom()
            for time, look in zip(self._times[step].tolist(), looks, strict=False):
                height = bar.height() * time / whole
                if height > 0:
                    fill_stacked(
                        painter, QRectF(bar.left(), bottom - height, bar.width(), height), look, theme
                    )
                bottom -= height
            is_chosen = self._is_chosen(step)
            if is_chosen or step == self._hovered:
                painter.setPen(QPen(theme.color("selection" if is_chosen else "text"), 2 if is_chosen else 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(bar.adjusted(0, 0, -1, -1))
        self._paint_names(painter)

    def _paint_names(self, painter: QPainter) -> None:
        assert self.budget is not None
        steps = self.budget.steps
        painter.setPen(self.theme.color("muted"))
        right = self.bar_of(len(steps) - 1).right()
        below = QRectF(_LEFT, self.height() - _BOTTOM + 2, max(right - _LEFT, 120), _BOTTOM - 2)
        names = [translated(steps[0].name), translated(steps[-1].name)]
        half = int(below.width() / 2) - 6
        metrics = painter.fontMetrics()
        texts = [metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, half) for name in names]
        painter.drawText(below, int(Qt.AlignmentFlag.AlignLeft), texts[0])
        if len(steps) > 1:
            painter.drawText(below, int(Qt.AlignmentFlag.AlignRight), texts[1])

    def _is_chosen(self, step: int) -> bool:
        assert self.budget is not None
        found = self.budget.steps[step]
        return self._range is not None and self._range[0] <= found.start_ns < found.stop_ns <= self._range[1]

    def step_text(self, step: int) -> str:
        """Name, length and parts of a step."""
        assert self.budget is not None
        found = self.budget.steps[step]
        whole = max(int(self._whole[step]), 1)
        lines = [f"{translated(found.name)} · {format_duration(whole)}"]
        for part, time in zip(self.budget.parts, found.times_ns, strict=False):
            if time:
                lines.append(f"{100 * time / whole:.1f} %  {translated(part.title)}  {format_duration(time)}")
        return "\n".join(lines)

    def event(self, event: QEvent) -> bool:
        def text_at(point: QPoint) -> str:
            step = self.step_at(point.x())
            return self.step_text(step) if step >= 0 else ""

        if shows_tooltip(self, event, text_at):
            return True
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and _is_arrow(event):
            event.accept()
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Frame the step under the pointer."""
        self._hover(self.step_at(event.position().x()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)

    def _hover(self, step: int) -> None:
        if step != self._hovered:
            self._hovered = step
            leads = step >= 0
            self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the range of a step."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose(self.step_at(event.position().x()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move between steps."""
        direction = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if not direction or self.budget is None:
            super().keyPressEvent(event)
            return
        chosen = [step for step in range(len(self._whole)) if self._is_chosen(step)]
        at = (chosen[0] if direction < 0 else chosen[-1]) + direction if chosen else 0
        self._choose(min(max(at, 0), len(self._whole) - 1))

    def _choose(self, step: int) -> None:
        if self.budget is not None and step >= 0:
            found = self.budget.steps[step]
            self.step_chosen.emit(found.start_ns, found.stop_ns)


def _is_arrow(event: QKeyEvent) -> bool:
    return event.key() in {Qt.Key.Key_Left, Qt.Key.Key_Right}
