"""The tab of a job whose ranks are being computed: how far each is, and which have failed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr, tr_n, translated
from warpline.library.jobs import JobRank
from warpline_app.job.rank_grid import RankGrid
from warpline_app.look.elided import ElidedLabel
from warpline_app.session.job.opening import JobOpening

_SHOWN_FAILURES = 4


class JobOpeningPage(QWidget):
    """Follows a `JobOpening`."""

    cancel_requested = Signal()

    def __init__(self, opening: JobOpening, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("openingPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        box = QWidget()
        box.setFixedWidth(480)
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        self.label = QLabel(opening.heading)
        self.label.setObjectName("subhead")
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.detail = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.detail.setObjectName("muted")
        self.grid = RankGrid()
        self.failures = QLabel()
        self.failures.setObjectName("problem")
        self.failures.setTextFormat(Qt.TextFormat.PlainText)
        self.failures.setWordWrap(True)
        self.failures.hide()
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setToolTip(tr("What is computed is kept: opening the job again goes on from there"))
        self.cancel.clicked.connect(self.cancel_requested)
        for widget in (self.label, self.bar, self.detail, self.grid, self.failures):
            column.addWidget(widget)
        column.addWidget(self.cancel, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QGridLayout(self)
        layout.addWidget(box, 0, 0, Qt.AlignmentFlag.AlignCenter)
        opening.progressed.connect(self.report)
        opening.ranks_found.connect(self._found)
        opening.rank_ready.connect(self._ready)

    def report(self, fraction: float, text: str) -> None:
        """Show how far it is."""
        if fraction > 0:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * min(fraction, 1.0)))
        self.detail.setText(text)

    def _found(self, numbers: tuple[int, ...]) -> None:
        self.grid.set_ranks(numbers)

    def _ready(self, one: JobRank) -> None:
        self.grid.set_done(one)
        failed = self.grid.failed
        if failed:
            lines = [tr_n("{count} rank has failed", "{count} ranks have failed", len(failed))]
            lines += [
                tr("rank {number}: {reason}", number=each.rank, reason=translated(each.reason))
                for each in failed[:_SHOWN_FAILURES]
            ]
            self.failures.setText("\n".join([*lines, "…"] if len(failed) > _SHOWN_FAILURES else lines))
            self.failures.show()
