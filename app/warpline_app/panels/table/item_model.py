"""The Qt model of a table: maps rows to items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from warpline_app.look.plain import plain
from warpline_app.panels.table.content import Items, TableColumn, TableContent

Index = QModelIndex | QPersistentModelIndex
MOST_ROWS = 90_000_000
"""Qt's 32-bit limit on the total height of rows."""


class TableModel(QAbstractTableModel):
    """A model of a `TableContent`; each row shows an item."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._content = TableContent()
        self._order: Items | None = None
        self.sort_column = -1
        self.sort_descending = False

    @property
    def columns(self) -> Sequence[TableColumn]:
        return self._content.columns

    @property
    def content(self) -> TableContent:
        """The content before sorting."""
        return self._content

    def set_content(self, content: TableContent, order: Items | None = None) -> None:
        """Show other content; ``order`` are the items in display order, if known.

        With the same columns, only rows are inserted and removed, which keeps header and geometry.
        """
        order = content.items if order is None else order
        rows = min(content.count if order is None else len(order), MOST_ROWS)
        before = self.rowCount()
        previous = self.columns
        same = [c.identity for c in content.columns] == [c.identity for c in previous]
        if not same:
            self.beginResetModel()
        elif rows > before:
            self.beginInsertRows(QModelIndex(), before, rows - 1)
        elif rows < before:
            self.beginRemoveRows(QModelIndex(), rows, before - 1)
        self._content, self._order = content, order
        if not same:
            self.endResetModel()
            return
        if rows > before:
            self.endInsertRows()
        elif rows < before:
            self.endRemoveRows()
        if [c.title for c in content.columns] != [c.title for c in previous]:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)
        if rows:
            self.dataChanged.emit(self.index(0, 0), self.index(rows - 1, self.columnCount() - 1))

    def set_order(self, order: Items | None) -> None:
        """Show the same items in another order."""
        self.layoutAboutToBeChanged.emit()
        self._order = order
        self.layoutChanged.emit()

    def item(self, row: int) -> int:
        """The item in a row."""
        return row if self._order is None else int(self._order[row])

    def row_of(self, item: int) -> int:
        """The row that shows an item, −1 if none does."""
        if self._order is None:
            return item if 0 <= item < self._content.count else -1
        if self._order is self._content.items and self._content.is_ascending:
            place = int(self._order.searchsorted(self._order.dtype.type(max(item, 0))))
            return place if place < len(self._order) and int(self._order[place]) == item else -1
        found = np.flatnonzero(self._order == item)
        return int(found[0]) if len(found) else -1

    def items_shown(self) -> Items:
        """All items in display order."""
        return np.arange(self._content.count) if self._order is None else self._order

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default
        if parent.isValid():
            return 0
        return min(self._content.count if self._order is None else len(self._order), MOST_ROWS)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default
        return 0 if parent.isValid() else len(self._content.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = self._content.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(self.item(index.row()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(column.tooltip(self.item(index.row()))) if column.tooltip is not None else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._content.columns):
            return None
        column = self._content.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            arrow = (" ▾" if self.sort_descending else " ▴") if section == self.sort_column else ""
            return column.title + arrow
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(column.description) or None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        return None


def _alignment(column: TableColumn) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
