"""Runs work after the first frame of a timeline."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from warpline_app.timeline.widgets.canvas import Canvas


class FirstFrame(QObject):
    """Runs callbacks once a canvas has been painted."""

    def __init__(self, canvas: Canvas, parent: QObject) -> None:
        super().__init__(parent)
        self._was_painted = False
        self._waiting: list[Callable[[], None]] = []
        canvas.frame_drawn.connect(self._painted)

    def after(self, act: Callable[[], None]) -> None:
        """Call ``act`` after the first paint, or soon if that has happened."""
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
