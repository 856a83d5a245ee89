"""Qt's file dialog, fully translated."""

from __future__ import annotations

from PySide6.QtWidgets import QFileDialog, QWidget

from warpline.i18n import tr


class FileDialog(QFileDialog):
    """Adds the labels missing from Qt's catalogues."""

    def __init__(self, parent: QWidget | None = None, caption: str = "", directory: str = "") -> None:
        super().__init__(parent, caption, directory)
        self.setLabelText(QFileDialog.DialogLabel.LookIn, tr("Look in:"))
        self.setLabelText(QFileDialog.DialogLabel.FileType, tr("Files of type:"))
