"""Divides a window between timeline and panels until the user moves the border, and a panel between two widgets."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

LEAST_BOTTOM_PX = 280
LEAST_TABLE_PX = 240
"""A table beside a chart shows a name and a number."""
_NARROWEST_PX = 160
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


class SideBySide(QSplitter):
    """Two widgets of a panel side by side, or one above the other where the panel is too narrow for both."""

    def __init__(
        self,
        first: QWidget,
        second: QWidget,
        *,
        shares: tuple[int, int],
        least_px: tuple[int, int],
        stacked: tuple[int, int] = (3, 2),
    ) -> None:
        """``shares`` divides the width, ``stacked`` the height; ``least_px`` are the least widths side by side."""
        super().__init__(Qt.Orientation.Horizontal)
        self._shares = {Qt.Orientation.Horizontal: shares, Qt.Orientation.Vertical: stacked}
        self._least_px = least_px
        self._is_by_hand = False
        self.addWidget(first)
        self.addWidget(second)
        self.splitterMoved.connect(self._moved)
        self._turn(Qt.Orientation.Horizontal)

    def minimumSizeHint(self) -> QSize:
        """What is needed one above the other, so that a window can become narrow enough to turn."""
        return QSize(_NARROWEST_PX, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Turn where the width demands it, and divide the new size unless the user moved the border."""
        is_wide = self.width() >= sum(self._least_px) + self.handleWidth()
        way = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if way != self.orientation():
            self._turn(way)
        super().resizeEvent(event)
        if not self._is_by_hand:
            whole = self.width() if way == Qt.Orientation.Horizontal else self.height()
            shares = self._shares[way]
            self.setSizes([whole * share // sum(shares) for share in shares])

    def _moved(self, *_values: object) -> None:
        self._is_by_hand = True

    def _turn(self, way: Qt.Orientation) -> None:
        self._is_by_hand = False
        self.setOrientation(way)
        for index, least in enumerate(self._least_px):
            child = self.widget(index)
            if child is not None:
                child.setMinimumWidth(least if way == Qt.Orientation.Horizontal else 0)
