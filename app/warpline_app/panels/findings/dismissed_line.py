"""The line below the cards with the dismissed findings and their reasons."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.wording import finding_sentence
from warpline.i18n import tr, tr_n
from warpline_app.look.wrapped import WrappedLabel
from warpline_app.panels.findings.evidence import finding_key


class DismissedLine(QWidget):
    """Hidden if nothing is dismissed."""

    restore_wanted = Signal(str)
    """key of a finding to show again"""
    undo_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.show_all = QPushButton()
        self.show_all.setObjectName("link")
        self.show_all.setCheckable(True)
        self.show_all.toggled.connect(self._toggle)
        self.undo = QPushButton(tr("Undo"))
        self.undo.setObjectName("link")
        self.undo.clicked.connect(self.undo_wanted)
        head = QHBoxLayout()
        head.addWidget(self.show_all)
        head.addWidget(self.undo)
        head.addStretch(1)
        self.items = QWidget()
        self.items.hide()
        self._rows = QVBoxLayout(self.items)
        self._rows.setContentsMargins(24, 0, 0, 4)
        self._rows.setSpacing(2)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 4, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.items)
        self._count = 0

    def show_dismissed(
        self, findings: tuple[Finding, ...], reasons: Mapping[str, str], *, can_undo: bool
    ) -> None:
        """Show the dismissed findings and their reasons."""
        while self._rows.count():
            item = self._rows.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for finding in findings:
            self._rows.addWidget(self._row(finding, reasons[finding_key(finding)]))
        self._count = len(findings)
        self.undo.setVisible(can_undo)
        self.setVisible(bool(findings) or can_undo)
        self._toggle(self.show_all.isChecked())

    def _row(self, finding: Finding, reason: str) -> QWidget:
        line = QWidget()
        text = WrappedLabel(finding_sentence(finding) + (f" — {reason}" if reason else ""))
        text.setObjectName("muted")
        back = QPushButton(tr("Show again"))
        back.clicked.connect(lambda _checked: self.restore_wanted.emit(finding_key(finding)))
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 12, 0)
        row.addWidget(text, 1)
        row.addWidget(back)
        return line

    def _toggle(self, on: bool) -> None:
        self.items.setVisible(on and self._count > 0)
        self.show_all.setVisible(self._count > 0)
        text = (
            tr_n("{count} dismissed — hide", "{count} dismissed — hide", self._count)
            if on
            else tr_n("{count} dismissed — show", "{count} dismissed — show", self._count)
        )
        self.show_all.setText(text)
