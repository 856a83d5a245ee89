"""A frame as rectangles instead of an image, for SVG: the same picture, sharp at every size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPaintEngine, QPainter

from warpline_app.timeline.draw.compositor import Frame

MAX_SHAPES = 150_000
"""Above this, an image is used: an SVG would exceed 7 MB, too much for most viewers."""

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rectangles:
    """Single-coloured rectangles that together cover a picture, as columns of equal length, ordered by colour.

    ``x``, ``y``, ``width``, ``height`` in pixels, ``rgb`` as 0xrrggbb.
    """

    x: Int64Array
    y: Int64Array
    width: Int64Array
    height: Int64Array
    rgb: Int64Array

    def __len__(self) -> int:
        return len(self.x)


def rectangles_of(pixels: npt.NDArray[np.uint32]) -> Rectangles:
    """The rectangles of a picture of shape (height, width): equal neighbours in a row, equal runs below each other.

    At most one per pixel; a frame of lanes has a few for each event that is seen.
    """
    height, width = pixels.shape
    if not pixels.size:
        return Rectangles(*(np.empty(0, np.int64) for _ in range(5)))
    begins = np.ones((height, width), bool)
    begins[:, 1:] = pixels[:, 1:] != pixels[:, :-1]
    flat = np.flatnonzero(begins)
    length = np.diff(np.append(flat, height * width))
    rgb = (pixels.reshape(-1)[flat] & 0xFFFFFF).astype(np.int64)
    y, x = flat // width, flat % width
    order = np.lexsort((y, length, x, rgb))
    x, y, length, rgb = x[order], y[order], length[order], rgb[order]
    first = np.ones(len(x), bool)
    first[1:] = (
        (x[1:] != x[:-1]) | (length[1:] != length[:-1]) | (rgb[1:] != rgb[:-1]) | (y[1:] != y[:-1] + 1)
    )
    heads = np.flatnonzero(first)
    return Rectangles(x[heads], y[heads], length[heads], np.diff(np.append(heads, len(x))), rgb[heads])


def is_drawing(painter: QPainter) -> bool:
    """Whether a painter writes shapes and texts instead of pixels."""
    engine = painter.paintEngine()
    return engine is not None and engine.type() == QPaintEngine.Type.SVG


def paint_frame(painter: QPainter, frame: Frame) -> None:
    """Draw a frame at the origin: as rectangles for vector graphics if there are not too many, else as an image."""
    shapes = rectangles_of(frame.pixels) if is_drawing(painter) else None
    if shapes is None or len(shapes) > MAX_SHAPES:
        painter.drawImage(0, 0, frame.image)
        return
    painter.save()
    painter.scale(1 / frame.ratio, 1 / frame.ratio)
    painter.setPen(Qt.PenStyle.NoPen)
    borders = np.flatnonzero(np.diff(shapes.rgb)) + 1
    columns = (shapes.x.tolist(), shapes.y.tolist(), shapes.width.tolist(), shapes.height.tolist())
    for part in np.split(np.arange(len(shapes)), borders):
        first, stop = int(part[0]), int(part[-1]) + 1
        painter.setBrush(QColor.fromRgb(int(shapes.rgb[first])))
        painter.drawRects([QRect(*box) for box in zip(*(c[first:stop] for c in columns), strict=True)])
    painter.restore()
