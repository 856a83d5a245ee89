"""The line above two timelines: by what they are aligned, what is matched and lit, and what came out."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QPushButton, QWidget

from warpline.analysis.compare.comparison_text import alignment_text, signed_duration, signed_percent, verdict
from warpline.i18n import english, tr, translated
from warpline_app.look.elided import ElidedLabel
from warpline_app.open.comparing import ComparedPair
from warpline_app.state.view_lock import LockMode

MODES = {
    LockMode.STEP: english("aligned by step"),
    LockMode.MARK: english("aligned by mark"),
    LockMode.START: english("aligned at the start"),
    LockMode.FREE: english("each moves alone"),
}


class ControlRow(QWidget):
    """Follows the lock of a pair, and tells what a person switches."""

    rows_matched = Signal(bool)
    lit = Signal(bool)
    """whether names that differ are to be singled out"""

    def __init__(self, pair: ComparedPair, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolRow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._pair = pair
        self.mode = QComboBox()
        self.mode.setAccessibleName(tr("How the timelines are aligned"))
        for mode, title in MODES.items():
            self.mode.addItem(translated(title), mode)
        self.mode.activated.connect(lambda index: pair.lock.set_mode(LockMode(self.mode.itemData(index))))
        self.match = QCheckBox(tr("Match rows"))
        self.match.setToolTip(tr("Open, hide and scroll rows of both timelines together"))
        self.match.setChecked(True)
        self.match.toggled.connect(self.rows_matched)
        self.light = QCheckBox(tr("Light differences"))
        self.light.setToolTip(tr("Single out events that are new, gone, or take more or less time"))
        self.light.toggled.connect(self.lit)
        self.back = QPushButton(tr("Show What Is Compared"))
        self.back.clicked.connect(lambda _checked: pair.show_windows())
        self.result = QLabel()
        self.said = ElidedLabel()
        self.said.setObjectName("muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(10)
        for widget in (self.mode, self.match, self.light, self.back, self.result):
            row.addWidget(widget)
        row.addWidget(self.said, 1)
        self._say()
        pair.lock.mode_changed.connect(lambda _mode: self._show_mode())
        for document in pair.documents:
            document.state.marks_changed.connect(lambda _marks: self._show_mode())
        self._show_mode()

    def _show_mode(self) -> None:
        lock = self._pair.lock
        self.mode.setCurrentIndex(self.mode.findData(lock.mode))
        model = self.mode.model()
        for place, mode in enumerate(MODES):
            # Greyed out until both have a mark, or steps.
            flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
            model.setData(
                model.index(place, 0), flags.value if lock.can(mode) else 0, Qt.ItemDataRole.UserRole - 1
            )

    def _say(self) -> None:
        found = self._pair.found
        percent = signed_percent(found.a.total_ns, found.b.total_ns)
        self.result.setText(f"B − A: {signed_duration(found.difference_ns)}  {percent}")
        text = " ".join(filter(None, [verdict(found), alignment_text(found)]))
        self.said.setText(text)
        self.said.setToolTip(text)
