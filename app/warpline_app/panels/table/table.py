"""Tables over numpy columns: sort and filter millions of rows by permutation, one line per cell."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from warpline.i18n import tr
from warpline.model.frames import StackFrame
from warpline_app.look.appearance import appearance
from warpline_app.look.native_keys import native_keys
from warpline_app.look.painting import contained
from warpline_app.look.widgets import ask_for_file
from warpline_app.open.background import Job
from warpline_app.open.messages import MessageTarget
from warpline_app.open.written_files import show_written
from warpline_app.panels.table.content import Items, TableContent, sorted_order, tsv, write_table
from warpline_app.panels.table.item_model import Index, TableModel
from warpline_app.panels.table.painter import CellPainter

ROW_HEIGHT_PX = 23
MIN_STRETCHED_PX = 220
COPY_LIMIT = 200_000
SORT_IN_THREAD_ABOVE = 100_000


class PanelTable(QTableView):
    """The view: a click on a header sorts, Ctrl+C copies rows as TSV, the menu exports.

    Errors go to ``messages``.
    """

    item_selected = Signal(int)
    """The user selected an item."""
    item_activated = Signal(int)
    """Return or a double click on an item."""
    frame_wanted = Signal(object)
    """A `StackFrame` that was clicked."""
    sorted_changed = Signal()
    """The table is sorted as the header shows."""

    def __init__(self, messages: MessageTarget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self._silent = False
        self._job: Job | None = None
        self._identities: tuple[str, ...] = ()
        self.export_name = "table"
        self.model_ = TableModel(self)
        self.setModel(self.model_)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        font = QFont(self.font())
        font.setPixelSize(12)
        self.setFont(font)
        self._cells = CellPainter(font, ROW_HEIGHT_PX)
        vertical = self.verticalHeader()
        vertical.hide()
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        vertical.setMinimumSectionSize(1)
        vertical.setDefaultSectionSize(ROW_HEIGHT_PX)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(True)
        header.setSectionsMovable(True)
        header.setMinimumSectionSize(36)
        header.setFont(font)
        header.sectionClicked.connect(self.sort_by)
        self.clicked.connect(self._open_frame)
        self.doubleClicked.connect(lambda index: self.item_activated.emit(self.model_.item(index.row())))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)

    def set_content(self, content: TableContent, order: Items | None = None) -> None:
        """Show other content and clear the selection. Sorting and widths are kept if the columns are the same."""
        identities = tuple(column.identity for column in content.columns)
        same = identities == self._identities
        if not same:
            self.model_.sort_column = -1
            self.model_.sort_descending = False
        self._identities = identities
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self._silent = True
        if self.selectionModel().hasSelection():
            self.clearSelection()
        self.setCurrentIndex(QModelIndex())
        self.model_.set_content(content, order)
        self._silent = False
        if not same:
            for index, column in enumerate(content.columns):
                self.setColumnWidth(index, column.width)
            self._stretch()
        if order is None and self.model_.sort_column >= 0:
            self._sort()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stretch()

    def _stretch(self) -> None:
        """Divide the remaining width among stretching columns, keeping them readable."""
        columns = self.model_.columns
        stretching = [index for index, column in enumerate(columns) if column.stretches]
        if stretching:
            fixed_px = sum(
                self.columnWidth(index) for index in range(len(columns)) if index not in stretching
            )
            share = (self.viewport().width() - fixed_px) // len(stretching)
            for index in stretching:
                least = max(columns[index].width, MIN_STRETCHED_PX)
                if index == 0 and len(columns) > 1:
                    # If space is short, keep the column next to the name visible.
                    beside = self.viewport().width() - self.columnWidth(1)
                    least = max(min(least, beside), MIN_STRETCHED_PX)
                self.setColumnWidth(index, max(share, least))

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        theme = appearance().theme
        area = event.rect()
        painter.setFont(self._cells.font)
        first, last = self.rowAt(area.top()), self.rowAt(area.bottom())
        count = self.model_.rowCount()
        rows = range(first, (last if last >= 0 else count - 1) + 1) if first >= 0 else range(0)
        begin = self.rowViewportPosition(first) if first >= 0 else 0
        tops = [begin + ROW_HEIGHT_PX * place for place in range(len(rows))]
        selection, root = self.selectionModel(), QModelIndex()
        has_selection = selection.hasSelection()
        selected = [has_selection and selection.isRowSelected(row, root) for row in rows]
        self._cells.draw_backgrounds(painter, area, tops, selected, theme)
        cells = [(self.model_.item(row), top) for row, top in zip(rows, tops, strict=True)]
        header = self.horizontalHeader()
        for section, column in enumerate(self.model_.columns):
            left, width = self.columnViewportPosition(section), self.columnWidth(section)
            if left <= area.right() and left + width > area.left() and not header.isSectionHidden(section):
                self._cells.draw_column(painter, column, left, width, cells, theme)

    def show_sorted(self, section: int, descending: bool) -> None:
        """Show in the header how the content is already sorted."""
        if (section, descending) != (self.model_.sort_column, self.model_.sort_descending):
            self.model_.sort_column, self.model_.sort_descending = section, descending
            self.model_.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.model_.columnCount() - 1)

    def sort_by(self, section: int, descending: bool | None = None) -> None:
        """Sort by a column; again reverses. Numbers start with the largest."""
        column = self.model_.columns[section]
        if column.sort_values is None:
            return
        if descending is None:
            same = section == self.model_.sort_column
            descending = not self.model_.sort_descending if same else column.is_number
        self.show_sorted(section, descending)
        self._sort()

    def _sort(self) -> None:
        model = self.model_
        make = model.columns[model.sort_column].sort_values
        if make is None:
            return
        content, descending = model.content, model.sort_descending
        if self._job is not None:
            self._job.cancel()
            self._job = None
        if model.rowCount() <= SORT_IN_THREAD_ABOVE:
            self._show_order(sorted_order(make(), content.items, descending))
            return
        job = Job(
            lambda _progress, _cancelled: sorted_order(make(), content.items, descending),
            self,
            again=self._sort,
        )
        self._job = job
        job.succeeded.connect(self._show_order)
        job.launch()

    def _show_order(self, order: Items) -> None:
        self._job = None
        chosen = self.current_item()
        self.model_.set_order(order)
        if chosen is not None:
            self.show_item(chosen, scroll=False)
        # After sorting, show the first rows; selecting a row again would scroll to it.
        self.scrollToTop()
        self.sorted_changed.emit()

    def current_item(self) -> int | None:
        """The item of the current row."""
        index = self.currentIndex()
        return (
            self.model_.item(index.row())
            if index.isValid() and index.row() < self.model_.rowCount()
            else None
        )

    def show_item(self, item: int | None, *, scroll: bool = True) -> None:
        """Select an item without emitting a signal."""
        row = -1 if item is None else self.model_.row_of(item)
        self._silent = True
        if row < 0:
            self.clearSelection()
            if item is None:
                # Without this, clicking the row again would emit nothing.
                self.setCurrentIndex(QModelIndex())
        elif row != self.currentIndex().row() or not self.selectionModel().hasSelection():
            self.selectRow(row)
            if scroll:
                self.scrollTo(self.model_.index(row, 0), QAbstractItemView.ScrollHint.EnsureVisible)
        self._silent = False

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Emit `item_selected` if the user moved to another row."""
        super().currentChanged(current, previous)
        if not self._silent and current.isValid() and current.row() != previous.row():
            self.item_selected.emit(self.model_.item(current.row()))

    def frame_at(self, index: Index) -> StackFrame | None:
        """The source location named by a cell."""
        column = self.model_.columns[index.column()] if index.isValid() else None
        return None if column is None or column.frame is None else column.frame(self.model_.item(index.row()))

    def _open_frame(self, index: Index) -> None:
        frame = self.frame_at(index)
        if frame is not None and not QGuiApplication.keyboardModifiers():
            self.frame_wanted.emit(frame)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand cursor over source locations."""
        super().mouseMoveEvent(event)
        leads = self.frame_at(self.indexAt(event.position().toPoint())) is not None
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+C copies, Return activates; letters are commands, not a search."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            return
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            item = self.current_item()
            if item is not None:
                self.item_activated.emit(item)
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Disabled: it would read every one of a million rows."""

    def selected_items(self) -> list[int]:
        """The items of the selected rows, top to bottom."""
        selection = self.selectionModel().selection()
        ranges = [selection.at(index) for index in range(selection.count())]
        rows = sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})
        return [self.model_.item(row) for row in rows[:COPY_LIMIT]]

    def copy(self) -> None:
        """Copy the selected rows as TSV with a header."""
        self.copy_items(self.selected_items())

    def copy_items(self, items: list[int]) -> None:
        """Copy rows as TSV with a header."""
        QGuiApplication.clipboard().setText(tsv(self.model_.columns, items))

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        index = self.indexAt(position)
        self.fill_menu(menu, self.model_.item(index.row()) if index.isValid() else None)
        menu.popup(self.viewport().mapToGlobal(position))

    def fill_menu(self, menu: QMenu, item: int | None) -> dict[str, QAction]:
        """Add the table's actions; returns them by id. Subclasses add actions of the row."""
        copy = menu.addAction(tr("Copy rows") + native_keys("\tCtrl+C"), self.copy)
        copy.setEnabled(self.selectionModel().hasSelection())
        export = menu.addAction(tr("Export table…"), self.choose_export)
        export.setEnabled(self.model_.rowCount() > 0)
        return {"copy": copy, "export": export}

    def choose_export(self) -> None:
        """Ask for a file and write the table to it."""
        filters = ["CSV (*.csv)", "TSV (*.tsv)"]
        ask_for_file(self, tr("Export table"), filters, f"{self.export_name}.csv", self.export)

    def export(self, path: Path) -> Job:
        """Write all rows as shown, in the background."""
        columns, items = list(self.model_.columns), self.model_.items_shown()
        job = Job(lambda progress, cancelled: write_table(path, columns, items, progress, cancelled), self)
        job.succeeded.connect(lambda _written: show_written(self._messages, path))
        job.failed.connect(self._export_failed)
        return job.launch()

    def _export_failed(self, error: Exception) -> None:
        self._messages.show(tr("The table could not be written: {error}", error=error))
