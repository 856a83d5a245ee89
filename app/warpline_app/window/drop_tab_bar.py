"""Tabs that accept drops: a file, a recent capture or another tab is compared with the tab it is dropped on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QApplication, QTabBar, QWidget

from warpline_app.look.appearance import appearance
from warpline_app.look.file_drag import file_drag, local_files
from warpline_app.look.painting import contained

_FRAME_PX = 2.0


class DropTabBar(QTabBar):
    """Drag a tab sideways to reorder it, or off the bar to drop it on another one.

    ``source_of`` returns the file that a tab shows, None for one that cannot be compared.
    """

    dropped = Signal(int, Path)
    """tab index, and the dropped file or the file of the dropped tab"""
    hovered = Signal(int, Path)
    """index of the tab under the drag"""

    def __init__(self, source_of: Callable[[int], Path | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source_of = source_of
        self._is_pressed = False
        self._target = -1
        self.setAcceptDrops(True)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideNone)

    @property
    def target(self) -> int:
        """The tab that a drag over the bar would be dropped on, −1 for none."""
        return self._target

    def minimumTabSizeHint(self, index: int) -> QSize:
        """A tab keeps its whole title; those without room are scrolled to."""
        return self.tabSizeHint(index)

    # -- dragging a tab

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a tab; may start a drag."""
        self._is_pressed = event.button() == Qt.MouseButton.LeftButton and self.tabAt(_point(event)) >= 0
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Reorder the tab, or start dragging it off the bar."""
        reach = QApplication.startDragDistance()
        beside = max(-event.position().y(), event.position().y() - self.height())
        path = self._source_of(self.currentIndex()) if self._is_pressed and beside >= reach else None
        if path is None:
            super().mouseMoveEvent(event)
            return
        self._is_pressed = False
        # The bar still holds the tab to move it sideways, and does not see a button release during a drag.
        released = QMouseEvent(
            QEvent.Type.MouseButtonRelease,
            event.position(),
            event.globalPosition(),
            Qt.MouseButton.LeftButton,
            Qt.MouseButton.NoButton,
            event.modifiers(),
        )
        super().mouseReleaseEvent(released)
        drag = file_drag(path, self, self.grab(self.tabRect(self.currentIndex())))
        drag.exec(Qt.DropAction.CopyAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the move."""
        self._is_pressed = False
        super().mouseReleaseEvent(event)

    # -- drops

    def _tab_for(self, data: QMimeData, position: QPoint) -> int:
        """The tab at a point if it accepts the dragged data, else −1."""
        paths, index = local_files(data), self.tabAt(position)
        source = self._source_of(index) if index >= 0 else None
        return index if len(paths) == 1 and source is not None and paths[0] != source else -1

    def _aim(self, index: int) -> None:
        if index != self._target:
            self._target = index
            self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept a single file."""
        if len(local_files(event.mimeData())) == 1:
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Accept and frame a tab that shows another capture."""
        index, before = self._tab_for(event.mimeData(), event.position().toPoint()), self._target
        self._aim(index)
        if index < 0:
            event.ignore()
            return
        event.acceptProposedAction()
        if index != before:
            self.hovered.emit(index, local_files(event.mimeData())[0])

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Remove the frame."""
        self._aim(-1)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Emit ``dropped``."""
        index = self._tab_for(event.mimeData(), event.position().toPoint())
        self._aim(-1)
        if index >= 0:
            event.acceptProposedAction()
            self.dropped.emit(index, local_files(event.mimeData())[0])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the tabs, and a frame around the drop target."""
        super().paintEvent(event)
        if self._target >= 0:
            self._frame_target(event)

    @contained
    def _frame_target(self, painter: QPainter, _event: QPaintEvent) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(appearance().theme.color("selection"), _FRAME_PX))
        inset = _FRAME_PX / 2 + 1
        painter.drawRoundedRect(
            QRectF(self.tabRect(self._target)).adjusted(inset, inset, -inset, -inset), 4, 4
        )


def _point(event: QMouseEvent) -> QPoint:
    return event.position().toPoint()
