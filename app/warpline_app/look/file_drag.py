"""Dragging files from other programs, tabs and lists."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QUrl
from PySide6.QtGui import QDrag, QPixmap
from PySide6.QtWidgets import QWidget


def local_files(data: QMimeData) -> list[Path]:
    """The dragged files that are on this machine."""
    urls = data.urls() if data.hasUrls() else []
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]


def file_drag(path: Path, source: QWidget, picture: QPixmap) -> QDrag:
    """A drag of a file with a picture at the pointer, as file managers make it; `QDrag.exec` starts it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    drag = QDrag(source)
    drag.setMimeData(data)
    drag.setPixmap(picture)
    drag.setHotSpot(QPoint(round(picture.deviceIndependentSize().width()) // 2, -8))
    return drag
