"""`LaneColumns`: the columns that answer every question about lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.events import Events, Lanes
from warpline.storage.index.pyramid import RAW, Pyramid

Int64Array = npt.NDArray[np.int64]
_AT_ONCE = 1 << 16
"""Lanes that are searched together."""
_FEW_LANES = 64
"""Up to this many lanes are searched one by one in the skip index, which touches fewer pages."""


@dataclass(frozen=True)
class LaneColumns:
    """All events, the directory of their lanes, its pyramid, and the lanes' clocks.

    ``offset_ns`` int64: recorded time minus capture time of each lane. Arguments and results are in capture time.
    """

    events: Events
    lanes: Lanes
    pyramid: Pyramid
    offset_ns: Int64Array

    def recorded_stop(self, row: int) -> int:
        """Where an event ends, in the clock of its track."""
        return int(self.events.start[row]) + int(self.events.duration[row])

    def span(self, lane: int) -> tuple[int, int]:
        """From the first start to the last stop on a lane."""
        rows = self.lanes.rows(lane)
        offset = int(self.offset_ns[lane])
        return int(self.events.start[rows.start]) - offset, self.recorded_stop(rows.stop - 1) - offset

    def rows_between(self, lane: int, start_ns: int, stop_ns: int) -> slice:
        """Rows of a lane's events that overlap [start_ns, stop_ns); instants inside count."""
        offset = int(self.offset_ns[lane])
        first = int(self.lanes.first[lane])
        low = self.pyramid.search(lane, RAW, start_ns + offset)
        high = self.pyramid.search(lane, RAW, stop_ns + offset)
        if low and self.recorded_stop(first + low - 1) > start_ns + offset:
            low -= 1
        return slice(first + low, first + max(low, high))

    def rows_between_of(
        self, lanes: Int64Array, start_ns: int, stop_ns: int
    ) -> tuple[Int64Array, Int64Array]:
        """`rows_between` of many lanes at once: the first and the past-the-last row of each, int64 [lanes]."""
        if len(lanes) <= _FEW_LANES:
            slices = [self.rows_between(lane, start_ns, stop_ns) for lane in lanes.tolist()]
            rows = np.array([(part.start, part.stop) for part in slices], np.int64).reshape(-1, 2)
            return rows[:, 0], rows[:, 1]
        parts = [
            self._borders(lanes[at : at + _AT_ONCE], start_ns, stop_ns)
            for at in range(0, len(lanes), _AT_ONCE)
        ]
        low, high = (np.concatenate(column) for column in zip(*parts, strict=True))
        return low, high

    def _borders(self, lanes: Int64Array, start_ns: int, stop_ns: int) -> tuple[Int64Array, Int64Array]:
        offset = self.offset_ns[lanes]
        first, count = self.lanes.first[lanes], self.lanes.count[lanes]
        low, high = (
            first + _search_runs(self.events.start, first, count, time + offset)
            for time in (start_ns, stop_ns)
        )
        before = np.maximum(low - 1, first)
        reaches = self.events.start[before] + self.events.duration[before] > start_ns + offset
        low -= (low > first) & reaches
        return low, np.maximum(low, high)


def _search_runs(column: Int64Array, first: Int64Array, count: Int64Array, times: Int64Array) -> Int64Array:
    """Number of values before a time in each of many sorted runs of a column, by a binary search of all at once."""
    low, high = np.zeros(len(first), np.int64), count.astype(np.int64)
    while True:
        open_runs = np.flatnonzero(low < high)
        if not len(open_runs):
            return low
        middle = (low[open_runs] + high[open_runs]) // 2
        is_before = column[first[open_runs] + middle] < times[open_runs]
        low[open_runs[is_before]] = middle[is_before] + 1
        high[open_runs[~is_before]] = middle[~is_before]
