"""The controls above two timelines: alignment, row matching, highlighting, and the result."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QPushButton, QWidget

from warpline.analysis.compare.comparison_text import (
    alignment_text,
    failure_text,
    signed_duration,
    signed_percent,
    verdict,
)
from warpline.analysis.compare.predictions import prediction_text
from warpline.i18n import english, sentences, tr, translated
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.comparing import ComparedPair
from warpline_app.state.view_lock import LockMode

MODES = {
    LockMode.STEP: english("aligned by step"),
    LockMode.MARK: english("aligned by mark"),
    LockMode.START: english("aligned at the start"),
    LockMode.FREE: english("not aligned"),
}


class ControlRow(QWidget):
    """Follows the lock of a pair and signals changes to the controls."""

    rows_matched = Signal(bool)
    lit = Signal(bool)
    """whether to highlight names that differ"""

    def __init__(self, pair: ComparedPair, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolRow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._pair = pair
        self.mode = QComboBox()
        self.mode.setAccessibleName(tr("Alignment of the timelines"))
        for mode, title in MODES.items():
            self.mode.addItem(translated(title), mode)
        self.mode.activated.connect(lambda index: pair.lock.set_mode(LockMode(self.mode.itemData(index))))
        self.match = QCheckBox(tr("Match rows"))
        self.match.setToolTip(tr("Expand, hide and scroll rows of both timelines together"))
        self.match.setChecked(True)
        self.match.toggled.connect(self.rows_matched)
        self.highlight = QCheckBox(tr("Highlight differences"))
        self.highlight.setToolTip(
            tr("Highlight events that are only in A or only in B, or whose time changed")
        )
        self.highlight.toggled.connect(self.lit)
        self.back = QPushButton(tr("Show compared ranges"))
        self.back.clicked.connect(lambda _checked: pair.show_windows())
        self.result = PlainLabel()
        self.verdict_label = ElidedLabel()
        self.verdict_label.setObjectName("muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(10)
        for widget in (self.mode, self.match, self.highlight, self.back, self.result):
            row.addWidget(widget)
        row.addWidget(self.verdict_label, 1)
        self._show_verdict()
        pair.lock.mode_changed.connect(lambda _mode: self._show_mode())
        for document in pair.documents:
            document.state.notes_changed.connect(lambda _notes: self._show_mode())
        self._show_mode()

    def _show_mode(self) -> None:
        lock = self._pair.lock
        self.mode.setCurrentIndex(self.mode.findData(lock.mode))
        model = self.mode.model()
        for index, mode in enumerate(MODES):
            # Disable modes that need marks or steps on both sides.
            flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
            model.setData(
                model.index(index, 0), flags.value if lock.can(mode) else 0, Qt.ItemDataRole.UserRole - 1
            )

    def _show_verdict(self) -> None:
        comparison = self._pair.comparison
        percent = signed_percent(comparison.a.total_ns, comparison.b.total_ns)
        self.result.setText(f"B − A: {signed_duration(comparison.difference_ns)}  {percent}")
        texts = (prediction_text(comparison.predictions), verdict(comparison), alignment_text(comparison))
        text = sentences((failure_text(comparison), *texts))
        self.verdict_label.setText(text)
        self.verdict_label.setToolTip(plain(text))
