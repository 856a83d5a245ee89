"""Shows a file with the cost of each line beside it."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontDatabase,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from warpline.analysis.structure.line_times import LineTime
from warpline.i18n import tr, tr_n, translated
from warpline.model.times import format_duration
from warpline.model.waits import WAIT_FAMILIES, WAIT_KINDS
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font, wash
from warpline_app.look.widgets import shows_tooltip

_COLOR_OF = {int(kind): family.color for family in WAIT_FAMILIES for kind in family.kinds}
_COLUMN_PX = 92
_HEAD_PX = 20


class Gutter(QWidget):
    """Left of the text: waiting time, CPU samples, line number."""

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view
        self.setAccessibleName(tr("Time of each line"))

    def sizeHint(self) -> QSize:
        return QSize(self._view.gutter_width, 0)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        self._view.draw_gutter(painter, self.rect())

    def event(self, event: QEvent) -> bool:
        """Show a line's times as a tooltip."""
        return shows_tooltip(self, event, lambda point: self._view.tip_at(point.y())) or super().event(event)


class CodeView(QPlainTextEdit):
    """A read-only view of lines."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.times: Mapping[int, LineTime] = {}
        self.line = 0
        """The line to mark, 0 for none."""
        self._most = (1, 1)
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setAccessibleName(tr("Source"))
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(12)
        self.setFont(font)
        self.gutter = Gutter(self)
        self.updateRequest.connect(self._scrolled)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.theme = theme
        self.setStyleSheet("QPlainTextEdit { border: none; border-radius: 0; padding: 0; }")
        self._mark_line()
        self.gutter.update()

    def show_text(self, lines: tuple[str, ...], times: Mapping[int, LineTime]) -> None:
        """Show a file and the cost of its lines."""
        text = "\n".join(lines)
        if text != self.toPlainText():
            self.setPlainText(text)
        self.times = times
        self._most = (
            max((time.waiting_ns for time in times.values()), default=0) or 1,
            max((time.running for time in times.values()), default=0) or 1,
        )
        self.setViewportMargins(self.gutter_width, _HEAD_PX, 0, 0)
        self.gutter.update()

    def go_to_line(self, line: int) -> None:
        """Centre a line and mark it."""
        self.line = line
        block = self.document().findBlockByNumber(line - 1)
        if block.isValid():
            cursor = QTextCursor(block)
            self.setTextCursor(cursor)
            self.centerCursor()
        self._mark_line()
        self.gutter.update()

    def _mark_line(self) -> None:
        marks = []
        block = self.document().findBlockByNumber(self.line - 1) if self.line else None
        if block is not None and block.isValid():
            mark = QTextEdit.ExtraSelection()
            mark.format.setBackground(QColor(wash(self.theme)))
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            mark.cursor = QTextCursor(block)
            marks.append(mark)
        self.setExtraSelections(marks)

    @property
    def gutter_width(self) -> int:
        """Width of two columns of figures and the line numbers."""
        return 2 * _COLUMN_PX + self._number_width()

    def _number_width(self) -> int:
        return self.fontMetrics().horizontalAdvance("0" * max(3, len(str(self.blockCount())))) + 20

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the gutter to the view."""
        super().resizeEvent(event)
        area = self.contentsRect()
        self.gutter.setGeometry(QRect(area.left(), area.top(), self.gutter_width, area.height()))

    def _scrolled(self, _area: QRect, _dy: int) -> None:
        self.gutter.resize(self.gutter_width, self.gutter.height())
        self.gutter.update()

    def visible_lines(self) -> list[tuple[int, int, int]]:
        """(number, top px in the gutter, height px) of the visible lines."""
        block, found = self.firstVisibleBlock(), []
        offset = self.contentOffset()
        while block.isValid():
            box = self.blockBoundingGeometry(block).translated(offset)
            if box.top() > self.viewport().height():
                break
            found.append((block.blockNumber() + 1, round(box.top()) + _HEAD_PX, round(box.height())))
            block = block.next()
        return found

    def draw_gutter(self, painter: QPainter, area: QRect) -> None:
        """Draw the figures beside the lines."""
        theme = self.theme
        painter.fillRect(area, theme.color("header"))
        painter.setFont(ui_font(11))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        number_left = 2 * _COLUMN_PX
        for number, top, height in self.visible_lines():
            time = self.times.get(number)
            if time is not None and time.waiting_ns:
                color = _COLOR_OF.get(time.wait, "blocked")
                self._bar(
                    painter, QRect(6, top, _COLUMN_PX - 8, height), time.waiting_ns / self._most[0], color
                )
                painter.drawText(
                    QRect(6, top, _COLUMN_PX - 12, height), right, format_duration(time.waiting_ns, 3)
                )
            if time is not None and time.running:
                place = QRect(_COLUMN_PX + 4, top, _COLUMN_PX - 8, height)
                self._bar(painter, place, time.running / self._most[1], "running")
                painter.drawText(place.adjusted(0, 0, -4, 0), right, f"{time.running:,}")
            is_here = number == self.line
            painter.setPen(theme.color("selection" if is_here else "text" if time is not None else "muted"))
            painter.drawText(
                QRect(number_left, top, area.width() - number_left - 10, height), right, f"{number}"
            )
            if is_here:
                painter.fillRect(QRect(area.width() - 6, top, 3, height), theme.color("selection"))
        self._draw_head(painter, area, right)

    def _bar(self, painter: QPainter, place: QRect, share: float, color: str) -> None:
        width = max(2, round(place.width() * share))
        painter.fillRect(
            QRect(place.left(), place.top() + 2, width, place.height() - 4), self.theme.color(color, 110)
        )
        painter.setPen(self.theme.color("text"))

    def _draw_head(self, painter: QPainter, area: QRect, right: Qt.AlignmentFlag) -> None:
        painter.fillRect(QRect(area.left(), 0, area.width(), _HEAD_PX), self.theme.color("panel"))
        painter.setPen(self.theme.color("muted"))
        painter.drawText(QRect(6, 0, _COLUMN_PX - 12, _HEAD_PX), right, tr("waited"))
        painter.drawText(QRect(_COLUMN_PX, 0, _COLUMN_PX - 8, _HEAD_PX), right, tr("samples"))
        painter.fillRect(QRect(area.left(), _HEAD_PX - 1, area.width(), 1), self.theme.color("hairline"))

    def tip_at(self, y: int) -> str:
        """The cost of a line in words; empty if none."""
        for number, top, height in self.visible_lines():
            if top <= y < top + height:
                return line_text(self.times.get(number))
        return ""

    def line_at(self, point: QPoint) -> int:
        """Number of the line at a point of the text."""
        return self.cursorForPosition(point).blockNumber() + 1


def line_text(time: LineTime | None) -> str:
    """``waited 538.9 ms in 59 waits, mostly lock · 45 samples on a core``, including calls."""
    if time is None:
        return ""
    parts = []
    if time.waiting_ns:
        parts.append(
            tr_n(
                "waited {time} in {count:,} wait, mostly {reason}",
                "waited {time} in {count:,} waits, mostly {reason}",
                time.waits,
                time=format_duration(time.waiting_ns),
                reason=translated(WAIT_KINDS.get(time.wait, str(time.wait))),
            )
        )
    if time.running:
        parts.append(tr_n("{count:,} sample on a core", "{count:,} samples on a core", time.running))
    return " · ".join(parts)
