"""A tab bar on which a file can be dropped: it is compared with what the tab shows."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QTabBar, QWidget


class DropTabBar(QTabBar):
    """Tells on which tab a file was let go."""

    dropped = Signal(int, Path)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """One file is welcome."""
        if len(local_files(event.mimeData())) == 1:
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Over a tab."""
        if self.tabAt(event.position().toPoint()) >= 0:
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Tell where it was let go."""
        index, paths = self.tabAt(event.position().toPoint()), local_files(event.mimeData())
        if index >= 0 and paths:
            event.acceptProposedAction()
            self.dropped.emit(index, paths[0])


def local_files(data: QMimeData) -> list[Path]:
    """The files of this machine that are dragged."""
    urls = data.urls() if data.hasUrls() else []
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
