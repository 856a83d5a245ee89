"""Input for a program being recorded: a line to type, and a button that ends the input."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from warpline.i18n import tr


class InputRow(QWidget):
    """Below the program's output."""

    line_typed = Signal(str)
    ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.line = QLineEdit()
        self.line.setPlaceholderText(tr("Program input: type a line and press Return"))
        self.line.setAccessibleName(tr("Program input"))
        self.line.returnPressed.connect(self._send)
        self.end = QPushButton(tr("End of input"))
        self.end.setToolTip(tr("Close the program's standard input (Ctrl-D in a terminal)"))
        self.end.clicked.connect(self.ended)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 16, 8)
        row.setSpacing(8)
        row.addWidget(self.line, 1)
        row.addWidget(self.end)

    def _send(self) -> None:
        self.line_typed.emit(self.line.text())
        self.line.clear()
