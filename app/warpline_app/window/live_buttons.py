"""The buttons of a recording whose timeline is shown while it runs: follow, mark, keep the end, program output."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from warpline.i18n import tr
from warpline_app.open.live_document import LiveDocument


class LiveButtons(QWidget):
    """Acts on a live document; ``keep_wanted`` and ``output_toggled`` are for the page."""

    keep_wanted = Signal()
    output_toggled = Signal(bool)
    """whether the program's output is shown in place of the timeline"""

    def __init__(self, document: LiveDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.follow = QPushButton(tr("Follow"))
        self.follow.setToolTip(tr("Keep the end of the recording in view (E)"))
        self.follow.setCheckable(True)
        self.follow.setMinimumWidth(self.follow.fontMetrics().horizontalAdvance(tr("Following")) + 28)
        self.follow.clicked.connect(document.set_follows)
        self.mark = QPushButton(tr("Mark"))
        self.mark.setToolTip(tr("Add a mark at the current end of the recording"))
        self.mark.clicked.connect(self._mark)
        self.keep = QPushButton(tr("Keep last 30 s"))
        self.keep.setToolTip(
            tr("Save the last 30 seconds as a capture of their own; the recording continues")
        )
        self.keep.clicked.connect(self.keep_wanted)
        self.output = QPushButton(tr("Output"))
        self.output.setToolTip(tr("Show the program's output in place of the timeline"))
        self.output.setCheckable(True)
        self.output.toggled.connect(self.output_toggled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for button in (self.follow, self.mark, self.keep, self.output):
            row.addWidget(button)
        document.follows_changed.connect(self._show)
        self._show()

    def _mark(self) -> None:
        if self._document.live_edge is not None:
            self._document.state.add_mark(self._document.live_edge.head_ns)

    def _show(self, *_follows: object) -> None:
        is_live = self._document.is_live
        self.follow.setChecked(self._document.follows)
        self.follow.setText(tr("Following") if self._document.follows else tr("Follow"))
        for button in (self.follow, self.mark, self.keep):
            button.setEnabled(is_live)
