"""The reports of a job as tables that follow its map, and vice versa."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QTabBar, QWidget

from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.i18n import sentences, tr, translated
from warpline_app.job.cards import JobFindingCards
from warpline_app.job.rank_bars import RankBars, rank_times
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.widgets import flat_column, muted_label
from warpline_app.open.job.board import Cell, JobBoard
from warpline_app.open.messages import MessageTarget
from warpline_app.panels.table.content import TableContent
from warpline_app.panels.table.report_columns import (
    display_columns,
    make_column,
    name_column,
    text_of,
    units_of,
    value_reader,
)
from warpline_app.panels.table.table import PanelTable

_RANKS = ("rank", "last_rank", "duration_ns_worst_rank")
"""Columns that name a rank, preferred first."""
FINDINGS = "job_findings"
_MEASURED = 40
_MOST_WIDTH = 230


class JobTable(PanelTable):
    """One report. Selecting a row with a rank or a step selects that row or column of the map."""

    open_wanted = Signal()
    """Open the capture of the row."""

    def __init__(self, report: Report, table: Table, board: JobBoard, messages: MessageTarget) -> None:
        super().__init__(messages)
        self._board = board
        self.export_name = report.name
        self._rank = _reader(table, *_RANKS)
        self._own_rank = _reader(table, "rank")
        self._step = _reader(table, "step")
        self._steps = _places(table, "step")
        self._ranks = _places(table, "rank")
        self._count = len(table)
        first, *others = display_columns(table)
        text, _ = text_of(first, table.data[first.name])
        columns = [name_column(table, first, text, None)]
        units = units_of(table)
        columns += [
            make_column(table, column, lambda _item: None, self._width, units.get(column.name))
            for column in others
        ]
        self.set_content(TableContent(columns, len(table)))
        self.item_selected.connect(self._lead)
        self.item_activated.connect(self._activate)
        board.current_changed.connect(self.follow)

    def _width(self, title: str, text: Callable[[int], str], is_number: bool) -> int:
        metrics = self.fontMetrics()
        items = range(min(self._count, _MEASURED))
        longest = max((metrics.horizontalAdvance(text(item)) for item in items), default=0)
        return min(max(longest, metrics.horizontalAdvance(title + " ▾")) + 24, _MOST_WIDTH)

    def cell_of(self, item: int) -> Cell | None:
        """The map cell of a row; a missing rank or step is taken from the current cell, else the first."""
        job_map, current = self._board.map, self._board.current
        rank, step = self._rank(item), self._step(item)
        row = None if rank is None else job_map.row_of(rank)
        place = None if step is None else job_map.place_of(step)
        if row is None and place is None:
            return None
        if row is None:
            row = current[0] if current is not None else int(self._board.order[0])
        if place is None:
            place = current[1] if current is not None else 0
        return row, place

    def _lead(self, item: int) -> None:
        cell = self.cell_of(item)
        if cell is not None:
            self._board.set_current(cell)

    def _activate(self, item: int) -> None:
        self._lead(item)
        if self.cell_of(item) is not None:
            self.open_wanted.emit()

    def follow(self, cell: Cell | None) -> None:
        """Select the table row of the map's current cell."""
        if cell is None:
            return
        chosen = self.current_item()
        if chosen is not None and self.cell_of(chosen) == cell:
            return
        job_map = self._board.map
        rank = job_map.ranks[cell[0]].rank
        step = int(job_map.steps[cell[1]]) if len(job_map.steps) else None
        item = self._ranks.get(rank) if self._ranks else None if step is None else self._steps.get(step)
        if item is not None:
            self.show_item(item)
        else:
            self.clearSelection()


def _reader(table: Table, *names: str) -> Callable[[int], int | None]:
    """Reads the first of these columns that has a value in the row."""
    readers = [value_reader(table.data[name]) for name in names if name in table.data]

    def read(item: int) -> int | None:
        return next((int(value) for reader in readers if (value := reader(item)) is not None), None)

    return read


def _places(table: Table, name: str) -> dict[int, int]:
    """The first row of each number in a column."""
    values = table.data.get(name)
    if not isinstance(values, np.ndarray):
        return {}
    numbers, first = np.unique(np.ma.getdata(values), return_index=True)
    return dict(zip(numbers.tolist(), first.tolist(), strict=True))


class LinkedTables(QWidget):
    """The tables of a job, one at a time; a report that could not be made says why."""

    open_wanted = Signal()
    chosen = Signal(str)
    """name of the report the user selected"""

    def __init__(self, board: JobBoard, messages: MessageTarget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.pages = QStackedWidget()
        self.names: list[str] = []
        self.cards: JobFindingCards | None = None
        self.bars: RankBars | None = None
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        self.note.setContentsMargins(12, 2, 12, 4)
        self._notes: list[str] = []
        column = flat_column(self)
        column.addWidget(self.tabs)
        column.addWidget(self.pages, 1)
        column.addWidget(self.note)
        self.tabs.currentChanged.connect(self._show)
        for report in board.job.reports.values():
            if report.name not in _NOT_HERE:
                self._add(report, board, messages)

    def _add(self, report: Report, board: JobBoard, messages: MessageTarget) -> None:
        self.names.append(report.name)
        if report.name == FINDINGS and board.job.findings:
            self.cards = JobFindingCards(board)
            self.pages.addWidget(self._with_bars(self.cards, board))
            self._notes.append("")
        elif report.name == FINDINGS and not isinstance(report.result, NotRecorded):
            label = muted_label(tr("No findings: no rank delays the others noticeably."))
            label.setContentsMargins(12, 10, 12, 0)
            self.pages.addWidget(self._with_bars(label, board))
            self._notes.append("")
        elif isinstance(report.result, NotRecorded):
            text = " — ".join(filter(None, map(translated, (report.result.reason, report.result.remedy))))
            self._add_text(text)
        else:
            table = JobTable(report, report.result, board, messages)
            table.open_wanted.connect(self.open_wanted)
            self.pages.addWidget(table)
            self._notes.append(sentences(map(translated, report.result.notes)))
        self.tabs.addTab(translated(report.title))

    def _with_bars(self, top: QWidget, board: JobBoard) -> QWidget:
        """Findings, and below them a bar for each rank, if steps have parts."""
        times = rank_times(board)
        if times is None:
            return top
        self.bars = RankBars(board, times)
        page = QWidget()
        page.setObjectName("panel")
        column = flat_column(page)
        top.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        column.addWidget(top)
        column.addWidget(self.bars, 1)
        return page

    def _add_text(self, text: str) -> None:
        label = muted_label(text)
        label.setWordWrap(True)
        label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        label.setContentsMargins(40, 8, 40, 8)
        self.pages.addWidget(label)
        self._notes.append("")

    def table(self, name: str) -> JobTable | None:
        """The table of a report, None where it could not be made. Raises ValueError for an unknown name."""
        page = self.pages.widget(self.names.index(name))
        return page if isinstance(page, JobTable) else None

    def show_report(self, name: str) -> None:
        """Bring a report to the front; ignored if the job has no such report."""
        if name in self.names:
            self.tabs.setCurrentIndex(self.names.index(name))

    def _show(self, index: int) -> None:
        if 0 <= index < len(self._notes):
            self.pages.setCurrentIndex(index)
            self.note.setText(self._notes[index])
            self.note.setVisible(bool(self._notes[index]))
            self.chosen.emit(self.names[index])


_NOT_HERE = ("job_step_ranks",)
"""The map itself shows this."""
