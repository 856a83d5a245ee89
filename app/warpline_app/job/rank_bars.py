"""A bar per rank: where an average step of it goes; the longest rank is explained in a sentence above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.analysis.framework.column import Column
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.job.cell_text import rank_title
from warpline_app.look.appearance import appearance
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.painting import contained
from warpline_app.look.theme import ui_font
from warpline_app.look.widgets import flat_column, shows_tooltip
from warpline_app.look.wrapped import WrappedLabel
from warpline_app.open.job.board import Chosen, JobBoard
from warpline_app.timeline.draw.cause_look import cause_looks, fill_stacked

_ROW_PX, _BAR_PX, _FIGURE_PX, _LEGEND_PX, _EDGE_PX = 22, 14, 72, 22, 12
_SHARED = "communication_ns"
"""Ranks that are early wait in communication, so it hides which one is slow."""
_NOTABLE = 0.02


@dataclass(frozen=True, eq=False)
class RankTimes:
    """The mean step of each row of a job's map: ``parts`` are float64 (rows), ns, not recorded counts as 0."""

    columns: tuple[Column, ...]
    parts: tuple[np.ndarray, ...]
    rows: tuple[int, ...]
    """the rows with steps"""

    @property
    def own_ns(self) -> np.ndarray:
        """The time before and after communication, float64 (rows)."""
        pairs = zip(self.columns, self.parts, strict=True)
        own: np.ndarray = np.sum([part for column, part in pairs if column.name != _SHARED], axis=0)
        return own


def rank_times(board: JobBoard) -> RankTimes | None:
    """The mean steps of a job's ranks; None without parts of steps."""
    columns = tuple(column for column in board.job.steps.parts if board.map.column(column.name) is not None)
    rows = tuple(row for row in range(len(board.map.ranks)) if board.map.has_steps(row))
    if not columns or not rows:
        return None
    parts = tuple(np.nan_to_num(board.map.row_means(column.name)) for column in columns)
    shown = [place for place, part in enumerate(parts) if part.any()]
    return RankTimes(tuple(columns[place] for place in shown), tuple(parts[place] for place in shown), rows)


def longest_text(board: JobBoard, times: RankTimes) -> str:
    """Which rank takes longest, and in which part of its steps."""
    rows = np.array(times.rows)
    own = times.own_ns[rows]
    usual = float(np.median(own))
    longest = int(rows[own.argmax()])
    more = float(own.max()) - usual
    if len(rows) < 2 or more <= _NOTABLE * max(usual, 1.0):
        return tr(
            "Mean step of each rank. Apart from communication, all ranks take about {time}.",
            time=format_duration(round(usual)),
        )
    pairs = [pair for pair in zip(times.columns, times.parts, strict=True) if pair[0].name != _SHARED]
    excess = [float(part[longest] - np.median(part[rows])) for _, part in pairs]
    place = int(np.argmax(excess))
    return tr(
        "Mean step of each rank. Rank {rank} takes longest: {time} apart from communication, {more} more than the "
        "median rank; {part} takes {part_more} more.",
        rank=board.map.ranks[longest].rank,
        time=format_duration(round(float(own.max()))),
        more=format_duration(round(more)),
        part=translated(pairs[place][0].title),
        part_more=format_duration(round(excess[place])),
    )


class RankBars(QWidget):
    """The bars below their explanation; a click selects a rank on the map."""

    def __init__(self, board: JobBoard, times: RankTimes, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.explanation = WrappedLabel(longest_text(board, times))
        self.explanation.setContentsMargins(_EDGE_PX, 10, _EDGE_PX, 6)
        self.bars = _Bars(board, times)
        self.rest = ElidedLabel()
        self.rest.setObjectName("muted")
        self.rest.setContentsMargins(_EDGE_PX, 0, _EDGE_PX, 6)
        self.bars.left_out.connect(self._tell_rest)
        column = flat_column(self)
        column.addWidget(self.explanation)
        column.addWidget(self.bars, 1)
        column.addWidget(self.rest)
        self.rest.hide()

    def _tell_rest(self, shown: int, count: int) -> None:
        self.rest.setText(tr("The {shown} longest of {count:,} ranks", shown=shown, count=count))
        self.rest.setVisible(shown < count)


class _Bars(QWidget):
    left_out = Signal(int, int)
    """number of ranks shown, and of all"""

    def __init__(self, board: JobBoard, times: RankTimes) -> None:
        super().__init__()
        self._board, self._times = board, times
        self._shown = 0
        self.setMinimumHeight(_LEGEND_PX + 2 * _ROW_PX)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Mean step of each rank"))
        for signal in (board.order_changed, board.current_changed, board.chosen_changed):
            signal.connect(self._repaint)
        appearance().theme_changed.connect(self._repaint)

    def _repaint(self, _value: object) -> None:
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, _LEGEND_PX + _ROW_PX * len(self._times.rows))

    def rows(self) -> list[int]:
        """The rows of the map that are shown: in its order, or the longest ones where not all fit."""
        room = max((self.height() - _LEGEND_PX) // _ROW_PX, 1)
        known = set(self._times.rows)
        ordered = [row for row in self._board.order.tolist() if row in known]
        if len(ordered) <= room:
            return ordered
        own = self._times.own_ns
        return sorted(ordered, key=lambda row: -own[row])[:room]

    def row_at(self, y: float) -> int | None:
        """The row of the map whose bar is at a height."""
        rows, place = self.rows(), int((y - _LEGEND_PX) // _ROW_PX)
        return rows[place] if y >= _LEGEND_PX and place < len(rows) else None

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        theme, times, rows = appearance().theme, self._times, self.rows()
        if len(rows) != self._shown:
            self._shown = len(rows)
            self.left_out.emit(len(rows), len(times.rows))
        looks = cause_looks(tuple(column.name.removesuffix("_ns") for column in times.columns), theme)
        painter.setFont(ui_font(11))
        metrics = painter.fontMetrics()
        left = float(_EDGE_PX)
        for column, look in zip(times.columns, looks, strict=True):
            title = translated(column.title)
            fill_stacked(painter, QRectF(left, 5, 12, 10), look, theme)
            painter.setPen(theme.color("muted"))
            painter.drawText(QRectF(left + 18, 0, 400, 20), int(Qt.AlignmentFlag.AlignVCenter), title)
            left += 18 + metrics.horizontalAdvance(title) + 16
        titles = {row: rank_title(self._board.map.ranks[row]) for row in rows}
        title_px = max((metrics.horizontalAdvance(title) for title in titles.values()), default=0)
        start = _EDGE_PX + min(title_px + 2, self.width() // 4) + 10
        room = max(self.width() - start - _FIGURE_PX - _EDGE_PX, 20)
        whole = np.sum(times.parts, axis=0)
        scale = room / max(float(whole[list(times.rows)].max()), 1.0)
        current = self._board.current
        for index, row in enumerate(rows):
            top = _LEGEND_PX + index * _ROW_PX
            is_current = current is not None and current[0] == row
            painter.setPen(theme.color("text" if is_current else "muted"))
            label = QRectF(_EDGE_PX, top, start - _EDGE_PX - 10, _ROW_PX)
            shown = metrics.elidedText(titles[row], Qt.TextElideMode.ElideMiddle, int(label.width()))
            painter.drawText(label, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), shown)
            x = float(start)
            for part, look in zip(times.parts, looks, strict=True):
                width = float(part[row]) * scale
                fill_stacked(painter, QRectF(x, top + (_ROW_PX - _BAR_PX) / 2, width, _BAR_PX), look, theme)
                x += width
            painter.setPen(theme.color("text"))
            figure = QRectF(x + 8, top, _FIGURE_PX, _ROW_PX)
            text = format_duration(round(float(whole[row])))
            painter.drawText(figure, int(Qt.AlignmentFlag.AlignVCenter), text)

    def bar_text(self, row: int) -> str:
        """Rank, and the time of each part."""
        lines = [rank_title(self._board.map.ranks[row])]
        lines += [
            f"{translated(column.title)}: {format_duration(round(float(part[row])))}"
            for column, part in zip(self._times.columns, self._times.parts, strict=True)
            if part[row] > 0
        ]
        return "\n".join(lines)

    def event(self, event: QEvent) -> bool:
        def text_at(point: QPoint) -> str:
            row = self.row_at(point.y())
            return "" if row is None else self.bar_text(row)

        return shows_tooltip(self, event, text_at) or super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the rank on the map, with all its steps."""
        row = self.row_at(event.position().y())
        board = self._board
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            step = board.current[1] if board.current is not None else 0
            board.choose(Chosen(frozenset({row}), 0, len(board.map.steps) - 1))
            board.set_current((row, step))
