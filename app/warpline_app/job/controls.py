"""The controls above a job's map: colour, order, legend and a summary."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QPushButton, QWidget

from warpline.i18n import english, tr, tr_n, translated
from warpline.library.jobs import RankState
from warpline_app.job.cell_text import absence, chosen_text, column_title
from warpline_app.job.scale_legend import ScaleLegend
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.native_keys import native_keys
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.row_order import RowOrder

_ORDERS = {
    RowOrder.RANK: english("by rank"),
    RowOrder.HOST: english("by host"),
    RowOrder.VALUE: english("by value, largest first"),
}


def summary_text(board: JobBoard) -> str:
    """Counts of ranks, hosts and steps, and of ranks with nothing to show."""
    ranks, steps = board.map.shape
    parts = [
        tr_n("{count:,} rank", "{count:,} ranks", ranks),
        tr_n("{count:,} step", "{count:,} steps", steps),
    ]
    hosts = len({rank.host for rank in board.map.ranks if rank.host})
    if hosts > 1:
        parts.insert(1, tr_n("{count:,} host", "{count:,} hosts", hosts))
    states = [rank.state for rank in board.map.ranks]
    if failed := states.count(RankState.FAILED):
        parts.append(tr_n("{count:,} failed", "{count:,} failed", failed))
    if missing := states.count(RankState.MISSING) + board.map.without_rows:
        parts.append(tr_n("{count:,} without a file", "{count:,} without a file", missing))
    empty = sum(
        rank.state is RankState.COMPUTED and not board.map.has_steps(row)
        for row, rank in enumerate(board.map.ranks)
    )
    if empty:
        parts.append(tr_n("{count:,} without steps", "{count:,} without steps", empty))
    if left_out := len(board.job.left_out):
        parts.append(tr_n("{count:,} file left out", "{count:,} files left out", left_out))
    if len(formats := _formats(board)) > 1:
        parts.append(tr_n("{count} format", "{count} formats", len(formats)))
    return " · ".join(parts)


def _formats(board: JobBoard) -> Counter[str]:
    """Number of ranks per format title (English; empty for captures)."""
    return Counter(rank.format for rank in board.job.ranks if rank.state is RankState.COMPUTED)


def reasons_text(board: JobBoard, most: int = 12) -> str:
    """Why ranks are empty or files were left out, line by line, and the formats if there are several."""
    lines = [
        tr("rank {number}: {reason}", number=rank.rank, reason=absence(board.map, row))
        for row, rank in enumerate(board.map.ranks)
        if absence(board.map, row)
    ]
    lines += [
        tr("left out: {path}: {reason}", path=rank.where, reason=rank.reason)
        if rank.rank is None
        else tr(
            "left out, rank {rank}: {path}: {reason}", rank=rank.rank, path=rank.where, reason=rank.reason
        )
        for rank in board.job.left_out
    ]
    lines = [*lines[:most], "…"] if len(lines) > most else lines
    if len(formats := _formats(board)) > 1:
        each = [
            f"{translated(name) or tr('Warpline captures')} ({number})" for name, number in formats.items()
        ]
        lines.append(tr("mixed formats: {formats}", formats=", ".join(each)))
    return "\n".join(lines)


class JobControls(QWidget):
    """Follows a board and changes it."""

    open_wanted = Signal()
    """Open the selection."""

    def __init__(self, board: JobBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolRow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._board = board
        self.column = QComboBox()
        self.column.setAccessibleName(tr("Quantity that colours the map"))
        self.column.setToolTip(tr("Quantity that colours the map"))
        for column in board.map.columns:
            title = column_title(column)
            self.column.addItem(title[:1].upper() + title[1:], column.name)
        self.column.setCurrentIndex(self.column.findData(board.column))
        self.column.activated.connect(lambda index: board.set_column(self.column.itemData(index)))
        self.column.setEnabled(self.column.count() > 0)
        self.order = QComboBox()
        self.order.setAccessibleName(tr("Order of ranks"))
        self.order.setToolTip(tr("Order of ranks"))
        for order, title in _ORDERS.items():
            if order is not RowOrder.HOST or board.map.has_hosts:
                self.order.addItem(translated(title), order.value)
        self.order.setCurrentIndex(max(self.order.findData(board.order_by.value), 0))
        self.order.activated.connect(lambda index: board.set_order(RowOrder(self.order.itemData(index))))
        self.legend = ScaleLegend()
        self.full = QCheckBox(tr("All values"))
        self.full.setToolTip(
            tr("Spread the colours from the smallest to the largest value, including outliers")
        )
        self.full.setChecked(board.is_full_range)
        for box in (self.column, self.order):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.full.toggled.connect(board.set_full_range)
        self.strip = self._strip()
        self.open = QPushButton()
        self.open.clicked.connect(lambda _checked: self.open_wanted.emit())
        self.summary = ElidedLabel()
        self.summary.setObjectName("muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(8)
        for widget in (
            PlainLabel(tr("Color", "job")),
            self.column,
            PlainLabel(tr("Ranks", "job")),
            self.order,
        ):
            row.addWidget(widget)
        row.addSpacing(8)
        row.addWidget(self.summary, 1)
        row.addWidget(self.open)
        for signal in (board.chosen_changed, board.current_changed):
            signal.connect(self._update_summary)
        for signal in (board.column_changed, board.order_changed, board.range_changed):
            signal.connect(self._follow)
        self.update_summary()

    def _strip(self) -> QWidget:
        """The strip below the map with the legend."""
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
        """Show the board's settings."""
        board = self._board
        self.column.setCurrentIndex(self.column.findData(board.column))
        self.order.setCurrentIndex(max(self.order.findData(board.order_by.value), 0))
        self.full.setChecked(board.is_full_range)

    def _update_summary(self, _value: object) -> None:
        self.update_summary()

    def update_summary(self) -> None:
        """Show the selection's size, else the job's summary."""
        board = self._board
        self.summary.setText(chosen_text(board) or summary_text(board))
        self.summary.setToolTip(plain("" if board.chosen.rows else reasons_text(board)))
        count = len(board.ranks_chosen())
        self.open.setText(
            tr_n("Open {count} rank", "Open {count} ranks on one timeline", count)
            if count > 1
            else tr("Open rank")
        )
        self.open.setEnabled(count > 0)
        self.open.setToolTip(
            plain(
                native_keys(
                    tr(
                        "Click a cell to open its rank at that step; "
                        "Ctrl+click, Shift+click or drag to open several aligned"
                    )
                )
            )
        )
