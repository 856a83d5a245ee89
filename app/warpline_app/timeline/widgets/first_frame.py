"""What waits until a timeline was painted for the first time."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from warpline_app.timeline.widgets.canvas import Canvas


class FirstFrame(QObject):
    """Knows whether a canvas was painted, and has things done when it was."""

    def __init__(self, canvas: Canvas, parent: QObject) -> None:
        super().__init__(parent)
        self._was_painted = False
        self._waiting: list[Callable[[], None]] = []
        canvas.frame_drawn.connect(self._painted)

    def after(self, act: Callable[[], None]) -> None:
        """Do something as soon as it was painted, or at the next opportunity when it was already."""
        if self._was_painted:
            QTimer.singleShot(0, self, act)
        else:
            self._waiting.append(act)

    def _painted(self) -> None:
        if not self._was_painted:
            self._was_painted = True
            for act in self._waiting:
                QTimer.singleShot(0, self, act)
            self._waiting.clear()
