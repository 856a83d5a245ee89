"""The tab row of a panel area; tabs can be dragged out of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QSizePolicy, QTabBar, QWidget

_DRAG_OUT_PX = 28


class PanelTabs(QTabBar):
    """Plain tabs that can be reordered or dragged away."""

    dragged = Signal(QPoint)
    """global position of the pointer while the front tab is outside the row"""
    dropped = Signal(QPoint)
    """where the front tab was dropped"""
    drag_ended = Signal()
    """the tab returned to its row or was dropped"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_dragged_out = False
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMovable(True)
        # Tabs are never elided, because that would cut their counts; they move to the menu instead.
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setUsesScrollButtons(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        """At least the front tab; others can move to the menu."""
        front = self.currentIndex()
        return self.tabSizeHint(front) if front >= 0 else super().minimumSizeHint()

    def show_those_that_fit(self, has_data: Sequence[bool], width: int) -> tuple[int, ...]:
        """Show the tabs with data that fit ``width`` pixels unabridged, always including the front one. Returns the
        indices of the hidden tabs.
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
                self.updateGeometry()  # Qt updates the layout for a new text but not for this
        return tuple(place for place in range(self.count()) if place not in shown)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Reorder within the row; outside it, drag the tab."""
        is_out = bool(event.buttons() & Qt.MouseButton.LeftButton) and self._is_outside(
            event.position().toPoint()
        )
        if is_out:
            self._is_dragged_out = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.dragged.emit(event.globalPosition().toPoint())
            return
        self._end_drag()
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Drop the tab."""
        was_out = self._is_dragged_out
        self._end_drag()
        super().mouseReleaseEvent(event)
        if was_out and event.button() == Qt.MouseButton.LeftButton:
            self.dropped.emit(event.globalPosition().toPoint())

    def _is_outside(self, point: QPoint) -> bool:
        return (
            not self.rect().adjusted(-_DRAG_OUT_PX, -_DRAG_OUT_PX, _DRAG_OUT_PX, _DRAG_OUT_PX).contains(point)
        )

    def _end_drag(self) -> None:
        if self._is_dragged_out:
            self._is_dragged_out = False
            self.unsetCursor()
            self.drag_ended.emit()
