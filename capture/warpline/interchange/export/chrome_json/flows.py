"""Where an arrow of a Chrome trace must touch an event so that readers find that event and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

_MAX_STEPS = 200


def anchors(capture: Capture, rows: Int64Array, earliest: Int64Array | None = None) -> Int64Array:
    """A moment of each event, in capture time, at which no event nested in it runs; from ``earliest`` on if possible.

    A flow point belongs to the innermost event around it, so the start of an event will not do where a nested one
    starts with it. Events that are covered all along keep the first moment that is late enough.
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
    """The first moments from ``times`` on that no event of the lane covers; the limit or later when there is none."""
    low = int(capture.lanes.first[lane])
    run = slice(low, low + int(capture.lanes.count[lane]))
    starts = capture.events.start[run] - capture.lane_offset_ns[lane]
    # Readers take an event without length for one that lasts a nanosecond.
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
