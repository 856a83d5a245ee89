"""Finds enclosing events, parents and the contents of ranges by binary search in lanes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.platform.systems import library_file

Int64Array = npt.NDArray[np.int64]
LIBRARY = Path(__file__).parent / library_file("nesting")
SIGNATURES: Signatures = {
    "warpline_parents": (None, [INTEGER, *[POINTER] * 5]),
    "warpline_uncovered": (None, [INTEGER, *[POINTER] * 6]),
    "warpline_sort": (INTEGER, [INTEGER, *[POINTER] * 2]),
    "warpline_nested": (INTEGER, [POINTER, POINTER]),
    "warpline_nested_free": (None, [POINTER]),
    "warpline_entries_add": (INTEGER, [POINTER, INTEGER, POINTER, POINTER, INTEGER]),
    "warpline_entries_free": (None, [POINTER]),
    "warpline_sweep": (INTEGER, [POINTER, INTEGER, *[POINTER] * 4]),
    "warpline_gaps": (INTEGER, [POINTER, POINTER]),
    "warpline_add_rows": (None, [INTEGER, POINTER, POINTER, INTEGER, INTEGER, POINTER]),
    "warpline_add_sums": (None, [INTEGER, POINTER, POINTER, INTEGER, POINTER]),
    "warpline_block": (INTEGER, [INTEGER, POINTER, POINTER, INTEGER, INTEGER, *[POINTER] * 3]),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loops of this room; None if they are not compiled."""
    return load(LIBRARY, SIGNATURES)


@dataclass(frozen=True, eq=False)
class LaneEvents:
    """Events of one lane, sorted by start, not overlapping: ``start`` and ``stop`` int64 capture ns, ``row`` int64."""

    start: Int64Array
    stop: Int64Array
    row: Int64Array


def enclosing(lanes: Sequence[LaneEvents], times: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The innermost event that contains each moment: start ≤ time < stop.

    If several do, the one that began last wins; among equal starts, that of the later lane (the outermost depth comes
    first). ``times`` are int64 capture ns in any order.
    Returns (lane, index in the lane), both int64, −1 where no event contains the moment.
    """
    best_lane = np.full(len(times), -1, np.int64)
    best_index = np.full(len(times), -1, np.int64)
    best_start = np.full(len(times), np.iinfo(np.int64).min, np.int64)
    for number, lane in enumerate(lanes):
        if not len(lane.start):
            continue
        index = np.searchsorted(lane.start, times, "right") - 1
        candidate = np.maximum(index, 0)
        start = lane.start[candidate]
        better = (index >= 0) & (lane.stop[candidate] > times) & (start >= best_start)
        best_lane[better] = number
        best_index[better] = index[better]
        best_start[better] = start[better]
    return best_lane, best_index


def enclosing_rows(lanes: Sequence[LaneEvents], times: Int64Array) -> Int64Array:
    """The event row of `enclosing` for each moment, −1 for none."""
    lane, index = enclosing(lanes, times)
    rows = np.full(len(times), -1, np.int64)
    for number, events in enumerate(lanes):
        here = lane == number
        rows[here] = events.row[index[here]]
    return rows


def parents(lanes: Sequence[LaneEvents]) -> list[tuple[Int64Array, Int64Array]]:
    """For each event of each lane, the innermost event of another lane that contains it.

    Of two equal events, that of the earlier lane is the parent. Lanes may belong to several tracks of a thread.
    Returns per lane (parent's lane, parent's index in it), −1 for events without a parent.
    """
    result = []
    for number, lane in enumerate(lanes):
        parent_lane = np.full(len(lane.start), -1, np.int64)
        parent_index = np.full(len(lane.start), -1, np.int64)
        best_start = np.full(len(lane.start), np.iinfo(np.int64).min, np.int64)
        best_stop = np.full(len(lane.start), np.iinfo(np.int64).max, np.int64)
        for outer_number, outer in enumerate(lanes):
            if outer_number == number or not len(outer.start):
                continue
            index = np.searchsorted(outer.start, lane.start, "right") - 1
            candidate = np.maximum(index, 0)
            start, stop = outer.start[candidate], outer.stop[candidate]
            # An empty event contains nothing, not even an empty event at the same moment.
            contains = (index >= 0) & (stop >= lane.stop) & (stop > start)
            if outer_number > number:
                contains &= (start < lane.start) | (stop > lane.stop)
            tighter = (start > best_start) | ((start == best_start) & (stop <= best_stop))
            better = contains & tighter
            parent_lane[better] = outer_number
            parent_index[better] = index[better]
            best_start[better], best_stop[better] = start[better], stop[better]
        result.append((parent_lane, parent_index))
    return result


def flat_parents(lanes: Sequence[LaneEvents], compiled: bool = True) -> Int64Array:
    """`parents` as indices into the concatenation of all lanes, −1 for none."""
    loops = library() if compiled else None
    if loops is not None:
        return _compiled_parents(loops, lanes)
    first = np.cumsum([0] + [len(lane.start) for lane in lanes])
    parts = [np.where(lane >= 0, first[np.maximum(lane, 0)] + index, -1) for lane, index in parents(lanes)]
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _compiled_parents(loops: ctypes.CDLL, lanes: Sequence[LaneEvents]) -> Int64Array:
    starts, stops = (
        [np.ascontiguousarray(times, np.int64) for times in columns]
        for columns in ([lane.start for lane in lanes], [lane.stop for lane in lanes])
    )
    counts = np.array([len(times) for times in starts], np.int64)
    parent = np.empty(int(counts.sum()), np.int64)
    places = [np.array([address(times) for times in columns], np.uintp) for columns in (starts, stops)]
    cursor = np.empty(len(lanes), np.int64)
    loops.warpline_parents(len(lanes), *map(address, (*places, counts, cursor, parent)))
    return parent


def levels(parent: Int64Array) -> Int64Array:
    """Number of ancestors of each entry of a forest given by the index of each entry's parent (−1: a root)."""
    level = np.zeros(len(parent), np.int64)
    above = parent.copy()
    while True:
        inside = np.flatnonzero(above >= 0)
        if not len(inside):
            return level
        level[inside] += 1
        above[inside] = parent[above[inside]]


def outermost(group: Int64Array, start: Int64Array, stop: Int64Array) -> npt.NDArray[np.bool_]:
    """Which events no other event of their group (such as a thread) contains; of equal events, the first."""
    order = np.lexsort((-stop, start, group))
    of_group, ends = group[order], stop[order]
    result = np.ones(len(order), bool)
    for number in np.unique(of_group).tolist():
        here = np.flatnonzero(of_group == number)
        reach = np.maximum.accumulate(ends[here])
        result[order[here[1:]]] = ends[here[1:]] > reach[:-1]
    return result


def windows(times: Int64Array, starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    """For each range [start, stop), the first and the past-the-last index of the sorted ``times`` inside it."""
    first = np.searchsorted(times, starts, "left").astype(np.int64)
    last = np.searchsorted(times, stops, "left").astype(np.int64)
    return first, np.maximum(last, first)


def window_sums(values: Int64Array, first: Int64Array, last: Int64Array) -> Int64Array:
    """Sum of ``values[first:last]`` of each window, from one prefix sum."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
    sums: Int64Array = before[last] - before[first]
    return sums


def window_extremes(
    low: Int64Array, high: Int64Array, first: Int64Array, last: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Minimum of ``low[first:last]`` and maximum of ``high[first:last]`` of each window; (0, 0) for an empty one."""
    smallest = np.zeros(len(first), np.int64)
    largest = np.zeros(len(first), np.int64)
    used = np.flatnonzero(last > first)
    if len(used):
        # reduceat takes pairs of borders; every second result is a window, the others lie between windows.
        borders = np.stack([first[used], last[used]], 1).ravel()
        smallest[used] = np.minimum.reduceat(np.append(low, 0), borders)[::2]
        largest[used] = np.maximum.reduceat(np.append(high, 0), borders)[::2]
    return smallest, largest


def window_pairs(first: Int64Array, last: Int64Array) -> tuple[Int64Array, Int64Array]:
    """All pairs of (window, index inside it) as two int64 arrays."""
    count = last - first
    window = np.repeat(np.arange(len(first)), count)
    offset = np.arange(len(window)) - np.repeat(np.cumsum(count) - count, count)
    return window, first[window] + offset


def uncovered_times(
    start: Int64Array, stop: Int64Array, parent: Int64Array, compiled: bool = True
) -> Int64Array:
    """Duration of each event less the union of its direct children, which may overlap (int64 ns)."""
    loops = library() if compiled else None
    if loops is not None:
        columns = [np.require(column, np.int64, ["C", "A"]) for column in (start, stop, parent)]
        # Concatenated lanes are a few ascending runs, which a stable sort merges.
        order = np.argsort(columns[0], kind="stable").astype(np.int64, copy=False)
        own, reach = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        loops.warpline_uncovered(len(order), *map(address, (order, *columns, own, reach)))
        return own
    child = np.flatnonzero(parent >= 0)
    child = child[np.lexsort((start[child], parent[child]))]
    if not len(child):
        return stop - start
    ends = np.unique(stop[child])
    # A running maximum of ends that restarts at each parent: ends by rank, parents far apart.
    base = parent[child] * len(ends)
    reach = np.maximum.accumulate(base + np.searchsorted(ends, stop[child]))
    before = np.concatenate([reach[:1], reach[:-1]])
    same = np.concatenate([[False], parent[child][1:] == parent[child][:-1]])
    reached = np.where(same, ends[np.clip(before - base, 0, len(ends) - 1)], start[child])
    new = np.maximum(stop[child] - np.maximum(start[child], reached), 0)
    inside = np.zeros(len(start), np.int64)
    np.add.at(inside, parent[child], new)
    return stop - start - inside


def self_times(duration: Int64Array, parent: Int64Array) -> Int64Array:
    """Duration of each event less that of its direct children (int64 ns)."""
    own = duration.copy()
    child = np.flatnonzero(parent >= 0)
    np.subtract.at(own, parent[child], duration[child])
    return own
