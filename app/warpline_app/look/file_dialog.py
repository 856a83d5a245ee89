"""Qt's file dialog, all of it in the user's language."""

from __future__ import annotations

from PySide6.QtWidgets import QFileDialog, QWidget

from warpline.i18n import tr


class FileDialog(QFileDialog):
    """Qt's own, with the labels that its catalogues lack."""

    def __init__(self, parent: QWidget | None = None, caption: str = "", directory: str = "") -> None:
        super().__init__(parent, caption, directory)
        self.setLabelText(QFileDialog.DialogLabel.LookIn, tr("Look in:"))
        self.setLabelText(QFileDialog.DialogLabel.FileType, tr("Files of type:"))
