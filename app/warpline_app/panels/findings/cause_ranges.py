"""Finds when the time of one cause was, in a thread of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal

from warpline.analysis.findings.finding import BudgetPart, Diagnosis
from warpline.model.errors import UsageError
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job

if TYPE_CHECKING:
    from warpline_app.open.document import Document

Int64Array = npt.NDArray[np.int64]


class CauseRanges(QObject):
    """One question at a time; a new one cancels the last."""

    found = Signal(object, object)
    """a BudgetPart, and its ranges: int64 [n, 2], capture ns"""

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._job: Job | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a question is being answered."""
        return self._job is not None

    def find(self, part: BudgetPart, range_ns: tuple[int, int] | None, of: str | None) -> None:
        """Ask when the time of a part was, in the range and of the track that were diagnosed."""
        if self._job is not None:
            self._job.cancel()
        self._job = job = Job(partial(self._compute, part.cause, range_ns, of), self)

        def end(ranges: Int64Array | None = None) -> None:
            if self._job is job:
                self._job = None
                if ranges is not None:
                    self.found.emit(part, ranges)

        job.succeeded.connect(end)
        job.failed.connect(lambda _error: end())
        job.cancelled.connect(end)
        job.launch()

    def _compute(
        self,
        cause: str,
        range_ns: tuple[int, int] | None,
        of: str | None,
        _progress: Progress,
        is_cancelled: IsCancelled,
    ) -> Int64Array | None:
        from warpline.analysis.findings.budget import ranges_of_cause
        from warpline.analysis.findings.diagnose import open_case
        from warpline.analysis.framework.selection import Selection, View

        view = View(self._document.capture, Selection(*(range_ns or (None, None))), is_cancelled)
        try:
            case = open_case(view, of=of)
        except UsageError:
            case = open_case(view)  # the track has no time budget: that of the whole capture is shown
        return None if isinstance(case, Diagnosis) else ranges_of_cause(case, cause)
