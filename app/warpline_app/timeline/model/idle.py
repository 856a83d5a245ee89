"""Background work on the GUI thread, in slices shorter than a frame, while the user is idle."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

SLICE_S = 0.007


class IdleWork(QObject):
    """A queue of small pieces of work on the GUI thread.

    A piece has a key; a newer piece with the same key replaces it. A piece must take a few milliseconds at most.
    ``finished`` is emitted when the queue is empty.
    """

    finished = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pieces: dict[str, Callable[[], None]] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._run)

    @property
    def is_busy(self) -> bool:
        """Whether pieces are waiting."""
        return bool(self._pieces)

    def submit(self, key: str, piece: Callable[[], None]) -> None:
        """Queue a piece of work."""
        self._pieces.pop(key, None)
        self._pieces[key] = piece
        if not self._timer.isActive():
            self._timer.start(0)

    def cancel(self, prefix: str) -> None:
        """Remove pieces whose key starts with ``prefix``."""
        for key in [key for key in self._pieces if key.startswith(prefix)]:
            del self._pieces[key]

    def later(self, delay_ms: int) -> None:
        """Pause for this long, because the user is active."""
        self._timer.start(delay_ms)

    def _run(self) -> None:
        deadline = time.perf_counter() + SLICE_S
        while self._pieces and time.perf_counter() < deadline:
            key = next(iter(self._pieces))
            self._pieces.pop(key)()
        if self._pieces:
            self._timer.start(0)
        else:
            self.finished.emit()
