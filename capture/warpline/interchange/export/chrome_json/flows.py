"""Places the flow points of links so that readers find the right event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

_MAX_STEPS = 200


def anchors(capture: Capture, rows: Int64Array, earliest: Int64Array | None = None) -> Int64Array:
    """A time in each event when no nested event runs, in capture time, not before ``earliest`` if possible.

    A flow point belongs to the innermost event around it, so the start of an event does not work if a nested event
    starts with it. Events that are covered completely get the first possible time.
    """
    starts, stops = capture.event_times(rows)
    first = starts if earliest is None else np.maximum(starts, earliest)
    first = np.where((first < stops) | (first == starts), first, starts)
    times = first.copy()
    lanes = capture.lanes_of_rows(rows)
    below = np.minimum(lanes + 1, max(0, len(capture.lanes) - 1))
    nested = (below > lanes) & (capture.lanes.track[below] == capture.lanes.track[lanes])
    for lane in np.unique(below[nested]).tolist():
        chosen = np.flatnonzero(nested & (below == lane))
        times[chosen] = _uncovered(capture, lane, times[chosen], stops[chosen])
    return np.where(times < np.maximum(stops, starts + 1), times, first)


def _uncovered(capture: Capture, lane: int, times: Int64Array, limits: Int64Array) -> Int64Array:
    """The first times from ``times`` on that no event of the lane covers; the limit or later for none."""
    low = int(capture.lanes.first[lane])
    run = slice(low, low + int(capture.lanes.count[lane]))
    starts = capture.events.start[run] - capture.lane_offset_ns[lane]
    # Readers treat an event without duration as 1 ns long.
    stops = starts + np.maximum(capture.events.duration[run], 1)
    times = times.copy()
    active = np.arange(len(times))
    for _ in range(_MAX_STEPS):
        at = np.searchsorted(starts, times[active], "right") - 1
        covered = (at >= 0) & (stops[np.maximum(at, 0)] > times[active]) & (times[active] < limits[active])
        if not covered.any():
            break
        active = active[covered]
        times[active] = stops[at[covered]]
    return times
