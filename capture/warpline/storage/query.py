"""What to draw of many lanes at once, from the level-of-detail pyramid. Costs pixels, not events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY

from .lod import pack_longest, unpack_duration, unpack_flags, unpack_kind
from .pyramid import RAW
from .schema import MAX_PACKED_DURATION

if TYPE_CHECKING:
    from .capture import Capture

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Strip:
    """What to draw of ``lanes`` in [start_ns, stop_ns) on ``width_px`` columns of pixels.

    Rectangles are the events of at least one pixel, exact and not clipped, ordered by lane (the position in
    ``lanes``) and start: ``rect_lane``, ``rect_row``, ``rect_start``, ``rect_stop`` (int64 ns, capture time), ``rect_kind``,
    ``rect_flags``.

    Shorter events are summed up per lane and pixel, arrays of shape (lanes, width): ``busy`` float32, the fraction of the
    pixel's time they are busy, counted in the pixel in which they start (at most one pixel off); ``mark_row`` int64, the row of a
    longest one or −1 where there is none, with its ``mark_kind`` and ``mark_flags``.
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
    """Entries of the pyramid or events that were read, the measure of cost."""


@dataclass
class _Entries:
    """Entries of all lanes behind each other: starts relative to the view, and what they stand for."""

    lane: Int64Array
    start: Int64Array
    longest: npt.NDArray[np.uint64]
    rest: Int64Array
    row: Int64Array


def query_strip(capture: Capture, lanes: Int64Array, start_ns: int, stop_ns: int, width_px: int) -> Strip:
    """Answers `Capture.query`. Raises ValueError for an empty view."""
    if stop_ns <= start_ns or width_px <= 0:
        raise ValueError(f"nothing to draw: [{start_ns}, {stop_ns}) on {width_px} px")
    pixel_ns = (stop_ns - start_ns) / width_px
    entries = _collect(capture, lanes, start_ns, stop_ns, pixel_ns)
    duration = unpack_duration(entries.longest)
    for index in np.flatnonzero(duration == MAX_PACKED_DURATION).tolist():
        duration[index] = capture.events.duration[entries.row[index]]
    kind, flags = unpack_kind(entries.longest), unpack_flags(entries.longest)
    is_rect = duration >= pixel_ns
    rect = np.flatnonzero(is_rect)
    rect_start = entries.start[rect] + start_ns
    column = np.clip(entries.start / pixel_ns, 0, width_px - 1).astype(np.int64)
    shape = (len(lanes), width_px)
    key = entries.lane * width_px + column
    counts = np.where(is_rect | ((flags & int(NOT_BUSY)) != 0), 0, duration) + entries.rest
    busy = np.bincount(key, counts, minlength=len(lanes) * width_px) / pixel_ns
    marked = np.flatnonzero(~is_rect)
    mark_row, mark_kind, mark_flags = _marks(entries, duration, kind, flags, marked, key, shape)
    return Strip(
        lanes,
        start_ns,
        stop_ns,
        width_px,
        entries.lane[rect],
        entries.row[rect],
        rect_start,
        rect_start + duration[rect],
        kind[rect],
        flags[rect],
        np.minimum(busy, 1).astype(np.float32).reshape(shape),
        mark_row,
        mark_kind,
        mark_flags,
        len(entries.lane),
    )


def _marks(
    entries: _Entries,
    duration: Int64Array,
    kind: UInt8Array,
    flags: UInt8Array,
    marked: Int64Array,
    key: Int64Array,
    shape: tuple[int, int],
) -> tuple[Int64Array, UInt8Array, UInt8Array]:
    """The longest of the shorter events of each pixel."""
    row = np.full(shape[0] * shape[1], -1, np.int64)
    kinds = np.zeros(shape[0] * shape[1], np.uint8)
    bits = np.zeros(shape[0] * shape[1], np.uint8)
    if len(marked):
        keys = key[marked]
        group = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        length = np.minimum(duration[marked], (1 << 31) - 1)
        winner = np.maximum.reduceat((length << 32) | np.arange(len(marked)), group) & 0xFFFFFFFF
        chosen = marked[winner]
        row[key[chosen]] = entries.row[chosen]
        kinds[key[chosen]] = kind[chosen]
        bits[key[chosen]] = flags[chosen]
    return row.reshape(shape), kinds.reshape(shape), bits.reshape(shape)


def _collect(capture: Capture, lanes: Int64Array, start_ns: int, stop_ns: int, pixel_ns: float) -> _Entries:
    """The entries of the coarsest fine enough level of each lane, with what reaches in from the left."""
    pyramid, events = capture.pyramid, capture.events
    runs: list[tuple[int, int, int, int]] = []
    for lane in lanes.tolist():
        offset = int(capture.lane_offset_ns[lane])
        index = pyramid.coarsest_within(lane, pixel_ns)
        low = pyramid.block(lane, index, start_ns + offset)[0]
        high = pyramid.block(lane, index, stop_ns + offset)[1]
        runs.append((lane, index, max(0, low - 1), high))
    pyramid.prefetch(runs)
    starts: list[Array] = []
    longest: list[Array] = []
    rests: list[Array] = []
    rows: list[Array] = []
    counts: list[int] = []
    for lane, index, _, _ in runs:
        offset = int(capture.lane_offset_ns[lane])
        origin = start_ns + offset
        column, base, count = pyramid.run(lane, index)
        low = pyramid.search(lane, index, origin)
        high = pyramid.search(lane, index, stop_ns + offset)
        # The entry before may stand for an event that reaches into the view, and so may the bin the view begins in;
        # the entry after may stand for shorter events of the bin the view ends in.
        low = max(0, low - 1)
        if index == RAW:
            part = slice(base + low, base + high)
            starts.append(column[part] - origin)
            longest.append(pack_longest(events.duration[part], events.flags[part], events.kind[part]))
            rests.append(np.zeros(high - low, np.int64))
            rows.append(np.arange(part.start, part.stop))
        else:
            level = pyramid.level[index]
            if high < count and int(column[base + high]) >> level << level < stop_ns + offset:
                high += 1
            part = slice(base + low, base + high)
            begin, packed = column[part] - origin, pyramid.longest[part].copy()
            rest = pyramid.rest[part].astype(np.int64)
            _settle_edges(begin, packed, rest, origin, level, stop_ns - start_ns)
            starts.append(begin)
            longest.append(packed)
            rests.append(rest)
            rows.append(pyramid.row[part].astype(np.int64) + int(capture.lanes.first[lane]))
        counts.append(len(starts[-1]))
    entries = _Entries(
        np.repeat(np.arange(len(counts)), counts),
        _joined(starts, np.int64),
        _joined(longest, np.uint64),
        _joined(rests, np.int64),
        _joined(rows, np.int64),
    )
    reaches_in = (entries.start >= 0) | (entries.start + unpack_duration(entries.longest) > 0)
    if reaches_in.all():
        return entries
    return _Entries(
        *(getattr(entries, name)[reaches_in] for name in ("lane", "start", "longest", "rest", "row"))
    )


def _settle_edges(
    begin: Int64Array,
    longest: npt.NDArray[np.uint64],
    rest: Int64Array,
    origin: int,
    level: int,
    view_ns: int,
) -> None:
    """Makes the first and the last entry stand for what lies inside the view, in place; starts are relative to it.

    The first entry may have begun before the view. It stays when its longest event reaches in; otherwise a shorter event of its
    bin may, being shorter than the bin: then the entry becomes a mark without duration in the first column, at
    most two pixels off. The last entry may begin behind the view, in a bin that begins inside it: likewise.
    """
    if len(begin) and begin[0] < 0:
        duration = int(longest[0]) >> 16
        first_bin = (int(begin[0]) + origin) >> level
        if first_bin != origin >> level:
            rest[0] = 0
        if begin[0] + duration <= 0 and ((first_bin + 1) << level) + min(duration, 1 << level) > origin:
            begin[0] = 0
            longest[0] &= np.uint64(0xFFFF)
    if len(begin) and begin[-1] >= view_ns:
        begin[-1] = view_ns - 1
        longest[-1] &= np.uint64(0xFFFF)
        rest[-1] = 0


def _joined(parts: list[Array], dtype: type) -> Array:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)
