"""How busy groups of lanes are over time: coarse curves from the file, finer ones from the lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.model.intervals import merge_intervals
from warpline.storage.columns.groups import LaneGroup, Together
from warpline.storage.columns.strip import Strip

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]

MIN_BINS = 256
MAX_BINS = 1 << 16
BINS_PER_EVENT = 4
"""Upper bound of bins; a finer curve shows nothing more."""

_PIECE = 1 << 18
_SAMPLE = 256


@dataclass(frozen=True)
class BusyCurve:
    """Busy lanes (their mean number, or the share of time any is busy) in bins of ``2**level`` ns.

    The first bin begins at ``origin << level`` in the clock of the group's track.
    """

    level: int
    origin: int
    values: Float32Array

    def resample(self, start: int, stop: int, bins: int) -> Float64Array:
        """Mean in each of ``bins`` equal parts of [start, stop), recorded time; nothing is busy beyond its ends."""
        edges = start + np.arange(bins + 1) * ((stop - start) / bins) - (self.origin << self.level)
        # Damaged values may be anything: the result is NaN, without a warning.
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.concatenate([[0.0], np.cumsum(self.values, dtype=np.float64)])
            busy: Float64Array = np.diff(np.interp(edges / (1 << self.level), np.arange(len(total)), total))
            return busy * ((1 << self.level) * bins / (stop - start))


class BusyBins:
    """Adds up busy time in bins of ``2**level`` ns, exactly, in nanoseconds."""

    def __init__(self, level: int, origin: int, bins: int) -> None:
        self._level = level
        self._origin = origin
        self._direct = np.zeros(bins, np.int64)
        self._ramp = np.zeros(bins + 2, np.int64)

    def add(self, start: Int64Array, stop: Int64Array) -> None:
        """Adds sorted intervals that do not overlap; those without length add nothing."""
        if not len(start):
            return
        level, width = self._level, 1 << self._level
        first, last = int(start[0]) >> level, int(stop.max()) >> level
        if last - first + 1 < len(start):
            # Busy time before each edge: intervals that began before it, minus the part beyond it.
            edges = np.arange(first, last + 2) << level
            begun = np.searchsorted(start, edges, "left")
            before = np.concatenate([[0], np.cumsum(stop - start)])[begun]
            beyond = np.maximum(stop[np.maximum(begun - 1, 0)] - edges, 0)
            busy = np.diff(before - np.where(begun > 0, beyond, 0))
            part = self._direct[first - self._origin : last + 1 - self._origin]
            part += busy[: len(part)]
            return
        for time, sign in ((start, 1), (stop, -1)):
            place = (time >> level) - self._origin
            share = time & (width - 1)
            np.add.at(self._ramp, place, sign * (width - share))
            np.add.at(self._ramp, place + 1, sign * share)

    def values(self) -> Float32Array:
        """Mean number of busy intervals in each bin."""
        total = self._direct + np.cumsum(self._ramp)[: len(self._direct)]
        return (total / (1 << self._level)).astype(np.float32)


def build_curve(
    group: LaneGroup, columns: dict[str, Any], first: Sequence[int], count: Sequence[int]
) -> BusyCurve:
    """The curve of a group's lanes.

    ``columns`` are ``start``, ``duration`` and ``flags`` of all events (anything that can be sliced), ``first`` and
    ``count`` the rows of each lane. Events that are idle or waiting are not busy.
    """
    runs = [(first[lane], count[lane]) for lane in group.lanes]
    low = min(int(columns["start"][begin]) for begin, _ in runs)
    high = max(
        int(columns["start"][begin + n - 1]) + int(columns["duration"][begin + n - 1]) for begin, n in runs
    )
    level = 0
    most = min(MAX_BINS, max(MIN_BINS, BINS_PER_EVENT * sum(n for _, n in runs)))
    while (high >> level) - (low >> level) + 1 > most:
        level += 1
    origin = low >> level
    bins = BusyBins(level, origin, (high >> level) - origin + 1)
    if group.together is Together.SUM or len(runs) == 1:
        for begin, n in runs:
            for at in range(begin, begin + n, _PIECE):
                bins.add(*_busy(columns, at, min(at + _PIECE, begin + n)))
    else:
        for start, stop in _union(columns, runs):
            bins.add(start, stop)
    return BusyCurve(level, origin, bins.values())


def _busy(columns: dict[str, Any], first: int, stop: int) -> tuple[Int64Array, Int64Array]:
    start = np.asarray(columns["start"][first:stop])
    idle = np.asarray(columns["flags"][first:stop]) & int(NOT_BUSY)
    duration = np.asarray(columns["duration"][first:stop])
    return start, start + (np.where(idle, 0, duration) if idle.any() else duration)


def _union(
    columns: dict[str, Any], runs: Sequence[tuple[int, int]]
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the times any lane is busy as disjoint sorted intervals, one window of time at a time."""
    sample = np.sort(np.concatenate([columns["start"][begin : begin + n : _SAMPLE] for begin, n in runs]))
    cuts = np.unique(sample[_PIECE // _SAMPLE :: _PIECE // _SAMPLE]).tolist()
    at = [begin for begin, _ in runs]
    reach = np.iinfo(np.int64).min
    for cut in [*cuts, None]:
        starts, stops = [], []
        for index, (begin, n) in enumerate(runs):
            stop = begin + n
            if cut is not None:
                stop = at[index] + int(np.searchsorted(columns["start"][at[index] : stop], cut, "left"))
            start, end = _busy(columns, at[index], stop)
            starts.append(start)
            stops.append(end)
            at[index] = stop
        merged = merge_intervals(np.maximum(np.concatenate(starts), reach), np.concatenate(stops))
        if len(merged[1]):
            reach = int(merged[1][-1])
        yield merged


def strip_coverage(strip: Strip, together: Together) -> Float64Array:
    """Busy lanes of a strip in each column: their mean number, or about the share of time any is busy.

    Exact, except for events shorter than a pixel: they count in the pixel where they start, and in a union as if
    they overlapped nothing.
    """
    counted = (strip.rect_flags & int(NOT_BUSY)) == 0
    start = np.maximum(strip.rect_start[counted], strip.start_ns)
    stop = np.minimum(strip.rect_stop[counted], strip.stop_ns)
    if together is Together.UNION:
        start, stop = merge_intervals(start, stop)
    pixel = (strip.stop_ns - strip.start_ns) / strip.width_px
    ramp = np.zeros(strip.width_px + 2)
    for time, sign in ((start, 1.0), (stop, -1.0)):
        place = np.clip((time - strip.start_ns) / pixel, 0, strip.width_px)
        column = place.astype(np.intp)
        np.add.at(ramp, column, sign * (1 - (place - column)))
        np.add.at(ramp, column + 1, sign * (place - column))
    total: Float64Array = np.cumsum(ramp)[: strip.width_px] + strip.busy.sum(axis=0, dtype=np.float64)
    return np.clip(total, 0, 1) if together is Together.UNION else np.maximum(total, 0)
