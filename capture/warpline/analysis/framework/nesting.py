"""Finds enclosing events, parents and the contents of ranges by binary search in lanes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.model.intervals import running_maximum
from warpline.platform.systems import library_file

Int64Array = npt.NDArray[np.int64]
LIBRARY = Path(__file__).parent / library_file("nesting")
SIGNATURES: Signatures = {
    "warpline_parents": (None, [POINTER] * 3),
    "warpline_around": (None, [INTEGER, *[POINTER] * 3, INTEGER, *[POINTER] * 3]),
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


class _Events(ctypes.Structure):
    """``Events`` of nesting.c."""

    _fields_ = [
        *((name, POINTER) for name in ("order", "start", "stop", "first")),
        *((name, INTEGER) for name in ("n", "lanes")),
    ]


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


@dataclass(frozen=True, eq=False)
class NestedEvents:
    """Events of several lanes, one lane after the other, outermost depth first; none of the lanes is empty.

    ``start`` and ``stop`` int64 capture ns and ``row`` int64 of each event; ``first`` int64 [lanes + 1]: where each
    lane begins, and the end. Events of a lane are sorted and do not overlap.
    """

    start: Int64Array
    stop: Int64Array
    row: Int64Array
    first: Int64Array

    def __len__(self) -> int:
        return len(self.row)

    @property
    def counts(self) -> Int64Array:
        """Number of events of each lane."""
        return np.diff(self.first)

    @property
    def lane(self) -> Int64Array:
        """The number of each event's lane, from 0."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)

    @cached_property
    def by_start(self) -> Int64Array:
        """Indices that sort the events by start, and equal starts by lane."""
        # Concatenated lanes are a few ascending runs, which a stable sort merges.
        return np.argsort(self.start, kind="stable").astype(np.int64, copy=False)

    def lanes(self) -> list[LaneEvents]:
        """The lanes one by one: for code whose cost may grow with their number."""
        borders = zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)
        return [LaneEvents(self.start[a:b], self.stop[a:b], self.row[a:b]) for a, b in borders]

    @property
    def outermost(self) -> LaneEvents:
        """The first lane, of one at least."""
        first, stop = self.first[:2].tolist()
        return LaneEvents(self.start[first:stop], self.stop[first:stop], self.row[first:stop])

    def where(self, keep: npt.NDArray[np.bool_]) -> NestedEvents:
        """The events of a mask, without lanes that become empty."""
        kept = np.flatnonzero(keep)
        before = np.searchsorted(kept, self.first)
        first = np.append(before[:-1][np.diff(before) > 0], before[-1])
        return NestedEvents(self.start[kept], self.stop[kept], self.row[kept], first)


def enclosing(events: NestedEvents, times: Int64Array, compiled: bool = True) -> Int64Array:
    """The innermost event that contains each moment: start ≤ time < stop; its index, int64, −1 for none.

    If several do, the one that began last wins; among equal starts, that of the later lane (the outermost depth comes
    first). ``times`` are int64 capture ns in any order.
    """
    loops = library() if compiled else None
    if loops is None:
        return _enclosing_lane_by_lane(events, times)
    order = np.argsort(times, kind="stable")
    moments = np.ascontiguousarray(times[order], np.int64)
    stack, around = np.empty(len(events), np.int64), np.empty(len(times), np.int64)
    columns = [np.require(column, np.int64, ["C", "A"]) for column in (events.start, events.stop)]
    loops.warpline_around(
        len(events),
        *map(address, (events.by_start, *columns)),
        len(times),
        *map(address, (moments, stack, around)),
    )
    result = np.empty(len(times), np.int64)
    result[order] = around
    return result


def _enclosing_lane_by_lane(events: NestedEvents, times: Int64Array) -> Int64Array:
    best = np.full(len(times), -1, np.int64)
    best_start = np.full(len(times), np.iinfo(np.int64).min, np.int64)
    for first, lane in zip(events.first.tolist(), events.lanes(), strict=False):
        index = np.searchsorted(lane.start, times, "right") - 1
        candidate = np.maximum(index, 0)
        start = lane.start[candidate]
        better = (index >= 0) & (lane.stop[candidate] > times) & (start >= best_start)
        best[better] = first + index[better]
        best_start[better] = start[better]
    return best


def enclosing_rows(events: NestedEvents, times: Int64Array) -> Int64Array:
    """The event row of `enclosing` for each moment, −1 for none."""
    index = enclosing(events, times)
    return np.append(events.row, -1)[index]


def flat_parents(events: NestedEvents, compiled: bool = True) -> Int64Array:
    """For each event, the index of the innermost event of another lane that contains it (int64), −1 for none.

    Of two equal events, that of the earlier lane is the parent. Lanes may belong to several tracks of a thread. An
    empty event contains nothing; at the border of two events of a lane, only the later one can contain it.
    """
    loops = library() if compiled else None
    if loops is None:
        return _parents_lane_by_lane(events)
    start, stop, first = (
        np.require(column, np.int64, ["C", "A"]) for column in (events.start, events.stop, events.first)
    )
    stack, parent = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
    order = _outer_first(events)
    columns = _Events(*map(address, (order, start, stop, first)), len(events), len(first) - 1)
    loops.warpline_parents(ctypes.byref(columns), address(stack), address(parent))
    return parent


def _outer_first(events: NestedEvents) -> Int64Array:
    """Indices that sort the events by start, longer ones first, equal ones by lane."""
    order = events.by_start
    start, stop = events.start[order], events.stop[order]
    is_head = np.append(True, start[1:] != start[:-1])[: len(order)]
    is_longer = np.append(False, stop[1:] > stop[:-1])[: len(order)] & ~is_head
    if not is_longer.any():
        return order
    # Few starts are shared by events of several tracks: only these are sorted again.
    heads = np.flatnonzero(is_head)
    is_unsorted = np.logical_or.reduceat(is_longer, heads)
    here = np.flatnonzero(np.repeat(is_unsorted, np.diff(np.append(heads, len(order)))))
    result = order.copy()
    result[here] = order[here[np.lexsort((-stop[here], start[here]))]]
    return result


def _parents_lane_by_lane(events: NestedEvents) -> Int64Array:
    result = np.full(len(events), -1, np.int64)
    lanes, first = events.lanes(), events.first.tolist()
    for number, lane in enumerate(lanes):
        parent = result[first[number] : first[number + 1]]
        best_start = np.full(len(parent), np.iinfo(np.int64).min, np.int64)
        best_stop = np.full(len(parent), np.iinfo(np.int64).max, np.int64)
        for outer_number, outer in enumerate(lanes):
            if outer_number == number:
                continue
            index = np.searchsorted(outer.start, lane.start, "right") - 1
            candidate = np.maximum(index, 0)
            start, stop = outer.start[candidate], outer.stop[candidate]
            contains = (index >= 0) & (stop >= lane.stop) & (stop > start)
            if outer_number > number:
                contains &= (start < lane.start) | (stop > lane.stop)
            tighter = (start > best_start) | ((start == best_start) & (stop <= best_stop))
            better = contains & tighter
            parent[better] = first[outer_number] + index[better]
            best_start[better], best_stop[better] = start[better], stop[better]
    return result


def levels(parent: Int64Array) -> Int64Array:
    """Number of ancestors of each entry of a forest given by the index of each entry's parent (−1: a root)."""
    level = (parent >= 0).astype(np.int64)
    above = parent.copy()
    inside = np.flatnonzero(above >= 0)
    while len(inside):
        # ``above`` is an ancestor, ``level`` its distance; each turn doubles the distance.
        ancestor = above[inside]
        level[inside] += level[ancestor]
        above[inside] = above[ancestor]
        inside = inside[above[inside] >= 0]
    return level


def places_by_value(values: Int64Array) -> dict[int, Int64Array]:
    """For each distinct value, in ascending order, the ascending indices at which it occurs."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    borders = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    heads = ordered[np.append(0, borders)].tolist() if len(ordered) else []
    return dict(zip(heads, np.split(order, borders), strict=False))


def places_by_level(level: Int64Array) -> list[Int64Array]:
    """The indices of each level from 0 on, ascending."""
    order = np.argsort(level, kind="stable")
    count = np.bincount(level, minlength=0) if len(level) else np.empty(0, np.int64)
    return np.split(order, np.cumsum(count)[:-1]) if len(count) else []


def outermost(group: Int64Array, start: Int64Array, stop: Int64Array) -> npt.NDArray[np.bool_]:
    """Which events are outermost: no other event of their group (such as a thread) contains them.

    Of events with equal times, the first is outermost.
    """
    order = np.lexsort((-stop, start, group))
    of_group, ends = group[order], stop[order]
    result = np.ones(len(order), bool)
    reach = running_maximum(of_group, ends)
    result[order[1:]] = (of_group[1:] != of_group[:-1]) | (ends[1:] > reach[:-1])
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
