"""Sets of time intervals as sorted numpy columns: union, length, intersection."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


def merge_intervals(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The union of half-open intervals ``[start, stop)`` as sorted disjoint intervals.

    Both arguments are int64 ns of equal length in any order; touching intervals are joined and empty ones dropped.
    Returns (starts, stops) of the union.
    """
    keep = stops > starts
    if not keep.all():
        starts, stops = starts[keep], stops[keep]
    if not len(starts):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if not (starts[1:] >= starts[:-1]).all():
        order = np.argsort(starts, kind="stable")
        starts, stops = starts[order], stops[order]
    reach = np.maximum.accumulate(stops)
    head = np.empty(len(starts), bool)
    head[0] = True
    np.greater(starts[1:], reach[:-1], out=head[1:])
    first = np.flatnonzero(head)
    last = np.r_[first[1:], len(starts)] - 1
    return starts[first], reach[last]


def merge_grouped(
    group: Int64Array, starts: Int64Array, stops: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """`merge_intervals` of each group (such as a thread): (group, start, stop) of the unions, by group and start."""
    if len(group) and bool((group == group[0]).all()):
        starts, stops = merge_intervals(starts, stops)
        return np.full(len(starts), group[0]), starts, stops
    order = np.lexsort((starts, group))
    order = order[stops[order] > starts[order]]
    group, starts, stops = group[order], starts[order], stops[order]
    reach = running_maximum(group, stops)
    is_head = np.ones(len(order), bool)
    is_head[1:] = (group[1:] != group[:-1]) | (starts[1:] > reach[:-1])
    first = np.flatnonzero(is_head)
    last = np.append(first[1:], len(order))[: len(first)] - 1
    return group[first], starts[first], reach[last]


def running_maximum(group: Int64Array, values: Int64Array) -> Int64Array:
    """The maximum of the values so far in each run of equal groups."""
    distinct, rank = np.unique(values, return_inverse=True)
    # Work on ranks: moving each group's values beyond those of all groups before could exceed 64 bits.
    base = np.cumsum(np.append(False, group[1:] != group[:-1])[: len(group)]) * len(distinct)
    highest: Int64Array = distinct[np.maximum.accumulate(base + rank.reshape(-1)) - base]
    return highest


def union_ns(starts: Int64Array, stops: Int64Array) -> int:
    """Length of the union of half-open intervals, in nanoseconds."""
    merged_starts, merged_stops = merge_intervals(starts, stops)
    return int((merged_stops - merged_starts).sum())


def clip_intervals(
    starts: Int64Array, stops: Int64Array, start_ns: int, stop_ns: int
) -> tuple[Int64Array, Int64Array]:
    """The parts of intervals inside ``[start_ns, stop_ns)``; intervals outside vanish."""
    keep = (stops > start_ns) & (starts < stop_ns)
    return np.maximum(starts[keep], start_ns), np.minimum(stops[keep], stop_ns)


def intersect_intervals(
    a_starts: Int64Array, a_stops: Int64Array, b_starts: Int64Array, b_stops: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Intersection of two sets of disjoint sorted intervals (as `merge_intervals` returns), likewise sorted."""
    first = np.searchsorted(b_stops, a_starts, "right")
    last = np.searchsorted(b_starts, a_stops, "left")
    count = np.maximum(last - first, 0)
    a_index = np.repeat(np.arange(len(a_starts)), count)
    offset = np.repeat(np.cumsum(count) - count, count)
    b_index = np.repeat(first, count) + np.arange(len(a_index)) - offset
    starts = np.maximum(a_starts[a_index], b_starts[b_index])
    stops = np.minimum(a_stops[a_index], b_stops[b_index])
    keep = stops > starts
    return starts[keep], stops[keep]


def subtract_intervals(
    a_starts: Int64Array, a_stops: Int64Array, b_starts: Int64Array, b_stops: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Difference of two sets of disjoint sorted intervals (first without second), likewise sorted."""
    low = np.iinfo(np.int64).min
    high = np.iinfo(np.int64).max
    gap_starts = np.r_[low, b_stops].astype(np.int64)
    gap_stops = np.r_[b_starts, high].astype(np.int64)
    return intersect_intervals(a_starts, a_stops, gap_starts, gap_stops)


@overload
def launch_delay_ns(call_stop_ns: int, work_start_ns: int) -> int: ...
@overload
def launch_delay_ns(call_stop_ns: Int64Array, work_start_ns: Int64Array) -> Int64Array: ...
def launch_delay_ns(call_stop_ns: int | Int64Array, work_start_ns: int | Int64Array) -> int | Int64Array:
    """Time from the end of the launching call to the start of the work (ns, both on one clock).

    0 where the work began before the call returned, so it did not wait. Nsight's queue time is the same, and counts
    only launches where it is positive.
    """
    delay = work_start_ns - call_stop_ns
    return max(delay, 0) if isinstance(delay, int) else np.maximum(delay, 0)
