"""The part of a capture to export, and its events, samples and tracks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

CHUNK_EVENTS = 1 << 18
"""Events handled at a time; bounds the memory of an export."""
_SMALL_LANE = 256


@dataclass(frozen=True)
class ExportSelection:
    """A part of a capture, in capture time; None means no border. ``tracks`` are indexes, None for all."""

    start_ns: int | None = None
    stop_ns: int | None = None
    tracks: frozenset[int] | None = None

    def interval(self, capture: Capture) -> tuple[int, int]:
        """Start and stop; those of the capture where none is set."""
        start = capture.span[0] if self.start_ns is None else self.start_ns
        stop = capture.span[1] if self.stop_ns is None else self.stop_ns
        return start, max(start, stop)

    def range_ns(self, capture: Capture) -> list[int]:
        """Start and stop from the start of the capture, as for ``--range``."""
        return [time - capture.span[0] for time in self.interval(capture)]

    def has_track(self, track: int) -> bool:
        """Whether a track is selected."""
        return self.tracks is None or track in self.tracks

    @property
    def is_bounded(self) -> bool:
        """Whether the time is limited."""
        return self.start_ns is not None or self.stop_ns is not None


def lane_slices(capture: Capture, selection: ExportSelection) -> Iterator[tuple[int, slice]]:
    """(track, rows in the selected time) for each lane of the selected tracks, in row order."""
    start, stop = selection.interval(capture)
    for lane in range(len(capture.lanes)):
        track = int(capture.lanes.track[lane])
        if not selection.has_track(track):
            continue
        if selection.is_bounded:
            rows = capture.lane_slice(lane, start, stop)
        else:
            first = int(capture.lanes.first[lane])
            rows = slice(first, first + int(capture.lanes.count[lane]))
        if rows.stop > rows.start:
            yield track, rows


def chunks(capture: Capture, selection: ExportSelection) -> Iterator[tuple[int, slice]]:
    """`lane_slices` in pieces of at most `CHUNK_EVENTS` rows; small lanes of a track with one kind come together."""
    for track, rows in _joined(capture, lane_slices(capture, selection)):
        for first in range(rows.start, rows.stop, CHUNK_EVENTS):
            yield track, slice(first, min(first + CHUNK_EVENTS, rows.stop))


def _joined(capture: Capture, lanes: Iterator[tuple[int, slice]]) -> Iterator[tuple[int, slice]]:
    """Joins neighbours: a deep stack has as many lanes as events, and each piece costs a fraction of a millisecond."""
    waiting: tuple[int, slice, int | None] | None = None
    for track, rows in lanes:
        kind = _only_kind(capture, rows)
        if waiting is not None:
            is_next = kind is not None and waiting[0] == track and waiting[2] == kind
            if is_next and waiting[1].stop == rows.start and rows.stop - waiting[1].start <= CHUNK_EVENTS:
                waiting = track, slice(waiting[1].start, rows.stop), kind
                continue
            yield waiting[:2]
        waiting = track, rows, kind
    if waiting is not None:
        yield waiting[:2]


def _only_kind(capture: Capture, rows: slice) -> int | None:
    """The kind of all events of a small lane; None for a large lane and for several kinds."""
    if rows.stop - rows.start > _SMALL_LANE:
        return None
    kinds = capture.events.kind[rows].tolist()
    return int(kinds[0]) if kinds.count(kinds[0]) == len(kinds) else None


def rows_by_kind(capture: Capture, part: slice) -> Iterator[tuple[str, Int64Array]]:
    """The rows of a slice by kind; leaves out events without a kind, in a damaged capture."""
    kinds = capture.events.kind[part]
    for code in np.unique(kinds).tolist():
        kind = capture.kind_of_code.get(code)
        if kind is None:
            continue
        rows = np.flatnonzero(kinds == code) + part.start
        known = capture.kinds[kind].indices_of(rows) >= 0
        if known.any():
            yield kind, rows if known.all() else rows[known]


def count_events(capture: Capture, selection: ExportSelection) -> int:
    """Exact number of selected events; searches lanes without reading events."""
    return sum(rows.stop - rows.start for _, rows in lane_slices(capture, selection))


def counter_slice(capture: Capture, counter: int, selection: ExportSelection) -> slice:
    """The samples of a counter in the selected time, and the one before, which is still valid."""
    times = capture.counters[counter].times
    if not selection.is_bounded:
        return slice(0, len(times))
    start, stop = selection.interval(capture)
    low = int(np.searchsorted(times, start, "left"))
    high = int(np.searchsorted(times, stop, "left"))
    if low and (low == len(times) or times[low] > start):
        low -= 1
    return slice(low, max(low, high))
