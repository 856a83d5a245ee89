"""Qt's file dialog in the look of the application: translated, with its times and sizes, columns wide enough."""

from __future__ import annotations

from PySide6.QtCore import QFileInfo, QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFileSystemModel,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from warpline.i18n import tr
from warpline.model.sizes import format_bytes
from warpline.platform.systems import has_own_file_dialogs

_SIZE, _TYPE, _TIME = 1, 2, 3
_WIDTH_PX, _HEIGHT_PX = 860, 520


class _FileDetails(QStyledItemDelegate):
    """Shows the sizes and times of files as in the rest of the window."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        name = index.sibling(index.row(), 0)
        file = QFileInfo(str(name.data(QFileSystemModel.Roles.FilePathRole)))
        if index.column() == _TIME:
            option.text = file.lastModified().toString("yyyy-MM-dd HH:mm")
        elif index.column() == _SIZE and file.isFile():
            option.text = format_bytes(file.size())


class FileDialog(QFileDialog):
    """Adds the labels missing from Qt's catalogues."""

    def __init__(self, parent: QWidget | None = None, caption: str = "", directory: str = "") -> None:
        super().__init__(parent, caption, directory)
        self.setOption(QFileDialog.Option.DontUseNativeDialog, not has_own_file_dialogs())
        # Thirty suffixes do not fit in one line; the filter's name says enough.
        self.setOption(QFileDialog.Option.HideNameFilterDetails)
        self.setLabelText(QFileDialog.DialogLabel.LookIn, tr("Look in:"))
        self.setLabelText(QFileDialog.DialogLabel.FileType, tr("Files of type:"))

    def showEvent(self, event: QShowEvent) -> None:
        """Give names the room, and sizes and times what they need."""
        super().showEvent(event)
        tree = self.findChild(QTreeView, "treeView")
        if not isinstance(tree, QTreeView):
            return  # the system's own dialog
        self.resize(max(self.width(), _WIDTH_PX), max(self.height(), _HEIGHT_PX))
        tree.setItemDelegate(_FileDetails(tree))
        tree.setColumnHidden(_TYPE, True)
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (_SIZE, _TIME):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
