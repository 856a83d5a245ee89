"""Wraps values over several lines in a tree with resizable columns."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QTreeWidget

_MOST_LINES = 8
_MARGIN_PX = 8


class WrappingDelegate(QStyledItemDelegate):
    """Rows as high as their wrapped texts, up to a few lines; the tooltip shows the rest."""

    def __init__(self, tree: QTreeWidget) -> None:
        super().__init__(tree)
        self._tree = tree
        tree.setWordWrap(True)
        tree.setUniformRowHeights(False)
        tree.header().sectionResized.connect(lambda *_values: tree.scheduleDelayedItemsLayout())

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        tree, text = self._tree, str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        metrics = tree.fontMetrics()
        line = metrics.lineSpacing()
        depth = 1 + int(index.parent().isValid())
        if tree.isFirstColumnSpanned(index.row(), index.parent()):
            width = tree.viewport().width()
        else:
            width = tree.columnWidth(index.column())
        if index.column() == 0:
            width -= depth * tree.indentation()
        room = max(40, width - _MARGIN_PX)
        if metrics.horizontalAdvance(text) <= room:
            return QSize(size.width(), line + 4)
        flags = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignLeft)
        height = metrics.boundingRect(0, 0, room, 10_000, flags, text).height()
        return QSize(size.width(), min(height, _MOST_LINES * line) + 4)
