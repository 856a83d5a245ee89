"""Divides a window between timeline and panels until the user moves the border."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

LEAST_BOTTOM_PX = 280
MOST_BOTTOM = 0.55
LEAST_RIGHT_PX, MOST_RIGHT_PX, RIGHT = 300, 360, 0.2


def bottom_height(whole_px: int, needed_px: int) -> int:
    """Height of the panels below a timeline that needs ``wanted_px``: the rest, between a minimum and about half."""
    return max(min(whole_px - needed_px, round(whole_px * MOST_BOTTOM)), LEAST_BOTTOM_PX)


def right_width(whole_px: int) -> int:
    """Width of the panels right of the timeline."""
    return min(max(round(whole_px * RIGHT), LEAST_RIGHT_PX), MOST_RIGHT_PX)


class SharedRoom(QSplitter):
    """Two widgets side by side; a function gives the size of the second."""

    def __init__(
        self, way: Qt.Orientation, first: QWidget, second: QWidget, second_px: Callable[[int], int]
    ) -> None:
        super().__init__(way)
        self.is_by_hand = False
        """Whether the user moved the border, which then stays."""
        self._second_px = second_px
        self.setChildrenCollapsible(False)
        self.setHandleWidth(3)
        self.addWidget(first)
        self.addWidget(second)
        self.setStretchFactor(0, 1)
        self.splitterMoved.connect(self._moved)

    def _moved(self, *_values: object) -> None:
        self.is_by_hand = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Divide the new size."""
        super().resizeEvent(event)
        self.share()

    def share(self) -> None:
        """Apply the size function."""
        whole = (self.width() if self.orientation() == Qt.Orientation.Horizontal else self.height()) - 3
        if self.is_by_hand or whole <= 0:
            return
        second = self._second_px(whole)
        self.setSizes([max(whole - second, 1), second])
