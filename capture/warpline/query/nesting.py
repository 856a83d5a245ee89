"""Which event an event lies in, and the time that is its own, for all events at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_PACKED = frozenset(("stream", "streams"))
"""Roles of tracks whose lanes hold events that merely overlap."""


def parents_of_events(capture: Capture) -> Int64Array:
    """For each event (row) the row of the shortest one on its track that contains it, −1 at the top; int64 [n].

    `Capture.parent_of_row` for all of them. Kernels of a stream contain none.
    """
    events, lanes = capture.events, capture.lanes
    start, parent = events.start, np.full(len(events), -1, np.int64)
    for track in capture.tracks:
        own = capture.track_lanes(track.index)
        if len(own) < 2 or track.role in _PACKED:
            continue
        for lane in own[1:]:
            rows = np.arange(lanes.rows(lane).start, lanes.rows(lane).stop)
            for above in range(lane - 1, own.start - 1, -1):
                part = lanes.rows(above)
                index = np.searchsorted(start[part], start[rows], "right") - 1
                candidate = part.start + np.maximum(index, 0)
                stop = np.maximum(start[rows] + events.duration[rows], start[rows] + 1)
                is_inside = (index >= 0) & (start[candidate] + events.duration[candidate] >= stop)
                parent[rows[is_inside]] = candidate[is_inside]
                rows = rows[~is_inside]
                if not len(rows):
                    break
    return parent


def self_times(capture: Capture, parent: Int64Array) -> Int64Array:
    """The duration of each event without those that lie directly in it, ns, int64 [n]; never below 0."""
    duration = capture.events.duration
    children = np.flatnonzero(parent >= 0)
    own = np.array(duration, np.int64)
    np.subtract.at(own, parent[children], duration[children])
    return np.maximum(own, 0)
