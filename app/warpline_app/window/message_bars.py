"""Bars above the timeline that say what went wrong, until they are dismissed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import Qt, Signal
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

Level = Literal["error", "warning", "info"]
_SIGNS = {"error": "✕", "warning": "!", "info": "i"}


class MessageBar(QFrame):
    """One message: a sign, one sentence, perhaps details and buttons, and a cross."""

    dismissed = Signal(object)
    """the bar itself"""

    def __init__(
        self,
        text: str,
        level: Level = "error",
        details: str = "",
        actions: tuple[tuple[str, Callable[[], None]], ...] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
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
        for title, callback in actions:
            button = QPushButton(title)
            button.clicked.connect(callback)
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 7, 8, 7)
        layout.addLayout(row)
        if details:
            self._add_details(details, row, layout)
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
        """Take the bar away."""
        self.dismissed.emit(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape dismisses the bar that has the focus."""
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)


class MessageStack(QWidget):
    """The bars of a window, newest on top; an equal message is not shown twice."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.bars: list[MessageBar] = []
        self.hide()

    def show_message(
        self,
        text: str,
        level: Level = "error",
        details: str = "",
        actions: tuple[tuple[str, Callable[[], None]], ...] = (),
    ) -> MessageBar:
        """Show a message; returns its bar."""
        for bar in [bar for bar in self.bars if bar.text == text]:
            self._remove(bar)
        bar = MessageBar(text, level, details, actions, self)
        bar.dismissed.connect(self._remove)
        self.bars.insert(0, bar)
        self._layout.insertWidget(0, bar)
        self.show()
        return bar

    def clear(self) -> None:
        """Take all bars away."""
        for bar in list(self.bars):
            self._remove(bar)

    def _remove(self, bar: MessageBar) -> None:
        if bar in self.bars:
            self.bars.remove(bar)
            self._layout.removeWidget(bar)
            bar.hide()
            bar.deleteLater()
        self.setVisible(bool(self.bars))
