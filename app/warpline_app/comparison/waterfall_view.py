"""The difference of two captures as a waterfall from A to B, one bar per part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from warpline.analysis.compare.comparison import Comparison
from warpline.analysis.compare.comparison_text import (
    largest,
    marked,
    signed_duration,
    signed_percent,
    variation_text,
)
from warpline.analysis.compare.waterfall import Contributor, TimePart
from warpline.analysis.framework.kernel_names import short_kernel_name
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, ui_font
from warpline_app.panels.charts.picture_saving import save_picture

ROW_PX = 22
INNER_PX = 18
_TEXT_PX = 12
_LEFT_PX = 12
_GAP_PX = 10
_MOST_INNER = 8
_SLOWER, _FASTER = "wait_lock", "running"
_END = "kernel"
_OF_KERNELS = ("computation", "communication", "launch", "other")
"""Causes whose contributors are kernels."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A row of the picture; its bar spans ``start_ns`` to ``stop_ns`` on the time axis."""

    name: str
    start_ns: int
    stop_ns: int
    values: str
    part: TimePart | None = None
    contributor: Contributor | None = None
    is_end: bool = False

    @property
    def height_px(self) -> int:
        return INNER_PX if self.contributor is not None else ROW_PX


class WaterfallView(QWidget):
    """Draws the parts, largest change first, and the contributors of the selected one."""

    part_chosen = Signal(object)
    """a TimePart to show on the timelines"""
    contributor_chosen = Signal(object, object)
    """a TimePart, and a Contributor to it"""

    def __init__(self, comparison: Comparison, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.comparison = comparison
        self._chosen: TimePart | None = None
        self._theme: Theme | None = None
        self.setAccessibleName(tr("Waterfall of the difference"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self._rows = self._make_rows()
        self.setMinimumHeight(self.sizeHint().height())

    @property
    def chosen(self) -> TimePart | None:
        """The part whose contributors are shown."""
        return self._chosen

    @property
    def row_names(self) -> list[str]:
        """Labels at the left, from the top."""
        return [row.name for row in self._rows]

    def choose(self, part: TimePart | None) -> None:
        """Show the contributors to a part, without emitting a signal."""
        self._chosen = part
        self._rows = self._make_rows()
        self.setMinimumHeight(self.sizeHint().height())
        self.updateGeometry()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Paint in this theme instead of the window's, for pictures."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(640, sum(row.height_px for row in self._rows) + 2 * _GAP_PX)

    def _make_rows(self) -> list[_Row]:
        a_ns, b_ns = self.comparison.a.total_ns, self.comparison.b.total_ns
        rows = [_Row(name="A", start_ns=0, stop_ns=a_ns, values=format_duration(a_ns), is_end=True)]
        at = a_ns
        for part in self.comparison.parts:
            start, at = at, at + part.difference_ns
            if not part.difference_ns and part is not self._chosen:
                continue
            values = f"{signed_duration(part.difference_ns)}  {signed_percent(part.a_ns, part.b_ns)}"
            rows.append(
                _Row(
                    name=marked(translated(part.title), part),
                    start_ns=start,
                    stop_ns=at,
                    values=values.strip(),
                    part=part,
                )
            )
            if part is self._chosen:
                inner = start
                for contributor in largest(part, self.comparison.difference_ns, _MOST_INNER):
                    short = (
                        short_kernel_name(contributor.name) if part.cause in _OF_KERNELS else contributor.name
                    )
                    name = marked(short, contributor)
                    stop = inner + contributor.difference_ns
                    rows.append(
                        _Row(
                            name=name,
                            start_ns=inner,
                            stop_ns=stop,
                            values=signed_duration(contributor.difference_ns),
                            part=part,
                            contributor=contributor,
                        )
                    )
                    inner = stop
        rows.append(_Row(name="B", start_ns=0, stop_ns=b_ns, values=format_duration(b_ns), is_end=True))
        return rows

    def row_rect(self, place: int) -> QRect:
        """Rectangle of a row."""
        top = _GAP_PX + sum(row.height_px for row in self._rows[:place])
        return QRect(0, top, self.width(), self._rows[place].height_px)

    def _row_at(self, y: float) -> int | None:
        return next(
            (n for n in range(len(self._rows)) if self.row_rect(n).top() <= y <= self.row_rect(n).bottom()),
            None,
        )

    def _names_px(self) -> int:
        metrics = QFontMetrics(ui_font(_TEXT_PX))
        widest = max(metrics.horizontalAdvance(row.name) for row in self._rows if row.contributor is None)
        # Names of kernels and functions are long, and contributors' bars are short.
        has_inner = any(row.contributor is not None for row in self._rows)
        widest = max(widest, 260) if has_inner else widest
        return min(max(widest + 16, 120), max(self.width() * 2 // 5, 120))

    def _values_px(self) -> int:
        metrics = QFontMetrics(ui_font(_TEXT_PX))
        return max(metrics.horizontalAdvance(row.values) for row in self._rows) + _LEFT_PX + _GAP_PX

    def _axis(self) -> tuple[int, int]:
        """Range of the axis in ns. It does not start at 0 when the parts are small compared with the total."""
        ends = [end for row in self._rows if not row.is_end for end in (row.start_ns, row.stop_ns)]
        ends += [self.comparison.a.total_ns, self.comparison.b.total_ns]
        low, high = min(ends), max(ends)
        room = max(high - low, 1)
        return (0 if low < 2 * room else low - room // 3), high + max(room // 20, 1)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        theme = self._theme or appearance().theme
        painter.fillRect(self.rect(), theme.color("panel"))
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Draw on any device."""
        theme = self._theme or appearance().theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        names_px, values_px = self._names_px(), self._values_px()
        left = _LEFT_PX + names_px + _GAP_PX
        right = max(self.width() - values_px - _GAP_PX, left + 40)
        low, high = self._axis()
        scale = (right - left) / max(high - low, 1)

        def x_of(time_ns: int) -> float:
            return left + max(time_ns - low, 0) * scale

        before: tuple[float, int] | None = None
        for index, row in enumerate(self._rows):
            rect = self.row_rect(index)
            if row.part is not None and row.part is self._chosen and row.contributor is None:
                painter.fillRect(rect.adjusted(4, 0, -4, 0), theme.color("group"))
            inset = 5 if row.contributor is not None else 3
            first, last = sorted((x_of(row.start_ns), x_of(row.stop_ns)))
            bar = QRectF(first, rect.top() + inset, max(last - first, 1.5), rect.height() - 2 * inset)
            self._draw_bar(painter, row, bar, theme)
            if row.is_end and low > 0:
                _draw_break(painter, bar, theme)
            if before is not None and row.contributor is None:
                painter.setPen(theme.color("muted", 120))
                painter.drawLine(QPointF(before[0], before[1]), QPointF(before[0], bar.top()))
            if row.contributor is None:
                before = (x_of(row.stop_ns), int(bar.bottom()))
            self._draw_texts(painter, row, rect, names_px, values_px, theme)

    def _draw_bar(self, painter: QPainter, row: _Row, bar: QRectF, theme: Theme) -> None:
        if row.is_end:
            painter.fillRect(bar, theme.color(_END, 150))
            return
        is_slower = row.stop_ns >= row.start_ns
        is_noise = row.contributor is None and row.part is not None and row.part.is_noise
        alpha = 90 if is_noise else 150 if row.contributor is not None else 235
        painter.fillRect(bar, theme.color(_SLOWER if is_slower else _FASTER, alpha))
        # An arrow shows the direction without relying on colour.
        if bar.width() >= 10:
            tip = bar.right() - 3 if is_slower else bar.left() + 3
            back = tip - 5 if is_slower else tip + 5
            middle = bar.center().y()
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.ink_dark))
            painter.drawPolygon(
                QPolygonF([QPointF(tip, middle), QPointF(back, middle - 4), QPointF(back, middle + 4)])
            )
            painter.setBrush(Qt.BrushStyle.NoBrush)

    def _draw_texts(
        self, painter: QPainter, row: _Row, rect: QRect, names_px: int, values_px: int, theme: Theme
    ) -> None:
        is_inner = row.contributor is not None
        painter.setFont(ui_font(_TEXT_PX - 1 if is_inner else _TEXT_PX))
        painter.setPen(theme.color("muted" if is_inner else "text"))
        indent = 14 if is_inner else 0
        room = QRect(_LEFT_PX + indent, rect.top(), names_px - indent, rect.height())
        align = Qt.AlignmentFlag.AlignVCenter
        # Contributors differ at either end: the function, and the line in its file.
        mode = Qt.TextElideMode.ElideMiddle if is_inner else Qt.TextElideMode.ElideRight
        name = painter.fontMetrics().elidedText(row.name, mode, room.width())
        painter.drawText(room, int(align | Qt.AlignmentFlag.AlignLeft), name)
        values = QRect(self.width() - values_px, rect.top(), values_px - _LEFT_PX, rect.height())
        painter.drawText(values, int(align | Qt.AlignmentFlag.AlignRight), row.values)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._row_at(event.pos().y())
            row = None if place is None else self._rows[place]
            item = None if row is None else row.contributor or row.part
            if row is None or item is None:
                QToolTip.hideText()
            else:
                values = f"A {format_duration(item.a_ns)}   B {format_duration(item.b_ns)}"
                name = row.contributor.name if row.contributor is not None else row.name
                text = f"{name}\n{values}   {row.values}"
                if isinstance(item, TimePart) and item.variation is not None:
                    text = f"{text}\n{variation_text(item.variation)}"
                QToolTip.showText(event.globalPos(), plain(text), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand cursor over clickable rows."""
        place = self._row_at(event.position().y())
        is_part = place is not None and self._rows[place].part is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_part else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Show a part or a contributor."""
        place = self._row_at(event.position().y())
        if place is not None and event.button() == Qt.MouseButton.LeftButton:
            self._go(self._rows[place])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down move between parts."""
        step = {Qt.Key.Key_Down.value: 1, Qt.Key.Key_Up.value: -1}.get(event.key())
        parts = [row.part for row in self._rows if row.part is not None and row.contributor is None]
        if step is None or not parts:
            super().keyPressEvent(event)
            return
        at = parts.index(self._chosen) + step if self._chosen in parts else 0
        part = parts[min(max(at, 0), len(parts) - 1)]
        self.choose(part)
        self.part_chosen.emit(part)

    def _go(self, row: _Row) -> None:
        if row.part is None:
            return
        if row.contributor is not None:
            self.contributor_chosen.emit(row.part, row.contributor)
            return
        self.choose(row.part)
        self.part_chosen.emit(row.part)

    def export(self, path: Path) -> None:
        """Save the picture: SVG if the name ends in .svg, else PNG at twice its size."""
        theme = self._theme or appearance().theme
        save_picture(path, self.rect(), theme.color("panel"), self.draw)


def _draw_break(painter: QPainter, bar: QRectF, theme: Theme) -> None:
    """Two slanted lines through a bar whose axis does not start at 0."""
    painter.setPen(theme.color("panel"))
    for shift in (8.0, 12.0):
        painter.drawLine(
            QPointF(bar.left() + shift, bar.bottom() + 1), QPointF(bar.left() + shift + 4, bar.top() - 1)
        )
