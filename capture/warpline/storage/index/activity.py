"""Finds where in a capture something happens: what a view shows first, and what lies far away from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.model.flags import Flag
from warpline.model.tracks import Track
from warpline.storage.index.lane_columns import LaneColumns

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_BINS = 512
_LEAST_EMPTY = _BINS // 10
"""Number of empty bins at the ends of a range from which they are cut off."""
_LEAST_AGAIN = _BINS // 50
"""The same for a range that has been cut before."""
_FAR = _BINS - _BINS // 50
"""With more empty bins than this in between, two parts of a capture are not shown in one picture."""
_FEW_RATIO = 0.05
"""Largest share of the events that may be left out of the picture."""
_LONG_GAP, _SINGLE_RATIO = _BINS // 2, 0.001
"""The same for a gap of at least half the picture, as with one or two marks before or after the recording."""
_MANY = 64
"""Up to this many small lanes are examined one by one."""
_AT_ONCE = 1 << 12
"""Number of small lanes whose events are in memory at once."""
_MARGIN = 50
_ROUNDS = 16
_GUESSED = np.uint8(Flag.CUT_END | Flag.TRUNCATED)
_FRAMES = frozenset({"operators", "ranges", "python", "phases"})
"""Roles of tracks whose events may contain others."""
_NOTED = frozenset({"other", "ranges"})
"""Roles of tracks that, without a process, thread or GPU, hold the recorder's own marks."""


@dataclass(frozen=True, kw_only=True)
class ActiveTime:
    """The range in which something happens, in capture ns, and what lies far before and after it.

    ``earlier`` and ``later`` are numbers of events. The last of the earlier ones begins ``earlier_ns`` before
    ``start_ns``, the first of the later ones ``later_ns`` after ``stop_ns``.
    """

    start_ns: int
    stop_ns: int
    earlier: int = 0
    earlier_ns: int = 0
    later: int = 0
    later_ns: int = 0

    @property
    def range_ns(self) -> tuple[int, int]:
        """Start and stop."""
        return self.start_ns, self.stop_ns


def find_activity(columns: LaneColumns, tracks: Sequence[Track], span: tuple[int, int]) -> ActiveTime:
    """The activity of a capture that lasts from ``span[0]`` to ``span[1]``; all of it, unless much of it is empty.

    A frame, an event that contains others of its thread or GPU, happens where these do: one that outlives them shows
    nothing. A few events far away from all others, such as those of another clock, are left out and counted. Costs
    `_BINS` binary searches per lane, and events only of lanes with fewer, of which many are read together.
    """
    finder = _Finder(columns, tracks)
    found = ActiveTime(start_ns=span[0], stop_ns=span[1])
    for _ in range(_ROUNDS):
        closer = finder.closer(found, _LEAST_EMPTY if found.range_ns == span else _LEAST_AGAIN)
        if closer is None:
            break
        found = closer
    return found if found.range_ns == span else _with_margin(found, span)


def _with_margin(found: ActiveTime, span: tuple[int, int]) -> ActiveTime:
    """Widen the range a little, so that frames visibly continue; the distances to far events stay correct."""
    margin = (found.stop_ns - found.start_ns) // _MARGIN
    start, stop = max(span[0], found.start_ns - margin), min(span[1], found.stop_ns + margin)
    return replace(
        found,
        start_ns=start,
        stop_ns=stop,
        earlier_ns=found.earlier_ns - (found.start_ns - start) if found.earlier else 0,
        later_ns=found.later_ns - (stop - found.stop_ns) if found.later else 0,
    )


class _Finder:
    def __init__(self, columns: LaneColumns, tracks: Sequence[Track]) -> None:
        self._columns = columns
        is_shown, has_frames = np.zeros(len(tracks), bool), np.zeros(len(tracks), bool)
        group_of_track = np.full(len(tracks), -1)
        groups: dict[tuple[str, int | None], int] = {}
        for number, track in enumerate(tracks):
            if track.role in _NOTED and _belongs_to_nobody(track):
                continue
            # The profiler's own work is no activity, and yet frames around it contain something.
            is_shown[number] = track.role != "overhead"
            if track.thread is None and track.device is None:
                continue
            key = ("gpu", track.parent) if track.thread is None else ("thread", track.thread)
            group_of_track[number] = groups.setdefault(key, len(groups))
            has_frames[number] = track.role in _FRAMES
        own = np.asarray(columns.lanes.track).astype(np.int64)
        self._lanes = np.flatnonzero(is_shown[own])
        self._thread_or_gpu = group_of_track[own]
        """The thread or GPU of each lane, -1 for none."""
        self._group_of = np.where(has_frames[own], self._thread_or_gpu, -1)
        """The same of lanes whose events may be frames."""
        self._large, self._small = self._split(self._lanes)

    def _split(self, lanes: Int64Array) -> tuple[list[int], Int64Array]:
        """Lanes to examine one by one, and those to examine together: many lanes of few events."""
        is_small = np.asarray(self._columns.lanes.count)[lanes] <= _BINS
        if is_small.sum() <= _MANY:
            return lanes.tolist(), lanes[:0]
        return lanes[~is_small].tolist(), lanes[is_small]

    def closer(self, found: ActiveTime, least_empty: int) -> ActiveTime | None:
        """A shorter range that keeps what matters of ``found``; None if too few bins at its ends are empty."""
        low, high = found.range_ns
        step = -(-(high - low) // _BINS)
        if step < 1:
            return None
        edges = low + np.arange(_BINS + 1, dtype=np.int64) * step
        begun, is_active = self._bins(edges, step)
        active = np.flatnonzero(is_active)
        if not len(active):
            return None
        gaps = np.diff(active)
        widest = int(gaps.argmax()) if len(gaps) else 0
        if len(gaps) and gaps[widest] > _LONG_GAP:
            part = self._larger_part(found, edges, begun, (int(active[widest]) + 1, int(active[widest + 1])))
            if part is not None or gaps[widest] > _FAR:
                return part
        first, last = int(active[0]), int(active[-1])
        if first + _BINS - 1 - last < least_empty:
            return None
        return replace(found, start_ns=int(edges[first]), stop_ns=min(int(edges[last + 1]), high))

    def _larger_part(
        self, found: ActiveTime, edges: Int64Array, begun: Int64Array, gap: tuple[int, int]
    ) -> ActiveTime | None:
        """Without the few events on one side of a gap (bins); None if neither side has few."""
        before, after = int(begun[: gap[0]].sum()), int(begun[gap[1] :].sum())
        most = _FEW_RATIO if gap[1] - gap[0] >= _FAR else _SINGLE_RATIO
        if min(before, after) > most * (before + after):
            return None
        end, start = int(edges[gap[0]]), int(edges[gap[1]])
        last, first = self._begins_around(end, start)
        if before >= after:
            return replace(found, stop_ns=end, later=found.later + after, later_ns=first - end)
        return replace(found, start_ns=start, earlier=found.earlier + before, earlier_ns=start - last)

    def _begins_around(self, end: int, start: int) -> tuple[int, int]:
        """The last begin of an event before ``end``, and the first from ``start`` on."""
        last, first = [], []
        for lane in self._lanes.tolist():
            starts, offset = self._starts(lane)
            before, after = np.searchsorted(starts, np.array([end, start]) + offset).tolist()
            if before:
                last.append(int(starts[before - 1]) - offset)
            if after < len(starts):
                first.append(int(starts[after]) - offset)
        return max(last, default=end), min(first, default=start)

    def _starts(self, lane: int) -> tuple[Int64Array, int]:
        return self._columns.events.start[self._columns.lanes.rows(lane)], int(self._columns.offset_ns[lane])

    def _bins(self, edges: Int64Array, step: int) -> tuple[Int64Array, BoolArray]:
        """Begins of events in each bin, and whether something happens in it."""
        begun = np.zeros(_BINS, np.int64)
        low = int(edges[0])
        long_ones: list[tuple[Int64Array, Int64Array, Int64Array]] = []
        for lane in self._large:
            starts, offset = self._starts(lane)
            if len(starts) > _BINS:
                places = np.searchsorted(starts, edges + offset)
                begun += np.diff(places).clip(0)
                # Asked for values alone, numpy first imports its masked arrays.
                candidates, _ = np.unique(places - 1, return_counts=True)
                candidates = candidates[candidates >= 0]
            else:
                ends = np.searchsorted(starts, np.array([edges[0], edges[-1]]) + offset)
                begun += _binned((starts[ends[0] : ends[1]] - (low + offset)) // step)
                candidates = np.arange(max(0, ends[0] - 1), ends[1])
            rows = candidates + int(self._columns.lanes.first[lane])
            long_ones.append(self._long(rows, np.full(len(rows), lane), step))
        for lanes in np.array_split(self._small, len(self._small) // _AT_ONCE + 1):
            rows, own = self._rows(lanes)
            starts = self._columns.events.start[rows] - self._columns.offset_ns[own]
            begun += _binned((starts - low) // step)
            long_ones.append(self._long(rows, own, step))
        # How many events cover each bin, as differences to the bin before.
        change = np.zeros(_BINS + 1, np.int64)
        columns = list(zip(*long_ones, strict=True))
        long_ones.clear()
        # Free each column's parts before making the next: there may be as many as events.
        start, stop, group = (np.concatenate(columns.pop(0)) for _ in range(3))
        is_frame = np.zeros(len(start), bool)
        for number in np.unique(group[group >= 0], return_counts=True)[0].tolist():
            chosen = np.flatnonzero(group == number)
            is_frame[chosen] = self._are_frames(number, start[chosen], stop[chosen])
        first, last = (start - low) // step, np.minimum((stop - 1 - low) // step, _BINS - 1)
        frames = _binned(first[is_frame])
        first = np.maximum(first, 0)
        covers = ~is_frame & (first <= last)
        np.add.at(change, first[covers], 1)
        np.add.at(change, last[covers] + 1, -1)
        return begun, (np.cumsum(change[:-1]) > 0) | (begun > frames)

    def _rows(self, lanes: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The rows of lanes, and the lane of each."""
        counts = np.asarray(self._columns.lanes.count)[lanes].astype(np.int64)
        first = np.asarray(self._columns.lanes.first)[lanes].astype(np.int64)
        rows = np.repeat(first - (np.cumsum(counts) - counts), counts)
        rows += np.arange(len(rows))  # in place: there may be as many as events
        return rows, np.repeat(lanes, counts)

    def _long(
        self, rows: Int64Array, lanes: Int64Array, step: int
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Start and stop of events that last a bin, and the group of those that may be frames, else -1."""
        events = self._columns.events
        # An event without a recorded end is drawn until a time that nobody measured.
        is_long = (events.duration[rows] >= step) & (events.flags[rows] & _GUESSED == 0)
        rows, lanes = rows[is_long], lanes[is_long]
        start = events.start[rows].astype(np.int64) - self._columns.offset_ns[lanes]
        return start, start + events.duration[rows].astype(np.int64), self._group_of[lanes]

    def _are_frames(self, group: int, start: Int64Array, stop: Int64Array) -> BoolArray:
        """Whether each event of a group contains a shorter one of the group, which lies on another lane."""
        found = np.zeros(len(start), bool)
        large, small = self._split(np.flatnonzero(self._thread_or_gpu == group))
        for lane in large:
            starts, offset = self._starts(lane)
            durations = self._columns.events.duration[self._columns.lanes.rows(lane)]
            found |= _contain(start, stop, starts, durations, offset)
        if len(small):
            rows, own = self._rows(small)
            starts = self._columns.events.start[rows].astype(np.int64, copy=False)
            starts -= self._columns.offset_ns[own]
            del own
            durations = self._columns.events.duration[rows].astype(np.int64, copy=False)
            del rows
            order = np.lexsort((durations, starts))
            starts, durations = starts[order], durations[order]
            del order
            for at in range(0, len(start), _AT_ONCE):
                part = slice(at, at + _AT_ONCE)
                found[part] |= _contain(start[part], stop[part], starts, durations, 0)
        return found


def _contain(
    start: Int64Array, stop: Int64Array, starts: Int64Array, durations: Int64Array, offset: int
) -> BoolArray:
    """Whether events contain a shorter one of others, which are sorted and count their starts from ``offset`` on."""
    found = np.zeros(len(start), bool)
    if not len(starts):
        return found
    # An event that begins together with this one may contain it, so check the next one, too.
    first = np.searchsorted(starts, start + offset)
    for place in (first, first + 1, np.searchsorted(starts, start + offset, "right")):
        at = np.minimum(place, len(starts) - 1)
        duration = durations[at].astype(np.int64)
        is_inside = (starts[at] - offset + duration <= stop) & (duration < stop - start)
        found |= is_inside & (place < len(starts))
    return found


def _binned(places: Int64Array) -> Int64Array:
    """Number of values in each bin. A damaged lane is not in order, so some values may lie in none."""
    return np.bincount(places[(places >= 0) & (places < _BINS)], minlength=_BINS)


def _belongs_to_nobody(track: Track) -> bool:
    return track.process is None and track.thread is None and track.device is None
