"""Tables over numpy columns: millions of rows, sorted and filtered by permutation, one line of text a cell."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QGuiApplication, QKeyEvent, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.appearance import appearance
from warpline_app.background import IsCancelled, Job, Progress
from warpline_app.theme import wash

Int64Array = npt.NDArray[np.int64]
_Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT_PX = 23
MIN_STRETCHED_PX = 220
COPY_LIMIT = 200_000
SORT_IN_THREAD_ABOVE = 500_000


@dataclass(frozen=True)
class TableColumn:
    """One column over items 0 … n−1.

    ``text`` gives what a cell shows; ``raw`` what copying and exporting writes (the text by default). ``sort_values``
    makes the array, one entry per item, that sorting compares: numbers, or ranks of texts; without it the column does
    not sort. ``bar`` gives a share 0–1 that is drawn as a bar before the text. Numbers stand at the right.
    """

    title: str
    text: Callable[[int], str]
    sort_values: Callable[[], npt.NDArray[Any]] | None = None
    raw: Callable[[int], str] | None = None
    bar: Callable[[int], float] | None = None
    color: Callable[[int], str | None] | None = None
    is_number: bool = False
    width: int = 110
    stretches: bool = False
    tooltip: Callable[[int], str] | None = None
    description: str = ""

    def raw_text(self, item: int) -> str:
        """The cell as copying and exporting writes it."""
        return (self.raw or self.text)(item)


def text_ranks(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Rank of each text in the order of people (case folded): sort by these instead of by texts."""
    order = sorted(range(len(texts)), key=lambda index: (texts[index].casefold(), texts[index]))
    ranks = np.empty(len(texts), np.int64)
    ranks[order] = np.arange(len(texts))
    return ranks


def sorted_order(values: npt.NDArray[Any], items: Int64Array | None, descending: bool) -> Int64Array:
    """Items by their value, ties in the order they had; ``items`` None for all. Missing values (NaN) come last."""
    chosen = values if items is None else values[items]
    if descending:
        # Reversed twice, ties keep their order.
        order = len(chosen) - 1 - np.argsort(chosen[::-1], kind="stable")[::-1]
        if chosen.dtype.kind == "f":
            missing = np.isnan(chosen[order])
            order = np.concatenate([order[~missing], order[missing]])
    else:
        order = np.argsort(chosen, kind="stable")
    return order.astype(np.int64) if items is None else items[order]


@dataclass
class TableContent:
    """What a table shows: its columns and which items, in which order (None for all, as they come)."""

    columns: Sequence[TableColumn] = ()
    count: int = 0
    items: Int64Array | None = None
    footer: str = field(default="")


class TableModel(QAbstractTableModel):
    """A window on a `TableContent`; a row of the table is an item of the content."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._content = TableContent()
        self._order: Int64Array | None = None
        self.sort_column = -1
        self.sort_descending = False

    @property
    def columns(self) -> Sequence[TableColumn]:
        """The columns."""
        return self._content.columns

    @property
    def content(self) -> TableContent:
        """What is shown, before sorting."""
        return self._content

    def set_content(self, content: TableContent, order: Int64Array | None = None) -> None:
        """Show something else; ``order`` are the items as they shall stand, where that is known already."""
        self.beginResetModel()
        self._content = content
        self._order = content.items if order is None else order
        self.endResetModel()

    def set_order(self, order: Int64Array | None) -> None:
        """Show the same items in another order."""
        self.layoutAboutToBeChanged.emit()
        self._order = order
        self.layoutChanged.emit()

    def item(self, row: int) -> int:
        """The item in a row."""
        return row if self._order is None else int(self._order[row])

    def row_of(self, item: int) -> int:
        """The row that shows an item, −1 when none does."""
        if self._order is None:
            return item if 0 <= item < self._content.count else -1
        found = np.flatnonzero(self._order == item)
        return int(found[0]) if len(found) else -1

    def items_shown(self) -> Int64Array:
        """All items in the order shown."""
        return np.arange(self._content.count) if self._order is None else self._order

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default
        """Number of items shown."""
        if parent.isValid():
            return 0
        return self._content.count if self._order is None else len(self._order)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default
        """Number of columns."""
        return 0 if parent.isValid() else len(self._content.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, alignment and tooltip of a cell."""
        column = self._content.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(self.item(index.row()))
        if role == Qt.ItemDataRole.ToolTipRole:
            item = self.item(index.row())
            return column.tooltip(item) if column.tooltip is not None else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Titles of the columns."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self._content.columns):
            return None
        column = self._content.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            arrow = (" ▾" if self.sort_descending else " ▴") if section == self.sort_column else ""
            return column.title + arrow
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.description or None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


class TableDelegate(QStyledItemDelegate):
    """Draws a cell with one line of text, or a bar and a text; no grid, hairlines between rows."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """The same height for all rows: Qt never asks a million of them."""
        return QSize(60, ROW_HEIGHT_PX)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """One cell."""
        theme = appearance().theme
        model = index.model()
        if not isinstance(model, TableModel):
            return
        item = model.item(index.row())
        column = model.columns[index.column()]
        rect: QRect = option.rect
        state: Any = option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(wash(theme)))
        painter.setPen(theme.color("grid"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        inner = rect.adjusted(10, 0, -10, 0)
        text = column.text(item)
        metrics = painter.fontMetrics()
        if column.bar is not None:
            share = min(max(column.bar(item), 0.0), 1.0)
            room = max(20, inner.width() - 48)
            color = column.color(item) if column.color is not None else None
            bar = QRect(inner.left(), inner.center().y() - 4, max(1, round(room * share)), 8)
            if share > 0:
                painter.fillRect(bar, QColor(color or theme.hex("kernel")))
            inner.setLeft(bar.right() + 6)
        muted = text in {"–", "—", ""}
        painter.setPen(theme.color("muted" if muted else "text"))
        if not column.is_number and column.bar is None and column.color is not None:
            color = column.color(item)
            if color is not None:
                painter.fillRect(QRect(inner.left(), inner.center().y() - 6, 3, 13), QColor(color))
                inner.setLeft(inner.left() + 9)
        if metrics.horizontalAdvance(text) > inner.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, inner.width())
        side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
        painter.drawText(inner, side | Qt.AlignmentFlag.AlignVCenter, text)


class Table(QTableView):
    """The view: a click on a header sorts, Ctrl+C copies rows as TSV, the menu exports."""

    item_selected = Signal(int)
    """A person chose an item."""
    item_activated = Signal(int)
    """Return, or a double click, on an item."""
    sorted_changed = Signal()
    """The order is what the header says."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._silent = False
        self._job: Job | None = None
        self._titles: tuple[str, ...] = ()
        self.export_name = "table"
        self.model_ = TableModel(self)
        self.setModel(self.model_)
        self.setItemDelegate(TableDelegate(self))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        font = QFont(self.font())
        font.setPixelSize(12)
        self.setFont(font)
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
        self.doubleClicked.connect(lambda index: self.item_activated.emit(self.model_.item(index.row())))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)

    # -- content --------------------------------------------------------------------------------------------

    def set_content(self, content: TableContent, order: Int64Array | None = None) -> None:
        """Show something else. Sorting and widths stay when the columns are the same."""
        titles = tuple(column.title for column in content.columns)
        same = titles == self._titles
        if not same:
            self.model_.sort_column = -1
            self.model_.sort_descending = False
        self._titles = titles
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self._silent = True
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
        """Give the columns that stretch what the others leave, and never less than makes them readable."""
        columns = self.model_.columns
        stretching = [index for index, column in enumerate(columns) if column.stretches]
        if stretching:
            taken = sum(self.columnWidth(index) for index in range(len(columns)) if index not in stretching)
            share = (self.viewport().width() - taken) // len(stretching)
            for index in stretching:
                self.setColumnWidth(index, max(share, columns[index].width, MIN_STRETCHED_PX))

    def show_sorted(self, section: int, descending: bool) -> None:
        """Tell the header how the content already is sorted."""
        self.model_.sort_column, self.model_.sort_descending = section, descending
        self.model_.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.model_.columnCount() - 1)

    def sort_by(self, section: int, descending: bool | None = None) -> None:
        """Sort by a column; again turns it round. Numbers begin with the largest."""
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
        job = Job(lambda _progress, _cancelled: sorted_order(make(), content.items, descending), self)
        self._job = job
        job.succeeded.connect(self._show_order)
        job.launch()

    def _show_order(self, order: Int64Array) -> None:
        self._job = None
        chosen = self.current_item()
        self.model_.set_order(order)
        if chosen is not None:
            self.show_item(chosen, scroll=False)
        self.sorted_changed.emit()

    # -- selection ------------------------------------------------------------------------------------------

    def current_item(self) -> int | None:
        """The item of the current row."""
        index = self.currentIndex()
        return (
            self.model_.item(index.row())
            if index.isValid() and index.row() < self.model_.rowCount()
            else None
        )

    def show_item(self, item: int | None, *, scroll: bool = True) -> None:
        """Select an item because somebody else did; emits nothing."""
        row = -1 if item is None else self.model_.row_of(item)
        self._silent = True
        if row < 0:
            self.clearSelection()
            if item is None:
                # A current row without a highlight would not answer the next click on it.
                self.setCurrentIndex(QModelIndex())
        elif row != self.currentIndex().row() or not self.selectionModel().hasSelection():
            self.selectRow(row)
            if scroll:
                self.scrollTo(self.model_.index(row, 0), QAbstractItemView.ScrollHint.EnsureVisible)
        self._silent = False

    def currentChanged(self, current: _Index, previous: _Index) -> None:
        """A person went to another row."""
        super().currentChanged(current, previous)
        if not self._silent and current.isValid() and current.row() != previous.row():
            self.item_selected.emit(self.model_.item(current.row()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy and activate; the rest is Qt's, except letters, which are commands and no search."""
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
        """Off: it asks every one of a million rows."""

    # -- copy and export ------------------------------------------------------------------------------------

    def copy(self) -> None:
        """Put the selected rows on the clipboard as TSV with a line of titles."""
        selection = self.selectionModel().selection()
        ranges = [selection.at(index) for index in range(selection.count())]
        rows = sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})
        lines = ["\t".join(column.title for column in self.model_.columns)]
        for row in rows[:COPY_LIMIT]:
            item = self.model_.item(row)
            lines.append("\t".join(_flat(column.raw_text(item)) for column in self.model_.columns))
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(tr("Copy rows") + "\tCtrl+C", self.copy)
        copy.setEnabled(self.selectionModel().hasSelection())
        export = menu.addAction(tr("Export table…"), self.choose_export)
        export.setEnabled(self.model_.rowCount() > 0)
        menu.popup(self.viewport().mapToGlobal(position))

    def choose_export(self) -> None:
        """Ask for a file and write the table into it."""
        dialog = QFileDialog(self, tr("Export table"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(["CSV (*.csv)", "TSV (*.tsv)"])
        dialog.setDefaultSuffix("csv")
        dialog.selectFile(f"{self.export_name}.csv")
        dialog.fileSelected.connect(lambda name: self.export(Path(name)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def export(self, path: Path) -> Job:
        """Write all rows as they are shown, in the background."""
        columns, items = list(self.model_.columns), self.model_.items_shown()
        job = Job(lambda progress, cancelled: write_table(path, columns, items, progress, cancelled), self)
        job.failed.connect(self._export_failed)
        return job.launch()

    def _export_failed(self, error: Exception) -> None:
        messages = getattr(self.window(), "messages", None)
        if messages is not None:
            messages.show_message(tr("the table could not be written: {error}", error=error))


def write_table(
    path: Path,
    columns: Sequence[TableColumn],
    items: Int64Array,
    progress: Progress,
    is_cancelled: IsCancelled,
) -> Path:
    """Write rows as CSV, or as TSV when the name ends so. Raises OSError when the file cannot be written."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([column.title for column in columns])
        for begin in range(0, len(items), 10_000):
            if is_cancelled():
                break
            progress(begin / len(items), tr("writing {name}", name=path.name))
            for item in items[begin : begin + 10_000].tolist():
                writer.writerow([column.raw_text(item) for column in columns])
    return path


def _flat(text: str) -> str:
    return " ".join(text.split("\t")).replace("\n", " ")
