"""The line above a job's map: what colours it, what sorts it, what the colours mean, and what the job is."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QPushButton, QWidget

from warpline.i18n import english, tr, tr_n, translated
from warpline.library.jobs import RankState
from warpline_app.job.cell_text import absence, chosen_text, column_title
from warpline_app.job.scale_legend import ScaleLegend
from warpline_app.look.elided import ElidedLabel
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.row_order import RowOrder

_ORDERS = {
    RowOrder.RANK: english("by rank"),
    RowOrder.HOST: english("by host"),
    RowOrder.VALUE: english("by value, largest first"),
}


def summary_text(board: JobBoard) -> str:
    """How many ranks and steps there are, and how many ranks have nothing to show."""
    ranks, steps = board.map.shape
    parts = [
        tr_n("{count:,} rank", "{count:,} ranks", ranks),
        tr_n("{count:,} step", "{count:,} steps", steps),
    ]
    hosts = len({one.host for one in board.map.ranks if one.host})
    if hosts > 1:
        parts.insert(1, tr_n("{count:,} host", "{count:,} hosts", hosts))
    states = [one.state for one in board.map.ranks]
    if failed := states.count(RankState.FAILED):
        parts.append(tr_n("{count:,} failed", "{count:,} failed", failed))
    if missing := states.count(RankState.MISSING) + board.map.without_rows:
        parts.append(tr_n("{count:,} without a file", "{count:,} without a file", missing))
    empty = sum(
        one.state is RankState.COMPUTED and not board.map.has_steps(row)
        for row, one in enumerate(board.map.ranks)
    )
    if empty:
        parts.append(tr_n("{count:,} without steps", "{count:,} without steps", empty))
    if left_out := len(board.job.left_out):
        parts.append(tr_n("{count:,} file left out", "{count:,} files left out", left_out))
    if len(formats := _formats(board)) > 1:
        parts.append(tr_n("{count} format", "{count} formats", len(formats)))
    return " · ".join(parts)


def _formats(board: JobBoard) -> Counter[str]:
    """How many ranks are of which format, by what that is called (English; empty: captures)."""
    return Counter(one.format for one in board.job.ranks if one.state is RankState.COMPUTED)


def reasons_text(board: JobBoard, most: int = 12) -> str:
    """The ranks that have nothing to show, the files left out, and why, line by line; and several formats."""
    lines = [
        tr("rank {number}: {reason}", number=one.rank, reason=absence(board.map, row))
        for row, one in enumerate(board.map.ranks)
        if absence(board.map, row)
    ]
    lines += [
        tr("left out: {path}: {reason}", path=one.where, reason=one.reason)
        if one.rank is None
        else tr("left out, rank {rank}: {path}: {reason}", rank=one.rank, path=one.where, reason=one.reason)
        for one in board.job.left_out
    ]
    lines = [*lines[:most], "…"] if len(lines) > most else lines
    if len(formats := _formats(board)) > 1:
        each = [
            f"{translated(name) or tr('captures of Warpline')} ({number})" for name, number in formats.items()
        ]
        lines.append(tr("of several formats: {formats}", formats=", ".join(each)))
    return "\n".join(lines)


class JobControls(QWidget):
    """Follows a board, and changes it as a person wants."""

    open_wanted = Signal()
    """Open what is chosen."""

    def __init__(self, board: JobBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolRow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._board = board
        self.column = QComboBox()
        self.column.setAccessibleName(tr("What colours the map"))
        self.column.setToolTip(tr("What colours the map"))
        for column in board.map.columns:
            title = column_title(column)
            self.column.addItem(title[:1].upper() + title[1:], column.name)
        self.column.setCurrentIndex(self.column.findData(board.column))
        self.column.activated.connect(lambda index: board.set_column(self.column.itemData(index)))
        self.column.setEnabled(self.column.count() > 0)
        self.order = QComboBox()
        self.order.setAccessibleName(tr("How ranks are sorted"))
        self.order.setToolTip(tr("How ranks are sorted"))
        for order, title in _ORDERS.items():
            if order is not RowOrder.HOST or board.map.has_hosts:
                self.order.addItem(translated(title), order.value)
        self.order.setCurrentIndex(max(self.order.findData(board.order_by.value), 0))
        self.order.activated.connect(lambda index: board.set_order(RowOrder(self.order.itemData(index))))
        self.legend = ScaleLegend()
        self.full = QCheckBox(tr("All values"))
        self.full.setToolTip(
            tr(
                "Let the colours go from the least to the largest value; otherwise outliers do not stretch them"
            )
        )
        self.full.setChecked(board.is_full_range)
        for box in (self.column, self.order):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.full.toggled.connect(board.set_full_range)
        self.strip = self._strip()
        self.open = QPushButton()
        self.open.clicked.connect(lambda _checked: self.open_wanted.emit())
        self.said = ElidedLabel()
        self.said.setObjectName("muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(8)
        for widget in (QLabel(tr("Color", "job")), self.column, QLabel(tr("Ranks", "job")), self.order):
            row.addWidget(widget)
        row.addSpacing(8)
        row.addWidget(self.said, 1)
        row.addWidget(self.open)
        for signal in (board.chosen_changed, board.current_changed):
            signal.connect(self._say_again)
        for signal in (board.column_changed, board.order_changed, board.range_changed):
            signal.connect(self._follow)
        self.say()

    def _strip(self) -> QWidget:
        """What stands below the map: what its colours mean."""
        strip = QWidget()
        strip.setObjectName("panel")
        strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(strip)
        row.setContentsMargins(10, 1, 10, 1)
        row.setSpacing(16)
        row.addWidget(self.legend)
        row.addWidget(self.full)
        row.addStretch(1)
        return strip

    def _follow(self, _value: object) -> None:
        """Somebody else changed what is shown."""
        board = self._board
        self.column.setCurrentIndex(self.column.findData(board.column))
        self.order.setCurrentIndex(max(self.order.findData(board.order_by.value), 0))
        self.full.setChecked(board.is_full_range)

    def _say_again(self, _value: object) -> None:
        self.say()

    def say(self) -> None:
        """What the job is, or how much of it is selected."""
        board = self._board
        self.said.setText(chosen_text(board) or summary_text(board))
        self.said.setToolTip("" if board.chosen.rows else reasons_text(board))
        count = len(board.ranks_chosen())
        self.open.setText(
            tr_n("Open {count} rank", "Open {count} ranks on one timeline", count)
            if count > 1
            else tr("Open rank")
        )
        self.open.setEnabled(count > 0)
        self.open.setToolTip(
            tr(
                "Click a cell to open its rank at that step; Ctrl+click, Shift+click or drag to open several aligned"
            )
        )
