"""Tabs that can be let go on each other: a file, a recent capture or another tab is compared with what a tab shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRectF, Qt, Signal
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
    """Sideways a tab is moved among the others, as in any bar; pulled off it can be let go on one of them.

    ``source_of`` tells the file that a tab shows, None for one that cannot be compared.
    """

    dropped = Signal(int, Path)
    """on which tab a file, or what another tab shows, was let go"""
    hovered = Signal(int, Path)
    """over which tab it is held"""

    def __init__(self, source_of: Callable[[int], Path | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source_of = source_of
        self._is_pressed = False
        self._target = -1
        self.setAcceptDrops(True)

    @property
    def target(self) -> int:
        """The tab that what is held over the bar would be let go on, −1 for none."""
        return self._target

    # -- pulling a tab off

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a tab, which may be the beginning of a drag."""
        self._is_pressed = event.button() == Qt.MouseButton.LeftButton and self.tabAt(_point(event)) >= 0
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the tab among the others, or pull it off."""
        reach = QApplication.startDragDistance()
        beside = max(-event.position().y(), event.position().y() - self.height())
        path = self._source_of(self.currentIndex()) if self._is_pressed and beside >= reach else None
        if path is None:
            super().mouseMoveEvent(event)
            return
        self._is_pressed = False
        # The bar still holds the tab to move it sideways, and nobody tells it of a button released while dragging.
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
        """The tab stays where it is."""
        self._is_pressed = False
        super().mouseReleaseEvent(event)

    # -- letting something go

    def _tab_for(self, data: QMimeData, at: QPoint) -> int:
        """The tab under a point if it can take what is dragged, else −1."""
        paths, index = local_files(data), self.tabAt(at)
        source = self._source_of(index) if index >= 0 else None
        return index if len(paths) == 1 and source is not None and paths[0] != source else -1

    def _aim(self, index: int) -> None:
        if index != self._target:
            self._target = index
            self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """One file is welcome."""
        if len(local_files(event.mimeData())) == 1:
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Over a tab that shows another capture, which is framed."""
        index, before = self._tab_for(event.mimeData(), event.position().toPoint()), self._target
        self._aim(index)
        if index < 0:
            event.ignore()
            return
        event.acceptProposedAction()
        if index != before:
            self.hovered.emit(index, local_files(event.mimeData())[0])

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """It is held elsewhere."""
        self._aim(-1)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Tell where it was let go."""
        index = self._tab_for(event.mimeData(), event.position().toPoint())
        self._aim(-1)
        if index >= 0:
            event.acceptProposedAction()
            self.dropped.emit(index, local_files(event.mimeData())[0])

    def paintEvent(self, event: QPaintEvent) -> None:
        """The tabs, and a frame around the one that would be compared."""
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
