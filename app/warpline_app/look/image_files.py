"""Encodes images in memory: Qt's own writers lose the reason when a disk is full."""

from __future__ import annotations

from PySide6.QtCore import QBuffer
from PySide6.QtGui import QImage, QImageWriter


def encoded(image: QImage, suffix: str) -> bytes:
    """The content of a file of the format with that suffix; PNG without one.

    Raises OSError when the image cannot be encoded.
    """
    content = QBuffer()
    content.open(QBuffer.OpenModeFlag.WriteOnly)
    writer = QImageWriter(content, (suffix or "png").encode())
    if not writer.write(image):
        raise OSError(writer.errorString())
    return bytes(content.data().data())
