"""The tab of a job while its ranks are computed: progress and failures."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from warpline.i18n import tr, tr_n, translated
from warpline.library.jobs import JobRank
from warpline_app.job.rank_grid import RankGrid
from warpline_app.look.plain import PlainLabel
from warpline_app.look.progress_box import ProgressBox, center_in
from warpline_app.open.job.opening import JobOpening

_SHOWN_FAILURES = 4
_WIDTH_PX = 480


class JobOpeningPage(QWidget):
    """Follows a `JobOpening`."""

    cancel_requested = Signal()

    def __init__(self, opening: JobOpening, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("openingPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.box = ProgressBox(opening.heading, _WIDTH_PX)
        self.box.cancel.setToolTip(tr("Finished ranks are kept; opening the job again continues from there"))
        self.box.cancel_requested.connect(self.cancel_requested)
        self.grid = RankGrid()
        self.failures = PlainLabel()
        self.failures.setObjectName("problem")
        self.failures.setTextFormat(Qt.TextFormat.PlainText)
        self.failures.setWordWrap(True)
        self.failures.hide()
        self.box.add(self.grid)
        self.box.add(self.failures)
        center_in(self, self.box)
        opening.progressed.connect(self.box.report)
        opening.ranks_found.connect(self._found)
        opening.rank_ready.connect(self._ready)

    def _found(self, numbers: tuple[int, ...]) -> None:
        self.grid.set_ranks(numbers)

    def _ready(self, job_rank: JobRank) -> None:
        self.grid.set_done(job_rank)
        failed = self.grid.failed
        if failed:
            lines = [tr_n("{count} rank failed", "{count} ranks failed", len(failed))]
            lines += [
                tr("rank {number}: {reason}", number=rank.rank, reason=translated(rank.reason))
                for rank in failed[:_SHOWN_FAILURES]
            ]
            self.failures.setText("\n".join([*lines, "…"] if len(failed) > _SHOWN_FAILURES else lines))
            self.failures.show()
