"""A row of controls that continues on further rows where it is too narrow, so that none covers another."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QLabel, QLayout, QLayoutItem, QWidget

_ROW_SPACING_PX = 4
_LEAST_REST_PX = 60
"""The control that takes the rest of its row gets a new row rather than less than this."""


class WrappingRow(QLayout):
    """Controls side by side, each as wide as it wants; one takes what is left of its row."""

    def __init__(self, margin_px: int = 5, spacing_px: int = 8) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._stretching: QWidget | None = None
        self.setContentsMargins(10, margin_px, 10, margin_px)
        self.setSpacing(spacing_px)

    def add(self, widget: QWidget, *, is_stretching: bool = False) -> None:
        """Append a control; the one that stretches takes what is left of its row."""
        if is_stretching:
            self._stretching = widget
        self.addWidget(widget)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        margins = self.contentsMargins()
        inside = width - margins.left() - margins.right()
        heights = [self._row_height(row) for row in self._rows(inside)]
        gaps = _ROW_SPACING_PX * max(len(heights) - 1, 0)
        return sum(heights) + gaps + margins.top() + margins.bottom()

    def sizeHint(self) -> QSize:
        margins = self.contentsMargins()
        row = [(item, self._wanted(item)) for item in self._items if not item.isEmpty()]
        width = sum(px for _, px in row) + self.spacing() * max(len(row) - 1, 0)
        return QSize(
            width + margins.left() + margins.right(), self._row_height(row) + margins.top() + margins.bottom()
        )

    def minimumSize(self) -> QSize:
        margins = self.contentsMargins()
        widest = max((self._least(item) for item in self._items if not item.isEmpty()), default=0)
        return QSize(widest + margins.left() + margins.right(), self.sizeHint().height())

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        inside = rect.marginsRemoved(self.contentsMargins())
        top = inside.top()
        for row in self._rows(inside.width()):
            self._place(row, QRect(inside.left(), top, inside.width(), self._row_height(row)))
            top += self._row_height(row) + _ROW_SPACING_PX

    def _rows(self, width: int) -> list[list[tuple[QLayoutItem, int]]]:
        """The items of each row with their widths in pixels."""
        rows: list[list[tuple[QLayoutItem, int]]] = []
        used = 0
        for item in self._items:
            if item.isEmpty():
                continue
            px = self._wanted(item)
            if not rows or used + self.spacing() + px > width:
                rows.append([])
                used, px = -self.spacing(), min(px, max(width, self._least(item)))
            rows[-1].append((item, px))
            used += self.spacing() + px
        return [self._filled(row, width) for row in rows]

    def _filled(self, row: list[tuple[QLayoutItem, int]], width: int) -> list[tuple[QLayoutItem, int]]:
        """The row with what is left of its width given to the item that stretches."""
        rest = max(width - sum(px for _, px in row) - self.spacing() * (len(row) - 1), 0)
        return [
            (item, min(px + rest, item.maximumSize().width()))
            if item.widget() is self._stretching
            else (item, px)
            for item, px in row
        ]

    def _place(self, row: list[tuple[QLayoutItem, int]], room: QRect) -> None:
        left = room.left()
        for item, px in row:
            height = min(item.maximumSize().height(), room.height())
            item.setGeometry(QRect(left, room.top() + (room.height() - height) // 2, px, height))
            left += px + self.spacing()

    def _wanted(self, item: QLayoutItem) -> int:
        """The width of an item where there is room. A stretching one that shrinks to nothing asks for little."""
        widget, least = item.widget(), self._least(item)
        if isinstance(widget, QLabel) and widget.wordWrap():
            hint = _text_px(widget)
        elif widget is self._stretching and least < _LEAST_REST_PX:
            hint = min(item.sizeHint().width(), _LEAST_REST_PX)
        else:
            hint = item.sizeHint().width()
        return min(max(hint, least), item.maximumSize().width())

    @staticmethod
    def _least(item: QLayoutItem) -> int:
        return item.minimumSize().width()

    @staticmethod
    def _row_height(row: list[tuple[QLayoutItem, int]]) -> int:
        return max((_height(item, px) for item, px in row), default=0)


def _height(item: QLayoutItem, width_px: int) -> int:
    return item.heightForWidth(width_px) if item.hasHeightForWidth() else item.sizeHint().height()


def _text_px(label: QLabel) -> int:
    """The width of a label's text in one line; its size hint is that of a paragraph."""
    text = QTextDocumentFragment.fromHtml(label.text()).toPlainText()
    return label.fontMetrics().horizontalAdvance(text) + 8
