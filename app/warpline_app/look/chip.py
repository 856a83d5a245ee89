"""An active filter, shown as a chip."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QWidget

from warpline.i18n import tr
from warpline_app.look.plain import PlainLabel, plain


class Chip(QFrame):
    """One active filter with a button that removes it."""

    def __init__(self, text: str, remove: Callable[[], None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self.text = text
        label = PlainLabel()
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setText(label.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, 220))
        label.setToolTip(plain(text))
        self.close_button = QToolButton()
        self.close_button.setObjectName("chipClose")
        self.close_button.setText("✕")
        self.close_button.setToolTip(tr("Remove this filter"))
        self.close_button.setAccessibleName(tr("Remove filter {text}", text=text))
        # The signal passes the button's checked state, which `remove` does not take.
        self.close_button.clicked.connect(lambda _checked: remove())
        row = QHBoxLayout(self)
        row.setContentsMargins(9, 2, 3, 2)
        row.setSpacing(3)
        row.addWidget(label)
        row.addWidget(self.close_button)
