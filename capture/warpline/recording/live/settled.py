"""Measures how late records arrive: what a later snapshot adds to the time that an earlier one covered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.storage import Capture

_MS = 1_000_000
_STEPS_NS = tuple(ms * _MS for ms in (0, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000))
BORDER_NS = 25 * _MS
"""What began this soon after the start is not compared: what was before may be known to one of the captures only."""

Int64Array = npt.NDArray[np.int64]


def lateness_ns(before: Capture, after: Capture, start_ns: int, head_ns: int) -> int:
    """The time before ``head_ns``, the end of the earlier capture, in which the later one has more or fewer events.

    Rounded up to one of a few steps; ``head_ns - start_ns`` when they differ even longer ago. Both count their times
    from the same moment and are complete from ``start_ns`` on. Only events that ended are compared, by number and
    track: those that were open at the end of the earlier capture go on.
    """
    first = start_ns + BORDER_NS
    edges = np.array([first, *(head_ns - step for step in reversed(_STEPS_NS) if head_ns - step > first)])
    former, latter = _ended(before, edges), _ended(after, edges)
    none = np.zeros(len(edges) - 1, np.int64)
    differs = none > 0
    for uri in former.keys() | latter.keys():
        differs |= former.get(uri, none) != latter.get(uri, none)
    if not differs.any():
        return 0
    oldest = int(differs.argmax())
    return head_ns - (int(edges[oldest]) if oldest else start_ns)


def _ended(capture: Capture, edges: Int64Array) -> dict[str, Int64Array]:
    """The number of events of each track that ended between each two ``edges`` (ns, ascending), and began after the
    first.
    """
    events, offsets = capture.events, capture.lane_offset_ns.tolist()
    counts: dict[str, Int64Array] = {}
    for lane, track in enumerate(capture.lanes.track.tolist()):
        rows = capture.lane_slice(lane, int(edges[0]), int(edges[-1]))
        if rows.start < rows.stop and int(events.start[rows.start]) - offsets[lane] <= edges[0]:
            rows = slice(rows.start + 1, rows.stop)
        if rows.start >= rows.stop:
            continue
        # Events of a lane do not overlap, so their ends ascend, too.
        stops = events.start[rows] + (events.duration[rows] - offsets[lane])
        ended, uri = np.diff(stops.searchsorted(edges)), capture.tracks[track].uri
        counts[uri] = counts[uri] + ended if uri in counts else ended
    return counts
