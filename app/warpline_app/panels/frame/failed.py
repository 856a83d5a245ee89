"""Placeholder for a panel that could not be created."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline_app.look.plain import PlainLabel
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel


class FailedPanel(Panel):
    """Shows the error; other panels are unaffected."""

    def __init__(self, document: Document, error: Exception, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.reason = PlainLabel(
            tr("This panel cannot be shown: {error}", error=str(error) or type(error).__name__)
        )
        self.reason.setObjectName("muted")
        self.reason.setTextFormat(Qt.TextFormat.PlainText)
        self.reason.setWordWrap(True)
        self.reason.setMargin(16)
        self.reason.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.reason)
