"""The row of a panel area's tabs; a tab that is dragged out of the row is let go somewhere else."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt, Signal
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
        # A tab that finds no room stands back whole: its count is what would be cut first.
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setUsesScrollButtons(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        """The tab in front: the others can stand back."""
        front = self.currentIndex()
        return self.tabSizeHint(front) if front >= 0 else super().minimumSizeHint()

    def show_those_that_fit(self, has_data: Sequence[bool], width: int) -> tuple[int, ...]:
        """Show the tabs that have something to show, as many as ``width`` pixels take with their texts unabridged; the
        one in front always. Returns the places of the others.
        """
        front = self.currentIndex()
        places = [place for place in range(self.count()) if has_data[place] or place == front]
        room = width - (self.tabSizeHint(front).width() if front >= 0 else 0)
        shown = set()
        for place in places:
            if place != front:
                room -= self.tabSizeHint(place).width()
            if room < 0 and place != front:
                continue
            shown.add(place)
        for place in range(self.count()):
            if self.isTabVisible(place) != (place in shown):
                self.setTabVisible(place, place in shown)
                self.updateGeometry()  # Qt lays a row out anew for a text, and not for this
        return tuple(place for place in range(self.count()) if place not in shown)

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
