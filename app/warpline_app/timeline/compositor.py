"""From lines of codes, curves and counters to the pixels of a frame. Device pixels, numpy only."""

from __future__ import annotations

import ctypes
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
    """The pixels of a frame: ``pixels`` uint32 0xffrrggbb of shape (height, width), and a QImage on the same memory.

    Drawing is limited to the columns ``first`` to ``stop`` (see `limit`), so that a pan draws only what came into view.
    """

    def __init__(self, width: int, height: int, ratio: float) -> None:
        self.pixels: UInt32Array = np.zeros((max(1, height), max(1, width)), np.uint32)
        self.width, self.height, self.ratio = max(1, width), max(1, height), ratio
        self.first, self.stop = 0, self.width
        buffer: Any = self.pixels.data
        self.image = QImage(buffer, self.width, self.height, 4 * self.width, QImage.Format.Format_RGB32)

    def limit(self, first: int, stop: int) -> None:
        """Draw only on these columns from now on."""
        self.first, self.stop = first, stop

    def shift(self, pixels: int) -> None:
        """Moves everything ``pixels`` columns to the left (negative: right) and limits drawing to the gap.

        One move of the whole memory: rows run into each other just in the columns that are drawn anew.
        """
        address, size = self.pixels.ctypes.data, self.pixels.nbytes
        by = 4 * abs(pixels)
        if pixels > 0:
            ctypes.memmove(address, address + by, size - by)
            self.limit(self.width - pixels, self.width)
        else:
            ctypes.memmove(address + by, address, size - by)
            self.limit(0, -pixels)

    def fill(self, top: int, bottom: int, rgb: int) -> None:
        """One colour."""
        self.pixels[max(0, top) : max(0, bottom), self.first : self.stop] = rgb

    def columns(self, x: npt.NDArray[np.int64], rgb: int) -> None:
        """Vertical lines of one colour (the grid) from top to bottom."""
        for column in x.tolist():
            if self.first <= column < self.stop:
                self.pixels[:, column] = rgb

    def line(
        self, table: ColorTable, line: UInt16Array, top: int, height: int, background: int, clip_top: int
    ) -> None:
        """A line of codes as a bar of ``height`` pixels; what lies above ``clip_top`` is left out."""
        lookup = table.table(height, background)
        first = max(0, clip_top - top)
        last = min(height, self.height - top)
        if first >= last:
            return
        rows = slice(top + first, top + last)
        if self.stop - self.first == self.width:
            np.take(lookup[first:last], line, axis=1, out=self.pixels[rows], mode="clip")
        else:
            part = line[self.first : self.stop]
            self.pixels[rows, self.first : self.stop] = np.take(lookup[first:last], part, axis=1, mode="clip")

    def area(
        self,
        values: Float64Array,
        top: int,
        height: int,
        fill: int,
        outline: int | None,
        clip_top: int,
        *,
        step: int = 1,
    ) -> None:
        """A filled curve rising from the bottom, with an outline on top.

        ``values`` 0–1, one for each column that is drawn and one for the column before; NaN: none.
        """
        first, last = max(0, clip_top - top), min(height, self.height - top)
        if first >= last or height <= step:
            return
        known = np.isfinite(values)
        level = np.where(known, np.clip(values, 0, 1) * (height - step), 0.0)
        tips = (height - step - np.round(level)).astype(np.int64)
        tip, here = tips[1:], known[1:]
        # What is above the tip keeps its background: a stencil per height, taken by column.
        stencil = np.arange(height)[:, None] >= np.arange(height + 1)[None, :]
        inside = np.take(stencil[first:last], np.where(here, tip, height), axis=1)
        rows = slice(top + first, top + last)
        np.copyto(self.pixels[rows, self.first : self.stop], np.uint32(fill), where=inside)
        if outline is not None:
            self._outline(tips, known, top, first, last, outline, step)

    def trace(
        self, values: Float64Array, top: int, height: int, rgb: int, clip_top: int, *, step: int = 1
    ) -> None:
        """Only the outline of an `area`."""
        first, last = max(0, clip_top - top), min(height, self.height - top)
        if first >= last or height <= step:
            return
        known = np.isfinite(values)
        level = np.where(known, np.clip(values, 0, 1) * (height - step), 0.0)
        tips = (height - step - np.round(level)).astype(np.int64)
        self._outline(tips, known, top, first, last, rgb, step)

    def _outline(
        self,
        tips: npt.NDArray[np.int64],
        known: npt.NDArray[np.bool_],
        top: int,
        first: int,
        last: int,
        rgb: int,
        step: int,
    ) -> None:
        """The tip of each column, joined with its neighbour's, so that a steep flank has no holes."""
        tip, here = tips[1:], known[1:]
        before = np.where(known[:-1], tips[:-1], tip)
        low = np.clip(np.minimum(tip, before), first, last)
        high = np.clip(np.maximum(tip, before) + step, first, last)
        n = np.where(here, high - low, 0)
        x = np.repeat(np.arange(len(tip)), n) + self.first
        y = np.repeat(low - (np.cumsum(n) - n), n) + np.arange(int(n.sum()))
        self.pixels[top + y, x] = rgb


def grid_codes(
    line: UInt16Array, columns: npt.NDArray[np.int64], paused: npt.NDArray[np.int64]
) -> UInt16Array:
    """A line with the grid and the texture of pauses where it is empty; a copy when there is any."""
    if not len(paused) and not len(columns):
        return line
    result = line.copy()
    if len(paused):
        empty = paused[result[paused] == codes.EMPTY]
        result[empty] = np.where(empty % 3 == 0, codes.PAUSE, codes.EMPTY)
    if len(columns):
        empty = columns[result[columns] == codes.EMPTY]
        result[empty] = codes.GRID
    return result
