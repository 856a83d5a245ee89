"""Draws the same strips as `strip_native` with numpy, where the compiled loop cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.storage.columns.schema import MAX_PACKED_DURATION
from warpline.storage.columns.strip import Strip, rect_ns
from warpline.storage.index.lane_columns import LaneColumns
from warpline.storage.index.level_of_detail import unpack_duration, unpack_flags, unpack_kind
from warpline.storage.index.pyramid import RAW

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]

_NOT_BUSY_PACKED = np.uint64(int(NOT_BUSY) << 8)
_INDEX_BITS = 24
_LONGEST_RANKED = (1 << 38) - 1


def draw_with_numpy(
    columns: LaneColumns, lanes: Int64Array, start_ns: int, stop_ns: int, width_px: int
) -> Strip:
    """Draw a strip with numpy, identical to the compiled loop's."""
    canvas = _Canvas(columns, start_ns, stop_ns, width_px, len(lanes))
    runs = [_choose_run(columns, lane, start_ns, stop_ns, canvas.pixel_ns) for lane in lanes.tolist()]
    columns.pyramid.prefetch(*np.array(runs, np.int64).reshape(-1, 4).T)
    # Damaged times may overflow; how they are drawn does not matter.
    with np.errstate(over="ignore", invalid="ignore"):
        for position, (lane, index, _, _) in enumerate(runs):
            canvas.draw(position, lane, index)
        return canvas.strip(lanes)


def _choose_run(
    columns: LaneColumns, lane: int, start_ns: int, stop_ns: int, pixel_ns: float
) -> tuple[int, int, int, int]:
    """Lane, level and the part of it that the view needs, found without touching the file."""
    pyramid = columns.pyramid
    offset = int(columns.offset_ns[lane])
    index = pyramid.coarsest_within(lane, pixel_ns)
    low = pyramid.block(lane, index, start_ns + offset)[0]
    high = pyramid.block(lane, index, stop_ns + offset)[1]
    return lane, index, max(0, low - 1), high


class _Events:
    """Events of a lane by their position in a part of it."""

    def __init__(self, columns: LaneColumns, part: slice) -> None:
        self._events = columns.events
        self._part = part

    def identify(self, entries: Int64Array) -> tuple[Int64Array, UInt8Array, UInt8Array]:
        """Rows, kinds and flags."""
        return (
            entries + self._part.start,
            self._events.kind[self._part][entries],
            self._events.flags[self._part][entries],
        )


class _Entries:
    """The longest events of pyramid entries. Kind and flags come from the entries, too: reading the rows would touch
    distant pages.
    """

    def __init__(self, columns: LaneColumns, part: slice, lane: int) -> None:
        self._longest = columns.pyramid.longest[part]
        self._row = columns.pyramid.row[part]
        self._first_row = int(columns.lanes.first[lane])
        self._last_row = len(columns.events) - 1

    def identify(self, entries: Int64Array) -> tuple[Int64Array, UInt8Array, UInt8Array]:
        """Rows, kinds and flags."""
        longest = self._longest[entries]
        row = np.minimum(self._row[entries].astype(np.int64) + self._first_row, self._last_row)
        return row, unpack_kind(longest), unpack_flags(longest)


class _Canvas:
    """A strip under construction. Lanes are added one by one, so that each fits the processor's cache."""

    def __init__(self, columns: LaneColumns, start_ns: int, stop_ns: int, width_px: int, lanes: int) -> None:
        self._columns = columns
        self._start_ns = start_ns
        self._stop_ns = stop_ns
        self._width_px = width_px
        self.pixel_ns = (stop_ns - start_ns) / width_px
        self._rect_ns = rect_ns(start_ns, stop_ns, width_px)
        self._busy = np.zeros((lanes, width_px), np.float32)
        self._mark_row = np.full((lanes, width_px), -1, np.int64)
        self._mark_kind = np.zeros((lanes, width_px), np.uint8)
        self._mark_flags = np.zeros((lanes, width_px), np.uint8)
        self._rects: list[tuple[Int64Array, Int64Array, Int64Array, UInt8Array, UInt8Array]] = []
        self._rect_counts = [0] * lanes
        self._touched = 0

    def draw(self, position: int, lane: int, index: int) -> None:
        """Add a lane, from one of its levels or from its events."""
        columns, pyramid, events = self._columns, self._columns.pyramid, self._columns.events
        offset = int(columns.offset_ns[lane])
        origin = self._start_ns + offset
        column, base, count = pyramid.run(lane, index)
        # The entry before the view may stand for an event that reaches into it.
        low = max(0, pyramid.search(lane, index, origin) - 1)
        high = pyramid.search(lane, index, self._stop_ns + offset)
        if index == RAW:
            part = slice(base + low, base + high)
            begin, duration = column[part] - origin, events.duration[part]
            weight = np.where(events.flags[part] & int(NOT_BUSY), 0, duration)
            rest = None
        else:
            level = pyramid.level[index]
            # The entry after the view may stand for shorter events of the bin in which the view ends.
            if high < count and int(column[base + high]) >> level << level < self._stop_ns + offset:
                high += 1
            part = slice(base + low, base + high)
            begin, longest = column[part] - origin, pyramid.longest[part]
            duration = unpack_duration(longest)
            rest = pyramid.rest[part].astype(np.int64)
            self._restore_saturated(duration, part, lane)
            _settle_edges(begin, duration, rest, origin, level, self._stop_ns - self._start_ns)
            weight = np.where(longest & _NOT_BUSY_PACKED, 0, duration) + rest
        if len(begin) and begin[0] < 0 and begin[0] + duration[0] <= 0:
            part = slice(part.start + 1, part.stop)
            begin, duration, weight = begin[1:], duration[1:], weight[1:]
            rest = None if rest is None else rest[1:]
        if len(begin):
            self._touched += len(begin)
            source = _Events(columns, part) if index == RAW else _Entries(columns, part, lane)
            self._add(position, begin, duration, weight, rest, source)

    def _restore_saturated(self, duration: Int64Array, part: slice, lane: int) -> None:
        if not len(duration) or int(duration.max()) < MAX_PACKED_DURATION:
            return
        for place in np.flatnonzero(duration == MAX_PACKED_DURATION).tolist():
            row = int(self._columns.pyramid.row[part.start + place]) + int(self._columns.lanes.first[lane])
            duration[place] = self._columns.events.duration[min(row, len(self._columns.events) - 1)]

    def _add(
        self,
        position: int,
        begin: Int64Array,
        duration: Int64Array,
        weight: Int64Array,
        rest: Int64Array | None,
        source: _Events | _Entries,
    ) -> None:
        """Draws entries: ``begin`` relative to the view, ``weight`` busy time, ``source`` which they are."""
        is_rect = duration >= self._rect_ns
        rect = np.flatnonzero(is_rect)
        if len(rect):
            weight[rect] = 0 if rest is None else rest[rect]
            start = begin[rect] + self._start_ns
            row, kind, flags = source.identify(rect)
            self._rects.append((row, start, start + duration[rect], kind, flags))
            self._rect_counts[position] = len(rect)
            if len(rect) == len(begin) and rest is None:
                return
        place = begin * (1 / self.pixel_ns)
        np.clip(place, 0, self._width_px - 1, out=place)
        pixel = place.astype(np.intp)
        self._busy[position] = np.bincount(pixel, weight, self._width_px)
        rank = np.minimum(duration, _LONGEST_RANKED) << _INDEX_BITS
        rank |= np.arange(len(rank))
        rank[rect] = -1
        longest = np.full(self._width_px, -1, np.int64)
        np.maximum.at(longest, pixel, rank)
        marked = np.flatnonzero(longest >= 0)
        row, kind, flags = source.identify(longest[marked] & ((1 << _INDEX_BITS) - 1))
        self._mark_row[position, marked] = row
        self._mark_kind[position, marked] = kind
        self._mark_flags[position, marked] = flags

    def strip(self, lanes: Int64Array) -> Strip:
        no_time, no_code = np.empty(0, np.int64), np.empty(0, np.uint8)
        rects = [(no_time, no_time, no_time, no_code, no_code), *self._rects]
        row, start, stop, kind, flags = (np.concatenate(column) for column in zip(*rects, strict=True))
        return Strip(
            lanes=lanes,
            start_ns=self._start_ns,
            stop_ns=self._stop_ns,
            width_px=self._width_px,
            rect_lane=np.repeat(np.arange(len(lanes)), self._rect_counts),
            rect_row=row,
            rect_start=start,
            rect_stop=stop,
            rect_kind=kind,
            rect_flags=flags,
            busy=np.minimum(self._busy * np.float32(1 / self.pixel_ns), 1),
            mark_row=self._mark_row,
            mark_kind=self._mark_kind,
            mark_flags=self._mark_flags,
            touched=self._touched,
        )


def _settle_edges(
    begin: Int64Array, duration: Int64Array, rest: Int64Array, origin: int, level: int, view_ns: int
) -> None:
    """Makes the first and the last entry stand for what lies inside the view, in place; ``begin`` is
    relative to it.

    The first entry may have begun before the view. It stays when its longest event reaches in; otherwise a shorter
    event of its bin may, being shorter than the bin: then the entry becomes a mark without duration in the first
    column, at most two pixels off. The last entry may begin behind the view, in a bin that begins inside it:
    likewise.
    """
    if len(begin) and begin[0] < 0:
        length = int(duration[0])
        first_bin = (int(begin[0]) + origin) >> level
        if first_bin != origin >> level:
            rest[0] = 0
        if begin[0] + length <= 0 and ((first_bin + 1) << level) + min(length, 1 << level) > origin:
            begin[0] = 0
            duration[0] = 0
    if len(begin) and begin[-1] >= view_ns:
        begin[-1] = view_ns - 1
        duration[-1] = 0
        rest[-1] = 0
