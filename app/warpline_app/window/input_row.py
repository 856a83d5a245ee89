"""What a program that is being recorded reads: a line to type, and the end of its input."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from warpline.i18n import tr


class InputRow(QWidget):
    """Below the program's output; a program that reads nothing never notices."""

    line_typed = Signal(str)
    ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.line = QLineEdit()
        self.line.setPlaceholderText(tr("Input for the program: type a line, Return sends it"))
        self.line.setAccessibleName(tr("Input for the program"))
        self.line.returnPressed.connect(self._send)
        self.end = QPushButton(tr("End of input"))
        self.end.setToolTip(tr("Tell the program that there is nothing more to read (Ctrl-D in a terminal)"))
        self.end.clicked.connect(self.ended)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 16, 8)
        row.setSpacing(8)
        row.addWidget(self.line, 1)
        row.addWidget(self.end)

    def _send(self) -> None:
        self.line_typed.emit(self.line.text())
        self.line.clear()
