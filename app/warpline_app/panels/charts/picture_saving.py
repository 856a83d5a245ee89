"""Saves charts: SVG if the name ends in .svg, else PNG at twice the size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QBuffer, QRect
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from warpline.i18n import tr
from warpline.interchange.export.output_files import replacing
from warpline_app.look.image_files import encoded
from warpline_app.look.widgets import ask_for_file
from warpline_app.open.messages import MessageTarget
from warpline_app.open.written_files import show_written

_PNG_SCALE = 2


def ask_and_save(owner: QWidget, name: str, save: Callable[[Path], None], messages: MessageTarget) -> None:
    """Ask for a file (proposing ``name`` without extension), save a chart and report the result."""
    filters = ["PNG (*.png)", "SVG (*.svg)"]
    ask_for_file(
        owner, tr("Save chart"), filters, f"{name}.png", lambda path: _save_and_tell(path, save, messages)
    )


def _save_and_tell(path: Path, save: Callable[[Path], None], messages: MessageTarget) -> None:
    try:
        save(path)
    except OSError as error:
        messages.show(tr("The chart could not be saved: {error}", error=error))
    else:
        show_written(messages, path)


def save_picture(path: Path, area: QRect, ground: QColor, draw: Callable[[QPainter], None]) -> None:
    """Draw a picture of the size of ``area`` and write it: SVG if the name ends in .svg, else PNG.

    The file appears when complete. Raises OSError if it cannot be written.
    """
    with replacing(path) as part:
        _draw_into(part, path, area, ground, draw)


def _draw_into(part: Path, path: Path, area: QRect, ground: QColor, draw: Callable[[QPainter], None]) -> None:
    is_svg = path.suffix.lower() == ".svg"
    drawn = QBuffer()
    picture = QPixmap(area.size() * _PNG_SCALE)
    generator = QSvgGenerator()
    if is_svg:
        generator.setOutputDevice(drawn)
        generator.setSize(area.size())
        generator.setViewBox(area)
    else:
        picture.setDevicePixelRatio(_PNG_SCALE)
    painter = QPainter(generator if is_svg else picture)
    painter.fillRect(area, ground)
    draw(painter)
    painter.end()
    part.write_bytes(drawn.data().data() if is_svg else encoded(picture.toImage(), path.suffix.lstrip(".")))
