"""Python's collector of objects that hold each other in circles comes on the window's thread alone."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_LOOKED_EVERY_MS = 1000


class CycleCollector(QObject):
    """In place of Python's own, which comes on whatever thread makes one object too many.

    What it finds on the thread of a job are objects of Qt too: a timer or an action is destroyed there, while the
    window's thread, to which it belongs, may be about to call it. Thresholds are those of Python's.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.collect)
        self._timer.start(_LOOKED_EVERY_MS)

    def collect(self) -> None:
        """Collect the oldest generation of which there are too many, as Python would have."""
        due = [count > most > 0 for count, most in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if any(due):
            gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
