"""The row of a panel area's tabs; a tab that is dragged out of the row is let go somewhere else."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QSizePolicy, QTabBar, QWidget

_LEAVES_PX = 28


class PanelTabs(QTabBar):
    """Plain texts that can be put in another order, or dragged away."""

    dragged = Signal(QPoint)
    """where the pointer is, in global coordinates, while the tab in front is out of the row"""
    dropped = Signal(QPoint)
    """where the tab in front was let go"""
    drag_ended = Signal()
    """the tab is back in its row, or was let go"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_out = False
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMovable(True)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Within the row tabs change places; out of it the tab goes with the pointer."""
        is_out = bool(event.buttons() & Qt.MouseButton.LeftButton) and self._leaves(
            event.position().toPoint()
        )
        if is_out:
            self._is_out = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.dragged.emit(event.globalPosition().toPoint())
            return
        self._end_drag()
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        was_out = self._is_out
        self._end_drag()
        super().mouseReleaseEvent(event)
        if was_out and event.button() == Qt.MouseButton.LeftButton:
            self.dropped.emit(event.globalPosition().toPoint())

    def _leaves(self, point: QPoint) -> bool:
        return not self.rect().adjusted(-_LEAVES_PX, -_LEAVES_PX, _LEAVES_PX, _LEAVES_PX).contains(point)

    def _end_drag(self) -> None:
        if self._is_out:
            self._is_out = False
            self.unsetCursor()
            self.drag_ended.emit()
