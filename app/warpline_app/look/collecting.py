"""Runs Python's cycle collector on the window's thread only."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_INTERVAL_MS = 1000


class CycleCollector(QObject):
    """Replaces Python's automatic cycle collection, which runs on whichever thread allocates.

    On a job's thread it could destroy a timer or an action while the window's thread is about to call it. The
    thresholds are Python's.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.collect)
        self._timer.start(_INTERVAL_MS)

    def collect(self) -> None:
        """Collect the oldest generation over its threshold, as Python would have."""
        due = [count > most > 0 for count, most in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if any(due):
            gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
