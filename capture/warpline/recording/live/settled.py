"""Measures how late records arrive: what a later snapshot adds to the time that an earlier one covered."""

from __future__ import annotations

from collections import Counter

from warpline.storage import Capture

_MS = 1_000_000
_STEPS_NS = tuple(ms * _MS for ms in (0, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000))


def lateness_ns(before: Capture, after: Capture, start_ns: int, head_ns: int) -> int:
    """The time before ``head_ns``, the end of the earlier capture, in which the later one has more or fewer events.

    Rounded up to one of a few steps; ``head_ns - start_ns`` when they differ even longer ago. Both count their times
    from the same moment and are complete from ``start_ns`` on. Only events that ended are compared, by number and
    track: those that were open at the end of the earlier capture go on.
    """
    for step in _STEPS_NS:
        if head_ns - step <= start_ns:
            break
        if _ended(before, start_ns, head_ns - step) == _ended(after, start_ns, head_ns - step):
            return step
    return max(0, head_ns - start_ns)


def _ended(capture: Capture, start_ns: int, stop_ns: int) -> Counter[str]:
    """The number of events of each track that ended in a range."""
    counts: Counter[str] = Counter()
    for lane, track in enumerate(capture.lanes.track.tolist()):
        rows = capture.lane_slice(lane, start_ns, stop_ns)
        count = rows.stop - rows.start
        # Events of a lane do not overlap, so only the last one can end later.
        if count and capture.event_span(rows.stop - 1)[1] >= stop_ns:
            count -= 1
        if count:
            counts[capture.tracks[track].uri] += count
    return counts
