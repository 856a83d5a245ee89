"""`Strip`: what to draw of some lanes on a line of pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Strip:
    """What to draw of ``lanes`` in [start_ns, stop_ns) on ``width_px`` columns of pixels.

    Rectangles are the events of at least one pixel, exact and not clipped, ordered by lane (the position in
    ``lanes``) and start: ``rect_lane``, ``rect_row``, ``rect_start``, ``rect_stop`` (int64 ns, capture
    time), ``rect_kind``, ``rect_flags``.

    Shorter events are summed up per lane and pixel, arrays of shape (lanes, width): ``busy`` float32, the
    fraction of the pixel's time they are busy, counted in the pixel in which they start (at most one pixel
    off); ``mark_row`` int64, the row of a longest one or −1 where there is none, with its ``mark_kind`` and
    ``mark_flags``.
    """

    lanes: Int64Array
    start_ns: int
    stop_ns: int
    width_px: int
    rect_lane: Int64Array
    rect_row: Int64Array
    rect_start: Int64Array
    rect_stop: Int64Array
    rect_kind: UInt8Array
    rect_flags: UInt8Array
    busy: npt.NDArray[np.float32]
    mark_row: Int64Array
    mark_kind: UInt8Array
    mark_flags: UInt8Array
    touched: int
    """Number of pyramid entries or events that were read: the measure of cost."""


def rect_ns(start_ns: int, stop_ns: int, width_px: int) -> int:
    """The shortest duration of a rectangle."""
    return math.ceil((stop_ns - start_ns) / width_px)
