"""The legend of a recording that still runs: found in a thread, because its tables are joined when they are read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline_app.open.background import Job
from warpline_app.timeline.widgets.legend_entries import legend_entries

if TYPE_CHECKING:
    from warpline.storage import Capture

_RENEWED_AFTER_S = 5.0


class LiveLegend(QObject):
    """Emits ``found`` with the entries for a capture, a few seconds apart."""

    found = Signal(tuple)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._job: Job | None = None
        self._due_s = 0.0

    def ask(self, capture: Capture, only: Sequence[str]) -> None:
        """Look for the entries of a capture, unless that was done a moment ago."""
        if self._job is not None or time.monotonic() < self._due_s:
            return
        self._job = Job(lambda _progress, _cancelled: legend_entries(capture, only), self)
        self._job.succeeded.connect(self._take)
        self._job.failed.connect(lambda _error: self._take(()))
        self._job.launch()

    def _take(self, entries: tuple[object, ...]) -> None:
        self._job, self._due_s = None, time.monotonic() + _RENEWED_AFTER_S
        if entries:
            self.found.emit(entries)
