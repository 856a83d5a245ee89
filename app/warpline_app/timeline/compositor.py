"""From lines of codes, curves and counters to the pixels of a frame. Device pixels, numpy only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QImage

from . import codes
from .codes import ColorTable

UInt16Array = npt.NDArray[np.uint16]
UInt32Array = npt.NDArray[np.uint32]
Float64Array = npt.NDArray[np.float64]


class Frame:
    """The pixels of a frame: ``pixels`` uint32 0xffrrggbb of shape (height, width), and a QImage on the same memory."""

    def __init__(self, width: int, height: int, ratio: float) -> None:
        self.pixels: UInt32Array = np.zeros((max(1, height), max(1, width)), np.uint32)
        self.width, self.height, self.ratio = width, height, ratio
        buffer: Any = self.pixels.data
        self.image = QImage(
            buffer, max(1, width), max(1, height), 4 * max(1, width), QImage.Format.Format_RGB32
        )

    def fill(self, top: int, bottom: int, rgb: int) -> None:
        """One colour over the whole width."""
        self.pixels[max(0, top) : max(0, bottom)] = rgb

    def columns(self, x: npt.NDArray[np.int64], top: int, bottom: int, rgb: int) -> None:
        """Vertical lines of one colour (the grid)."""
        self.pixels[max(0, top) : max(0, bottom), x] = rgb

    def line(
        self, table: ColorTable, line: UInt16Array, top: int, height: int, background: int, clip_top: int
    ) -> None:
        """A line of codes as a bar of ``height`` pixels; what lies above ``clip_top`` is left out."""
        lookup = table.table(height, background)
        first = max(0, clip_top - top)
        last = min(height, self.height - top)
        if first >= last:
            return
        np.take(lookup[first:last], line, axis=1, out=self.pixels[top + first : top + last], mode="clip")

    def area(
        self,
        values: Float64Array,
        top: int,
        height: int,
        fill: int,
        outline: int,
        clip_top: int,
        *,
        step: int = 1,
    ) -> None:
        """A filled curve rising from the bottom: ``values`` 0–1 per column (NaN: none), with an outline on top."""
        first, last = max(0, clip_top - top), min(height, self.height - top)
        if first >= last:
            return
        known = np.isfinite(values)
        level = np.where(known, np.clip(values, 0, 1) * (height - step), 0.0)
        tip = (height - step - np.round(level)).astype(np.int64)
        # What is above the tip keeps its background: a stencil per height, taken by column.
        stencil = np.arange(height)[:, None] >= np.arange(height + 1)[None, :]
        inside = np.take(stencil[first:last], np.where(known, tip, height), axis=1)
        np.copyto(self.pixels[top + first : top + last], np.uint32(fill), where=inside)
        # The outline joins neighbours, so that a steep flank has no holes.
        before = np.r_[tip[:1], tip[:-1]]
        before = np.where(np.r_[known[:1], known[:-1]], before, tip)
        low, high = np.minimum(tip, before), np.maximum(tip, before) + step
        low, high = np.clip(low, first, last), np.clip(high, first, last)
        n = np.where(known, high - low, 0)
        x = np.repeat(np.arange(len(values)), n)
        y = np.repeat(low - (np.cumsum(n) - n), n) + np.arange(int(n.sum()))
        self.pixels[top + y, x] = outline


def grid_codes(
    line: UInt16Array, columns: npt.NDArray[np.int64], paused: npt.NDArray[np.int64]
) -> UInt16Array:
    """A line with the grid and the texture of pauses where it is empty; a copy."""
    result = line.copy()
    if len(paused):
        empty = paused[result[paused] == codes.EMPTY]
        result[empty] = np.where(empty % 3 == 0, codes.PAUSE, codes.EMPTY)
    if len(columns):
        empty = columns[result[columns] == codes.EMPTY]
        result[empty] = codes.GRID
    return result
