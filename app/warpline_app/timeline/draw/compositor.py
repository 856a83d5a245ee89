"""Composes lines of codes, curves and counters into the pixels of a frame. Device pixels, numpy only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QImage, QPainter

from warpline.compiled import address
from warpline_app.timeline.draw import codes, compiled
from warpline_app.timeline.draw.codes import ColorTable

if TYPE_CHECKING:
    from warpline_app.timeline.draw.frame_plan import Bar

UInt16Array = npt.NDArray[np.uint16]
UInt32Array = npt.NDArray[np.uint32]
Float64Array = npt.NDArray[np.float64]


SLACK_PX = 1 << 14
"""Spare pixels before and behind the picture in memory: it pans this far without being moved."""
_PLAIN = frozenset((QImage.Format.Format_RGB32, QImage.Format.Format_ARGB32_Premultiplied))
"""Image formats in which an opaque pixel is 0xffrrggbb."""


class Place(NamedTuple):
    """A picture in memory: pixels, index of the first one, and row stride."""

    memory: UInt32Array
    origin: int
    stride: int


class Frame:
    """The pixels of a frame: ``pixels`` uint32 0xffrrggbb of shape (height, width), and a QImage on the same memory.

    Drawing is limited to the columns ``first`` to ``stop`` (see `limit`), so that a pan draws only new columns. The
    memory is the frame's own, or at a ``place`` owned by a painter (see `below`), where it does not pan.
    """

    def __init__(self, width: int, height: int, ratio: float, place: Place | None = None) -> None:
        self.width, self.height, self.ratio = max(1, width), max(1, height), ratio
        self.first, self.stop = 0, self.width
        self.is_own = place is None
        if place is None:
            memory = np.zeros(self.width * self.height + 2 * SLACK_PX, np.uint32)
            place = Place(memory, SLACK_PX, self.width)
        self._memory, self._origin, self._stride = place
        self._scratch = np.empty((2, self.width), np.uint32)
        self.pixels, self.image = self._placed(1.0)

    @classmethod
    def below(cls, painter: QPainter, width: int, height: int, ratio: float) -> Frame | None:
        """A frame on the pixels that a painter paints on, from its origin; None if they are not accessible.

        Drawing there avoids a copy, which would cost as much as drawing. The frame is valid only as long as the
        painter.
        """
        image, at = painter.paintEngine().paintDevice(), painter.deviceTransform()
        if not isinstance(image, QImage) or image.format() not in _PLAIN:
            return None
        left, top, stride = round(at.dx()), round(at.dy()), image.bytesPerLine() // 4
        is_whole = (at.dx(), at.dy(), at.m11(), at.m22()) == (left, top, ratio, ratio) and not at.isRotating()
        if (
            not is_whole
            or min(left, top) < 0
            or left + width > image.width()
            or top + height > image.height()
        ):
            return None
        return cls(
            width, height, ratio, Place(np.frombuffer(image.bits(), np.uint32), top * stride + left, stride)
        )

    def _placed(self, image_ratio: float) -> tuple[UInt32Array, QImage]:
        """The pixels and their image at the current place in memory."""
        row = 4 * self._stride
        pixels: UInt32Array = np.ndarray(
            (self.height, self.width), np.uint32, self._memory, 4 * self._origin, (row, 4)
        )
        buffer: Any = self._memory[self._origin :].data
        image = QImage(buffer, self.width, self.height, row, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(image_ratio)
        return pixels, image

    def limit(self, first: int, stop: int) -> None:
        """Restrict drawing to these columns."""
        self.first, self.stop = first, stop

    def shift(self, pixels: int) -> None:
        """Move everything ``pixels`` columns to the left (negative: right) and limit drawing to the gap.

        Only the picture's start in memory moves: rows run into each other exactly in the columns to be redrawn. At the
        end of the memory the picture is copied back to the middle.
        """
        origin = self._origin + pixels
        if not 0 <= origin <= 2 * SLACK_PX:
            size = self.width * self.height
            first, stop = max(0, -pixels), size - max(0, pixels)
            kept = self._memory[origin + first : origin + stop].copy()
            self._memory[SLACK_PX + first : SLACK_PX + stop] = kept
            origin = SLACK_PX
        self._origin = origin
        self.pixels, self.image = self._placed(self.image.devicePixelRatio())
        if pixels > 0:
            self.limit(self.width - pixels, self.width)
        else:
            self.limit(0, -pixels)

    def fill(self, top: int, bottom: int, rgb: int) -> None:
        """Fill rows with a colour."""
        self.pixels[max(0, top) : max(0, bottom), self.first : self.stop] = rgb

    def bands(self, bands: npt.NDArray[Any], grid: npt.NDArray[np.int64], grid_rgb: int) -> None:
        """Bands of one colour (`compiled.BAND`) with vertical grid lines at the columns ``grid``."""
        lib = compiled.library()
        if lib is not None:
            lib.warpline_bands(
                self._described(), address(bands), len(bands), address(grid), len(grid), grid_rgb
            )
            return
        columns = grid[(grid >= self.first) & (grid < self.stop)]
        for first, last, rgb in bands.tolist():
            self.fill(first, last, rgb)
            self.pixels[max(0, first) : max(0, last), columns] = grid_rgb

    def bars(self, bars: Bars, lines: UInt16Array, empty: UInt16Array) -> None:
        """Draw lines of codes as bars; ``empty`` replaces code 0 in each column: background, grid or pause."""
        lib = compiled.library()
        if lib is None or lines.strides[1] != 2 or lines.strides[0] % 2:
            self._bars_with_numpy(bars, lines, empty)
        elif len(bars.described):
            lib.warpline_bars(
                self._described(), address(bars.described), len(bars.described), address(lines),
                lines.strides[0] // 2, address(empty), address(self._scratch[0]), address(self._scratch[1]),
            )  # fmt: skip

    def _described(self) -> Any:
        return ctypes.byref(
            compiled.CFrame(address(self.pixels), self._stride, self.height, self.first, self.stop)
        )

    def _bars_with_numpy(self, bars: Bars, lines: UInt16Array, empty: UInt16Array) -> None:
        for index, (top, height, clip_top) in enumerate(bars.described[["top", "height", "clip"]].tolist()):
            first, last = max(0, clip_top - top, -top), min(height, self.height - top)
            if first >= last:
                continue
            line = lines[index, self.first : self.stop]
            line = np.where(line == codes.EMPTY, empty[self.first : self.stop], line)
            rows = slice(top + first, top + last)
            np.take(
                bars.tables[index][first:last],
                line,
                axis=1,
                out=self.pixels[rows, self.first : self.stop],
                mode="clip",
            )

    def area(
        self,
        values: Float64Array,
        top: int,
        height: int,
        fill: int | None,
        outline: int | None,
        clip_top: int,
        *,
        step: int = 1,
    ) -> None:
        """A curve filled from the bottom, outlined on top, or both.

        ``values`` 0–1, one per drawn column and one for the column before; NaN or infinite: none.
        """
        lib = compiled.library()
        if lib is None:
            self._area_with_numpy(values, top, height, fill, outline, clip_top, step)
            return
        values = np.ascontiguousarray(values, np.float64)
        area = compiled.Area(
            address(values), top, height, clip_top, step,
            -1 if fill is None else fill, -1 if outline is None else outline,
        )  # fmt: skip
        lib.warpline_area(self._described(), ctypes.byref(area))

    def _area_with_numpy(
        self,
        values: Float64Array,
        top: int,
        height: int,
        fill: int | None,
        outline: int | None,
        clip_top: int,
        step: int,
    ) -> None:
        first, last = max(0, clip_top - top, -top), min(height, self.height - top)
        if first >= last or height <= step:
            return
        known = np.isfinite(values)
        level = np.where(known, np.clip(values, 0, 1) * (height - step), 0.0)
        tips = (height - step - np.round(level)).astype(np.int64)
        tip, here = tips[1:], known[1:]
        before = np.where(known[:-1], tips[:-1], tip)
        rows = np.arange(first, last)[:, None]
        part = self.pixels[top + first : top + last, self.first : self.stop]
        if fill is not None:
            np.copyto(part, np.uint32(fill), where=here & (rows >= tip))
        if outline is not None:
            # Join the tip of each column with its neighbour's, so that a steep flank has no holes.
            inside = (rows >= np.minimum(tip, before)) & (rows < np.maximum(tip, before) + step)
            np.copyto(part, np.uint32(outline), where=here & inside)


@dataclass(frozen=True)
class Bars:
    """The bars of a frame's lines (`compiled.BAR`), the looks they refer to, and numpy's tables."""

    described: npt.NDArray[Any]
    looks: tuple[UInt32Array, ...]
    tables: tuple[UInt32Array, ...]


def make_bars(table: ColorTable, bars: Sequence[Bar]) -> Bars:
    """Bars with their tables, valid for this version of the colour table."""
    tables = tuple(table.table(bar.height, bar.background) for bar in bars)
    looks = tuple(table.looks(bar.height, bar.background) for bar in bars)
    described = np.zeros(len(bars), compiled.BAR)
    for index, (bar, columns) in enumerate(zip(bars, looks, strict=True)):
        described[index] = (bar.top, bar.height, bar.clip, address(columns), *columns.shape)
    return Bars(described, looks, tables)


def empty_codes(
    width: int, grid: npt.NDArray[np.int64], paused: npt.NDArray[np.int64], phase: int
) -> UInt16Array:
    """Codes for the empty columns of a line: the texture of pauses, else the grid.

    ``phase`` (see `codes.PHASES`) keeps the texture in place when the view pans.
    """
    result = np.zeros(width, np.uint16)
    result[grid] = codes.GRID
    result[paused[(paused + phase) % codes.PAUSE_PHASES == 0]] = codes.PAUSE
    return result
