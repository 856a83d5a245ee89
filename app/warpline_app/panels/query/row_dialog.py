"""Asks for the title and colour of a derived row."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QFormLayout, QLineEdit, QWidget

from warpline.i18n import english, tr, translated
from warpline_app.look.appearance import appearance
from warpline_app.look.widgets import dot_icon

_COLORS = (
    ("", english("By name")),
    ("kernel", english("Like kernels")),
    ("communication", english("Like communication")),
    ("copy_on_device", english("Like copies on the GPU")),
    ("sync", english("Like waits for the GPU")),
    ("running", english("Like running threads")),
    ("neutral", english("Grey")),
)
_FIELD_PX = 320


class RowDialog(QDialog):
    """``chosen`` carries the title and the colour family, empty for colours by name."""

    chosen = Signal(str, str)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Show as row"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLineEdit(title)
        self.title.setMinimumWidth(_FIELD_PX)
        self.title.selectAll()
        self.color = QComboBox()
        theme = appearance().theme
        for family, text in _COLORS:
            if family:
                self.color.addItem(dot_icon(theme.color(family)), translated(text), family)
            else:
                self.color.addItem(translated(text), family)
        form = QFormLayout(self)
        form.setContentsMargins(18, 16, 18, 14)
        form.addRow(tr("Title"), self.title)
        form.addRow(tr("Colour"), self.color)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        form.addRow(self.buttons)

    def accept(self) -> None:
        """Pass the choice on; a row needs a title."""
        title = self.title.text().strip()
        if title:
            self.chosen.emit(title, self.color.currentData())
            super().accept()
