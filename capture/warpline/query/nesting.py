"""Which event an event lies in, and the time that is its own, for all events at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_PACKED = frozenset(("stream", "streams"))
"""Roles of tracks whose lanes hold events that merely overlap."""
_CHUNK = 1 << 18
"""Events that are looked up together: few, so that memory stays small beside the columns themselves."""


def parents_of_events(capture: Capture) -> Int64Array:
    """For each event (row) the row of the shortest one on its track that contains it, −1 at the top; int64 [n].

    `Capture.parent_of_row` for all of them. Kernels of a stream contain none.
    """
    parent = np.full(len(capture.events), -1, np.int64)
    for rows, above in _nested(capture):
        parent[rows] = above
    return parent


def self_times(capture: Capture) -> Int64Array:
    """The duration of each event without those that lie directly in it, ns, int64 [n]; never below 0."""
    duration = capture.events.duration
    own = np.array(duration, np.int64)
    for rows, above in _nested(capture):
        firsts = np.flatnonzero(np.diff(above, prepend=-1))
        own[above[firsts]] -= np.add.reduceat(duration[rows], firsts)
    return np.maximum(own, 0, out=own)


def _nested(capture: Capture) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Rows of events of one lane, ascending, and of the events of another that they lie directly in, ascending too."""
    lanes = capture.lanes
    for track in capture.tracks:
        own = capture.track_lanes(track.index)
        if track.role in _PACKED:
            continue
        for lane in own[1:]:
            part = lanes.rows(lane)
            for first in range(part.start, part.stop, _CHUNK):
                rows = np.arange(first, min(first + _CHUNK, part.stop))
                yield from _above(capture, rows, range(lane - 1, own.start - 1, -1))


def _above(capture: Capture, rows: Int64Array, lanes: range) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Of some rows those that lie in an event of a lane, for one lane after the other."""
    start, duration = capture.events.start, capture.events.duration
    for lane in lanes:
        part = capture.lanes.rows(lane)
        begin = start[rows]
        index = np.searchsorted(start[part], begin, "right") - 1
        candidate = part.start + np.maximum(index, 0)
        stop = begin + np.maximum(duration[rows], 1)
        is_inside = (index >= 0) & (start[candidate] + duration[candidate] >= stop)
        if is_inside.any():
            yield rows[is_inside], candidate[is_inside]
        rows = rows[~is_inside]
        if not len(rows):
            return
