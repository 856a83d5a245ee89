"""The table of running processes in *Attach*: sorted, filtered by words, refreshed in place."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QStackedLayout, QTableView, QWidget

from warpline.i18n import tr
from warpline.recording.process_list import RunningProcess
from warpline_app.look.plain import PlainLabel, plain

_Index = QModelIndex | QPersistentModelIndex
_SORT = Qt.ItemDataRole.UserRole
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
PID, USER, COMMAND, THREADS, CPU = range(5)
_NO_PARENT = QModelIndex()


class ProcessModel(QAbstractTableModel):
    """A row for each process. `show` updates rows in place, so that nothing moves under the pointer."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[RunningProcess] = []
        self._titles = (tr("PID"), tr("User"), tr("Command"), tr("Threads"), tr("CPU"))

    def show(self, processes: list[RunningProcess]) -> None:
        """Show these processes."""
        now = {process.pid: process for process in processes}
        for row in range(len(self.rows) - 1, -1, -1):
            if self.rows[row].pid not in now:
                self.beginRemoveRows(_NO_PARENT, row, row)
                del self.rows[row]
                self.endRemoveRows()
        self.rows = [now.pop(process.pid) for process in self.rows]
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, CPU))
        if now:
            first = len(self.rows)
            self.beginInsertRows(_NO_PARENT, first, first + len(now) - 1)
            self.rows += now.values()
            self.endInsertRows()

    def rowCount(self, parent: _Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_LEFT if section in {USER, COMMAND} else _RIGHT)
        if role == Qt.ItemDataRole.ToolTipRole and section == CPU:
            return tr("CPU time since the last reading; 100 % is one core")
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        process = self.rows[index.row()]
        if role in {Qt.ItemDataRole.DisplayRole, _SORT}:
            return self._value(process, index.column(), is_key=role == _SORT)
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in {PID, THREADS, CPU}:
            return int(_RIGHT)
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == COMMAND:
            return plain(process.command)
        return None

    @staticmethod
    def _value(process: RunningProcess, column: int, *, is_key: bool) -> Any:
        if column == CPU:
            cores = process.cores
            if is_key:
                return -1.0 if cores is None else cores
            return "–" if cores is None else f"{100 * cores:.0f} %"
        return (process.pid, process.user, process.command, process.threads)[column]


class _Filter(QSortFilterProxyModel):
    """Keeps processes in which each word occurs. Sorts only when asked to, not whenever a number changes."""

    def __init__(self, source: ProcessModel) -> None:
        super().__init__(source)
        self._source, self._words = source, list[str]()
        self.setDynamicSortFilter(False)
        self.setSortRole(_SORT)
        self.setSourceModel(source)

    def set_text(self, text: str) -> None:
        self._words = text.casefold().split()
        self.invalidate()

    def filterAcceptsRow(self, source_row: int, source_parent: _Index) -> bool:
        del source_parent
        process = self._source.rows[source_row]
        text = f"{process.pid} {process.user} {process.name} {process.command}".casefold()
        return all(word in text for word in self._words)


class ProcessTable(QWidget):
    """The table, or a sentence in its place."""

    chosen = Signal(object)
    """the selected `RunningProcess`, or None; also after every reading"""
    activated = Signal()
    """a double click"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = ProcessModel(self)
        self._filter = _Filter(self.model)
        self._readings = 0
        self._text = ""
        self.view = QTableView()
        self.view.setAccessibleName(tr("Processes"))
        self.view.setModel(self._filter)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setObjectName("processTable")
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.setSortingEnabled(True)
        self.view.sortByColumn(CPU, Qt.SortOrder.DescendingOrder)
        self.view.verticalHeader().hide()
        self.view.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        self.view.setTabKeyNavigation(False)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._set_widths()
        self.view.selectionModel().currentRowChanged.connect(lambda *_: self._tell())
        self.view.doubleClicked.connect(lambda _index: self.activated.emit())
        self.empty: QLabel = PlainLabel(tr("Reading processes…"))
        self.empty.setObjectName("muted")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.view)
        self.setFocusProxy(self.view)

    def _set_widths(self) -> None:
        header = self.view.horizontalHeader()
        letter = self.fontMetrics().averageCharWidth()
        header.setHighlightSections(False)
        for column, letters in ((PID, 10), (USER, 12), (THREADS, 12), (CPU, 10)):
            self.view.setColumnWidth(column, letters * letter)
        header.setSectionResizeMode(COMMAND, QHeaderView.ResizeMode.Stretch)

    @property
    def current(self) -> RunningProcess | None:
        """The selected process."""
        index = self._filter.mapToSource(self.view.currentIndex())
        return self.model.rows[index.row()] if index.isValid() else None

    def show_processes(self, processes: list[RunningProcess]) -> None:
        """Show a reading. The first two sort the table: from the second on, the load is known."""
        before = self.current
        self.model.show(processes)
        self._readings += 1
        if self._readings <= 2:
            self._sort()
            if self._readings == 2 and before is not None:
                self.view.scrollTo(self.view.currentIndex())
        if before is not None and (self.current is None or self.current.pid != before.pid):
            self.view.setCurrentIndex(QModelIndex())
            self.view.clearSelection()
        self._show_state()
        self._tell()

    def show_problem(self, text: str) -> None:
        """Say why there are no processes."""
        self.empty.setText(text)
        self._stack.setCurrentWidget(self.empty)

    def filter(self, text: str) -> None:
        """Keep processes in which each word of a text occurs, and select the first."""
        self._text = text
        self._filter.set_text(text)
        self._sort()
        if self.current is None:
            self.step(0)
        self._show_state()
        self._tell()

    def _sort(self) -> None:
        header = self.view.horizontalHeader()
        self._filter.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())

    def step(self, by: int) -> None:
        """Select the process so many rows below; the first if none is selected."""
        count = self._filter.rowCount()
        if count:
            row = self.view.currentIndex().row()
            self.view.selectRow(max(0, min(row + by, count - 1)))

    def _show_state(self) -> None:
        if self._filter.rowCount():
            self._stack.setCurrentWidget(self.view)
        elif self._readings and self.model.rows:
            self.show_problem(tr("No process matches “{text}”.", text=self._text))
        elif self._readings:
            self.show_problem(tr("No other program is running here."))

    def _tell(self) -> None:
        self.chosen.emit(self.current)
