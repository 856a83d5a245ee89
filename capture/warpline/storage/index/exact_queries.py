"""Exact answers about single events and intervals, by binary search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.model.intervals import merge_intervals
from warpline.storage.index.lane_columns import LaneColumns
from warpline.storage.index.level_of_detail import unpack_duration
from warpline.storage.index.pyramid import RAW

Int64Array = npt.NDArray[np.int64]


class ExactQueries:
    """Answers exact questions from columns; every time is capture time, in ns."""

    def __init__(self, columns: LaneColumns, tracks: int) -> None:
        """``tracks`` is the number of tracks."""
        self.lane_columns = columns
        self.events = columns.events
        self.lanes = columns.lanes
        self.pyramid = columns.pyramid
        self._first_lane: Int64Array = np.searchsorted(
            columns.lanes.track, np.arange(tracks + 1), "left"
        ).astype(np.int64)

    @property
    def lane_offset_ns(self) -> Int64Array:
        """Per lane, recorded time minus capture time, in ns."""
        return self.lane_columns.offset_ns

    # Where an event is

    def lanes_of_rows(self, rows: npt.ArrayLike) -> Int64Array:
        """Lane number of each row."""
        return np.asarray(np.searchsorted(self.lanes.first, rows, "right") - 1, np.int64)

    def tracks_of_rows(self, rows: npt.ArrayLike) -> Int64Array:
        """Track index of each row."""
        return self.lanes.track[self.lanes_of_rows(rows)].astype(np.int64)

    def lane_of_row(self, row: int) -> int:
        """Lane number of an event."""
        return int(self.lanes_of_rows(row))

    def track_of_row(self, row: int) -> int:
        """Track index of an event."""
        return int(self.lanes.track[self.lane_of_row(row)])

    def event_times(self, rows: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
        """Start and stop of events in capture time, int64 ns."""
        index = np.asarray(rows, np.int64)
        start = self.events.start[index] - self.lane_offset_ns[self.lanes_of_rows(index)]
        return start, start + self.events.duration[index]

    def event_span(self, row: int) -> tuple[int, int]:
        """Start and stop of one event in capture time."""
        start = int(self.events.start[row]) - int(self.lane_offset_ns[self.lane_of_row(row)])
        return start, start + int(self.events.duration[row])

    def track_lanes(self, track: int) -> range:
        """Numbers of a track's lanes, by depth."""
        return range(int(self._first_lane[track]), int(self._first_lane[track + 1]))

    def rows_of_track(self, track: int) -> slice:
        """Rows of a track, which are contiguous."""
        lanes = self.track_lanes(track)
        if not lanes:
            return slice(0, 0)
        first, last = lanes[0], lanes[-1]
        return slice(int(self.lanes.first[first]), int(self.lanes.first[last]) + int(self.lanes.count[last]))

    # Events in an interval

    def lane_slice(self, lane: int, start_ns: int, stop_ns: int) -> slice:
        """Rows of a lane's events that overlap [start_ns, stop_ns); instants inside count."""
        return self.lane_columns.rows_between(lane, start_ns, stop_ns)

    def lane_borders(self, lanes: Int64Array, start_ns: int, stop_ns: int) -> tuple[Int64Array, Int64Array]:
        """`lane_slice` of many lanes at once: the first and the past-the-last row of each, int64 [lanes]."""
        return self.lane_columns.rows_between_of(lanes, start_ns, stop_ns)

    def rows_in(self, lanes: npt.ArrayLike, start_ns: int, stop_ns: int) -> Int64Array:
        """Rows of events on these lanes that overlap [start_ns, stop_ns), by lane and start."""
        parts = [self.lane_slice(lane, start_ns, stop_ns) for lane in np.asarray(lanes, np.int64).tolist()]
        return np.concatenate([np.empty(0, np.int64), *(np.arange(part.start, part.stop) for part in parts)])

    def count_in(self, lanes: npt.ArrayLike, start_ns: int, stop_ns: int, enough: int | None = None) -> int:
        """Number of events on these lanes that overlap [start_ns, stop_ns).

        Counting stops after the lane that exceeds ``enough``.
        """
        count = 0
        for lane in np.asarray(lanes, np.int64).tolist():
            part = self.lane_slice(lane, start_ns, stop_ns)
            count += part.stop - part.start
            if enough is not None and count > enough:
                break
        return count

    def event_at(self, lane: int, time_ns: int, tolerance_ns: int = 0) -> int | None:
        """Row of the event that covers a time, or of the nearest event within the tolerance, or None."""
        time = time_ns + int(self.lane_offset_ns[lane])
        first, count = int(self.lanes.first[lane]), int(self.lanes.count[lane])
        after = self.pyramid.search(lane, RAW, time, "right")
        best, distance = None, tolerance_ns + 1
        if after:
            before = first + after - 1
            start = int(self.events.start[before])
            # An event covers the moments up to the one before its stop; an instant covers its own.
            last_moment = max(start, self._stop(before) - 1)
            if time - last_moment < distance:
                best, distance = before, max(0, time - last_moment)
        if distance and after < count and int(self.events.start[first + after]) - time < distance:
            best = first + after
        return best

    def next_event(self, row: int) -> int | None:
        """Row of the next event on the same lane."""
        lane = self.lane_of_row(row)
        return row + 1 if row + 1 < int(self.lanes.first[lane]) + int(self.lanes.count[lane]) else None

    def previous_event(self, row: int) -> int | None:
        """Row of the previous event on the same lane."""
        return row - 1 if row > int(self.lanes.first[self.lane_of_row(row)]) else None

    def _stop(self, row: int) -> int:
        return self.lane_columns.recorded_stop(row)

    # Nesting

    def parent_of_row(self, row: int) -> int | None:
        """Row of the shortest event on the same track that contains this one, on a lane above it; None at the top."""
        lane = self.lane_of_row(row)
        lanes = self.track_lanes(int(self.lanes.track[lane]))
        start, stop = int(self.events.start[row]), self._stop(row)
        for above in range(lane - 1, lanes.start - 1, -1):
            index = self.pyramid.search(above, RAW, start, "right") - 1
            candidate = int(self.lanes.first[above]) + index
            if index >= 0 and self._stop(candidate) >= max(stop, start + 1):
                return candidate
        return None

    def nested_rows(self, row: int) -> Int64Array:
        """Rows of the events on the same track, on lanes below, that lie inside this one."""
        lane = self.lane_of_row(row)
        lanes = self.track_lanes(int(self.lanes.track[lane]))
        start, stop = int(self.events.start[row]), self._stop(row)
        parts = [np.empty(0, np.int64)]
        for below in range(lane + 1, lanes.stop):
            first = int(self.lanes.first[below])
            low = self.pyramid.search(below, RAW, start)
            high = self.pyramid.search(below, RAW, stop)
            rows = np.arange(first + low, first + high)
            parts.append(rows[self.events.start[rows] + self.events.duration[rows] <= stop])
        return np.concatenate(parts)

    # Busy time

    def busy_ns(self, lane: int, start_ns: int, stop_ns: int) -> int:
        """Time a lane is busy in [start_ns, stop_ns); blocked and runnable states do not count.

        Exact. Whole bins come from the coarsest levels, the two cut ends from finer ones, so the cost grows with the
        logarithm of the number of events. Raises ValueError when stop_ns < start_ns.
        """
        if stop_ns < start_ns:
            raise ValueError(f"[{start_ns}, {stop_ns}) ends before it starts")
        offset = int(self.lane_offset_ns[lane])
        start, stop = start_ns + offset, stop_ns + offset
        total = self._busy_starting_in(lane, start, stop, len(self.pyramid.levels_of(lane)))
        first = int(self.lanes.first[lane])
        # Above, events that start inside count in full: cut the last one, and add the one that reaches in.
        low, high = (self.pyramid.search(lane, RAW, time) for time in (start, stop))
        if high > low and self._is_busy(first + high - 1):
            total -= max(0, self._stop(first + high - 1) - stop)
        if low and self._is_busy(first + low - 1):
            total += max(0, min(stop, self._stop(first + low - 1)) - start)
        return total

    def _is_busy(self, row: int) -> bool:
        return not int(self.events.flags[row]) & int(NOT_BUSY)

    def _busy_starting_in(self, lane: int, start: int, stop: int, depth: int) -> int:
        """Busy time of all events that start in [start, stop), recorded time, using the ``depth`` finest levels."""
        if start >= stop:
            return 0
        if depth == 0:
            first = int(self.lanes.first[lane])
            low, high = (first + self.pyramid.search(lane, RAW, time) for time in (start, stop))
            counted = (self.events.flags[low:high] & int(NOT_BUSY)) == 0
            return int(self.events.duration[low:high][counted].sum())
        index = self.pyramid.levels_of(lane)[depth - 1]
        level = self.pyramid.level[index]
        inner_start, inner_stop = -(-start >> level) << level, stop >> level << level
        if inner_start >= inner_stop:
            return self._busy_starting_in(lane, start, stop, depth - 1)
        base = self.pyramid.first[index]
        # The longest event of a bin starts in the bin, so a search among these finds the bins.
        low, high = (base + self.pyramid.search(lane, index, time) for time in (inner_start, inner_stop))
        longest = self.pyramid.longest[low:high]
        counted = (longest >> np.uint64(8)) & np.uint64(NOT_BUSY) == 0
        rows = self.pyramid.row[low:high][counted].astype(np.int64) + int(self.lanes.first[lane])
        durations = unpack_duration(longest[counted])
        total = int(durations.sum()) + int(self.pyramid.rest[low:high].sum(dtype=np.int64))
        saturated = durations == (1 << 48) - 1
        if saturated.any():
            total += int((self.events.duration[rows[saturated]] - durations[saturated]).sum())
        return (
            total
            + self._busy_starting_in(lane, start, inner_start, depth - 1)
            + self._busy_starting_in(lane, inner_stop, stop, depth - 1)
        )

    def union_busy_ns(self, lanes: npt.ArrayLike, start_ns: int, stop_ns: int) -> int:
        """Time at least one of several lanes is busy in [start_ns, stop_ns)."""
        numbers = np.asarray(lanes, np.int64)
        if len(numbers) == 1:
            return self.busy_ns(int(numbers[0]), start_ns, stop_ns)
        rows = self.rows_in(numbers, start_ns, stop_ns)
        rows = rows[(self.events.flags[rows] & int(NOT_BUSY)) == 0]
        starts, stops = self.event_times(rows)
        merged = merge_intervals(np.maximum(starts, start_ns), np.minimum(stops, stop_ns))
        return int((merged[1] - merged[0]).sum())
