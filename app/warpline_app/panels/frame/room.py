"""How the timeline and the areas of panels share a window, until a person moves the border between them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

LEAST_BOTTOM_PX = 280
MOST_BOTTOM = 0.55
LEAST_RIGHT_PX, MOST_RIGHT_PX, RIGHT = 300, 360, 0.2


def bottom_height(whole_px: int, wanted_px: int) -> int:
    """How high the panels below a timeline are that needs ``wanted_px`` for all its rows: what it leaves, but no less
    than they need and no more than a good half.
    """
    return max(min(whole_px - wanted_px, round(whole_px * MOST_BOTTOM)), LEAST_BOTTOM_PX)


def right_width(whole_px: int) -> int:
    """How wide the panels beside the timeline are."""
    return min(max(round(whole_px * RIGHT), LEAST_RIGHT_PX), MOST_RIGHT_PX)


class SharedRoom(QSplitter):
    """Two widgets side by side, of which the second is as large as a rule says."""

    def __init__(
        self, way: Qt.Orientation, first: QWidget, second: QWidget, second_px: Callable[[int], int]
    ) -> None:
        super().__init__(way)
        self.is_by_hand = False
        """Whether a person has moved the border: it stays there then."""
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
        """A window of another size is shared anew."""
        super().resizeEvent(event)
        self.share()

    def share(self) -> None:
        """Give both what the rule says."""
        whole = (self.width() if self.orientation() == Qt.Orientation.Horizontal else self.height()) - 3
        if self.is_by_hand or whole <= 0:
            return
        second = self._second_px(whole)
        self.setSizes([max(whole - second, 1), second])
