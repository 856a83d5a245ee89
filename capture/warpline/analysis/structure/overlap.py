"""Exact lengths of unions, overlaps and combinations of intervals, by one sweep over their borders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.model.intervals import clip_intervals, merge_intervals

Int64Array = npt.NDArray[np.int64]
Intervals = tuple[Int64Array, Int64Array]
"""(starts, stops) in ns, half open; in any order and overlapping, unless called *merged*."""


def combination_times(activities: Sequence[Intervals], start_ns: int, stop_ns: int) -> Int64Array:
    """Time in [start_ns, stop_ns) in which exactly a given set of activities runs.

    Returns int64 ns of length 2^n for n activities: entry ``m`` is the time in which only the activities of the bits in
    ``m`` run, entry 0 that in which none does. The entries add up to the range. Overlaps within an activity count once.
    """
    weights = [1 << bit for bit in range(len(activities))]
    return _state_times(activities, weights, 1 << len(activities), start_ns, stop_ns)


def _state_times(
    activities: Sequence[Intervals], weights: Sequence[int], states: int, start_ns: int, stop_ns: int
) -> Int64Array:
    """Time in each state, the sum of the weights of the running activities: int64 ns [states]."""
    times = [np.array([start_ns, stop_ns], np.int64)]
    deltas = [np.zeros(2, np.int64)]
    for weight, (starts, stops) in zip(weights, activities, strict=True):
        merged = merge_intervals(*clip_intervals(starts, stops, start_ns, stop_ns))
        times += merged
        deltas += [np.full(len(merged[0]), weight, np.int64), np.full(len(merged[1]), -weight, np.int64)]
    border = np.concatenate(times)
    order = np.argsort(border, kind="stable")
    border = border[order]
    state = np.cumsum(np.concatenate(deltas)[order])[:-1]
    result = np.zeros(states, np.int64)
    np.add.at(result, state, np.diff(border))
    return result


def time_of(combinations: Int64Array, any_of: int, none_of: int = 0) -> int:
    """Time in which at least one activity of ``any_of`` (bits) and none of ``none_of`` runs."""
    mask = np.arange(len(combinations))
    return int(combinations[((mask & any_of) != 0) & ((mask & none_of) == 0)].sum())


def time_of_all(combinations: Int64Array, all_of: int) -> int:
    """Time in which all activities of ``all_of`` (bits) run."""
    mask = np.arange(len(combinations))
    return int(combinations[(mask & all_of) == all_of].sum())


def concurrency_times(lanes: Sequence[Intervals], start_ns: int, stop_ns: int) -> Int64Array:
    """Time in [start_ns, stop_ns) with exactly k of the lanes busy, for k = 0 … number of lanes (int64 ns)."""
    return _state_times(lanes, [1] * len(lanes), len(lanes) + 1, start_ns, stop_ns)


def gaps(starts: Int64Array, stops: Int64Array, start_ns: int, stop_ns: int) -> Intervals:
    """The gaps between *merged* intervals in [start_ns, stop_ns), sorted."""
    starts, stops = clip_intervals(starts, stops, start_ns, stop_ns)
    gap_starts = np.concatenate([np.array([start_ns], np.int64), stops])
    gap_stops = np.concatenate([starts, np.array([stop_ns], np.int64)])
    keep = gap_stops > gap_starts
    return gap_starts[keep], gap_stops[keep]


def covered_ns(merged: Intervals, starts: Int64Array, stops: Int64Array) -> Int64Array:
    """The part of each interval [starts, stops) that the *merged* intervals cover (int64 ns), in O((n + m) log m)."""
    return _covered_until(merged, stops) - _covered_until(merged, starts)


def _covered_until(merged: Intervals, times: Int64Array) -> Int64Array:
    starts, stops = merged
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(stops - starts)])
    index = np.searchsorted(starts, times, "right")
    # Subtract the part of the last interval after the given moment.
    last_stop = np.concatenate([np.full(1, np.iinfo(np.int64).min, np.int64), stops])[index]
    covered: Int64Array = before[index] - np.maximum(last_stop - times, 0) * (index > 0)
    return covered


class UnionOfPortions:
    """The union of intervals added in portions, merged from time to time to save memory."""

    def __init__(self) -> None:
        self._parts: list[Intervals] = []
        self._waiting, self._merged = 0, 0

    def add(self, start: Int64Array, stop: Int64Array) -> None:
        self._parts.append((start, stop))
        self._waiting += len(start)
        if self._waiting > max(_MERGED_AT_ONCE, self._merged):
            self.intervals()

    def intervals(self) -> Intervals:
        start, stop = (
            np.concatenate([_NONE, *side]) for side in zip((_NONE, _NONE), *self._parts, strict=True)
        )
        merged = merge_intervals(start, stop)
        self._parts, self._waiting, self._merged = [merged], 0, len(merged[0])
        return merged


_NONE = np.empty(0, np.int64)
_MERGED_AT_ONCE = 1 << 18
