"""`LaneColumns`: the columns that answer every question about lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.events import Events, Lanes
from warpline.storage.index.pyramid import RAW, Pyramid

Int64Array = npt.NDArray[np.int64]


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
