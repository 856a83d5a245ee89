"""Bars above the timeline that say what went wrong, until they are dismissed."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.session.messages import MessageList, UserMessage

_SIGNS = {"error": "✕", "warning": "!", "info": "i"}


class MessageBar(QFrame):
    """One message: a sign, one sentence, perhaps details and buttons, and a cross."""

    dismissed = Signal(object)
    """its UserMessage"""

    def __init__(self, message: UserMessage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = message
        text, level = message.text, message.level
        self.setObjectName("messageBar")
        self.setProperty("level", level)
        self.setAccessibleName(text)
        self.text = text
        sign = QLabel(_SIGNS[level])
        sign.setObjectName("messageSign")
        sign.setProperty("level", level)
        sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sign.setFixedSize(18, 18)
        label = QLabel(text)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        label.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(label, 1)
        for title, callback in message.actions:
            button = QPushButton(title)
            button.clicked.connect(callback)
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 7, 8, 7)
        layout.addLayout(row)
        if message.details:
            self._add_details(message.details, row, layout)
        close = QToolButton()
        close.setObjectName("flat")
        close.setText("✕")
        close.setToolTip(tr("Dismiss"))
        close.setAccessibleName(tr("Dismiss"))
        close.clicked.connect(self.dismiss)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)

    def _add_details(self, details: str, row: QHBoxLayout, layout: QVBoxLayout) -> None:
        text = QPlainTextEdit(details)
        text.setReadOnly(True)
        text.setMaximumHeight(140)
        text.hide()
        button = QPushButton(tr("Details"))
        button.setCheckable(True)
        button.toggled.connect(text.setVisible)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(text)

    def dismiss(self) -> None:
        """Ask for the bar to be taken away."""
        self.dismissed.emit(self.message)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape dismisses the bar that has the focus."""
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)


class MessageBars(QWidget):
    """One bar for each message of a list, newest on top; not seen while there is none."""

    def __init__(self, messages: MessageList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.bars: list[MessageBar] = []
        messages.rowsInserted.connect(self._insert)
        messages.rowsRemoved.connect(self._remove)
        self.hide()

    def _insert(self, _parent: QModelIndex, first: int, last: int) -> None:
        for row in range(first, last + 1):
            bar = MessageBar(self._messages.all[row], self)
            bar.dismissed.connect(self._messages.dismiss)
            self.bars.insert(row, bar)
            self._layout.insertWidget(row, bar)
        self.show()

    def _remove(self, _parent: QModelIndex, first: int, last: int) -> None:
        for bar in self.bars[first : last + 1]:
            self._layout.removeWidget(bar)
            bar.hide()
            bar.deleteLater()
        del self.bars[first : last + 1]
        self.setVisible(bool(self.bars))
