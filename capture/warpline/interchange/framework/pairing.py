"""Matches what a trace records separately: begins with ends, flow points with events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pairs:
    """Begins and their ends, as indexes of borders; ``end`` is -1 for a begin without an end."""

    begin: Int64Array
    end: Int64Array
    lone_ends: int
    """Ends without a begin."""
    renamed: int
    """Pairs whose end has another name than its begin."""


def match_borders(
    key: Int64Array, time: Int64Array, is_begin: BoolArray, name: Int64Array, *, strict: bool = False
) -> Pairs:
    """Pairs begins with ends of the same key (a thread, an asynchronous id), in order of time, then of the arrays.

    An end closes the innermost open begin with its name. Without one it closes the innermost begin (an end may have no
    name: -1), unless ``strict``. All arrays have one entry per border. Keys that nest properly need no loop.
    """
    order = np.lexsort((np.arange(len(key)), time, key))
    sorted_key = key[order]
    begin, names = is_begin[order], name[order]
    heads = (
        np.flatnonzero(np.r_[True, sorted_key[1:] != sorted_key[:-1]])
        if len(order)
        else np.empty(0, np.int64)
    )
    lengths = np.diff(np.r_[heads, len(order)])
    group = np.repeat(np.arange(len(heads)), lengths)
    depth = np.cumsum(np.where(begin, 1, -1))
    if len(heads):
        before = np.r_[0, depth[heads[1:] - 1]]
        depth = depth - before[group]
    level = np.where(begin, depth, depth + 1)
    broken = np.zeros(len(heads), bool)
    broken[group[depth < 0]] = True

    # Within a level, begins and ends alternate, so each end directly follows its begin.
    by_level = np.lexsort((level, group))
    first, second = by_level[:-1], by_level[1:]
    paired = begin[first] & ~begin[second] & (group[first] == group[second]) & (level[first] == level[second])
    opens, closes = first[paired], second[paired]
    wrong = (names[closes] >= 0) & (names[closes] != names[opens])
    broken[group[opens[wrong]]] = True

    end_of = np.full(len(order), -1, np.int64)
    end_of[opens] = closes
    fine = begin & ~broken[group]
    begins, ends = [np.flatnonzero(fine)], [end_of[fine]]
    lone = renamed = 0
    for number in np.flatnonzero(broken).tolist():
        low = int(heads[number])
        span = slice(low, low + int(lengths[number]))
        loop = _match_by_loop(begin[span], names[span], time[order[span]], strict)
        begins.append(loop.begin + low)
        ends.append(np.where(loop.end >= 0, loop.end + low, -1))
        lone += loop.lone_ends
        renamed += loop.renamed
    all_begins, all_ends = np.concatenate(begins), np.concatenate(ends)
    is_closed = all_ends >= 0
    result = np.full(len(all_ends), -1, np.int64)
    result[is_closed] = order[all_ends[is_closed]]
    return Pairs(order[all_begins], result, lone, renamed)


def _match_by_loop(begin: BoolArray, name: Int64Array, time: Int64Array, strict: bool) -> Pairs:
    """Pairs the borders of a key that does not nest properly, one by one."""
    is_begin, names, times = begin.tolist(), name.tolist(), time.tolist()
    stack: list[int] = []
    end_of: dict[int, int] = {}
    done: set[int] = set()
    lone = renamed = 0
    for index, opens in enumerate(is_begin):
        if opens:
            if index not in done:
                stack.append(index)
            continue
        wanted = names[index]
        place = len(stack) - 1
        while place >= 0 and wanted >= 0 and names[stack[place]] != wanted:
            place -= 1
        if place >= 0:
            end_of[stack.pop(place)] = index
            continue
        later = _begin_at_same_time(index, is_begin, names, times, done)
        if later is not None:
            done.add(later)
            end_of[later] = index
        elif stack and not strict:
            renamed += 1
            end_of[stack.pop()] = index
        else:
            lone += 1
    begins = np.flatnonzero(begin)
    ends = np.array([end_of.get(index, -1) for index in begins.tolist()], np.int64)
    return Pairs(begins, ends, lone, renamed)


def _begin_at_same_time(
    index: int, is_begin: list[bool], names: list[int], times: list[int], done: set[int]
) -> int | None:
    """The begin of an event without duration that was written after its end."""
    later = index + 1
    while later < len(times) and times[later] == times[index]:
        if is_begin[later] and later not in done and names[later] == names[index]:
            return later
        later += 1
    return None


@dataclass(frozen=True)
class SliceIndex:
    """The events of a thread, to find those around a time; sorted by start, outer events first."""

    start: Int64Array
    stop: Int64Array
    event: Int64Array
    _levels: tuple[Int64Array, ...]

    @classmethod
    def of(cls, start: Int64Array, stop: Int64Array, event: Int64Array) -> SliceIndex:
        """Indexes events given in any order; an event without duration counts as 1 ns long."""
        order = np.lexsort((-stop, start))
        stops = np.maximum(stop[order], start[order] + 1)
        levels = [stops]
        while len(levels[-1]) > 1:
            last = levels[-1]
            if len(last) % 2:
                last = np.r_[last, np.iinfo(np.int64).min]
            levels.append(np.maximum(last[0::2], last[1::2]))
        return cls(start[order], stops, event[order], tuple(levels))

    def enclosing(self, times: Int64Array) -> Int64Array:
        """The innermost event around each time, -1 for none. One that ends exactly then counts if no other does."""
        last = np.searchsorted(self.start, times, "right") - 1
        index = self._last_reaching(last, times + 1)
        missing = index < 0
        index[missing] = self._last_reaching(last[missing], times[missing])
        return self._events(index)

    def following(self, times: Int64Array) -> Int64Array:
        """The first event that begins at or after each time, -1 for none."""
        index = np.searchsorted(self.start, times, "left")
        return self._events(np.where(index < len(self.start), index, -1))

    def _events(self, index: Int64Array) -> Int64Array:
        if not len(self.event):
            return np.full(len(index), -1, np.int64)
        return np.where(index >= 0, self.event[np.maximum(index, 0)], -1)

    def _last_reaching(self, last: Int64Array, reach: Int64Array) -> Int64Array:
        """The largest index ≤ ``last`` whose stop is ≥ ``reach``, by a tree of maxima; all queries at once."""
        result = np.full(len(last), -1, np.int64)
        active = np.flatnonzero(last >= 0)
        position = last[active]
        for level in range(len(self._levels)):
            if not len(active):
                break
            values = self._levels[level]
            hit = values[position] >= reach[active]
            if hit.any():
                result[active[hit]] = self._descend(level, position[hit], reach[active[hit]])
            # Step to the left neighbour; at a left child, the neighbour belongs to the level above.
            active, position = active[~hit], position[~hit]
            odd = position % 2 == 1
            left = np.where(odd, position - 1, -1)
            near = np.zeros(len(left), bool)
            near[odd] = values[left[odd]] >= reach[active[odd]]
            if near.any():
                result[active[near]] = self._descend(level, left[near], reach[active[near]])
            active, position = active[~near], position[~near] // 2 - 1
            inside = position >= 0
            active, position = active[inside], position[inside]
        return result

    def _descend(self, level: int, position: Int64Array, reach: Int64Array) -> Int64Array:
        for lower in range(level - 1, -1, -1):
            values = self._levels[lower]
            right = position * 2 + 1
            exists = right < len(values)
            take = np.zeros(len(right), bool)
            take[exists] = values[right[exists]] >= reach[exists]
            position = position * 2 + take
        return position


@dataclass(frozen=True)
class FlowLinks:
    """Links between flow points, as indexes of points."""

    source: Int64Array
    target: Int64Array
    loose: int
    """Points without a link."""
    backward: int
    """Links that end before they start."""


CLOCK_ERROR_NS = 1_000_000
"""How far an end may precede its start. Clocks of host and device usually differ by microseconds."""


def match_flows(key: Int64Array, time: Int64Array, phase: npt.NDArray[np.uint8]) -> FlowLinks:
    """Links the points of each key: a start (``s``), its steps (``t``), its ends (``f``).

    ``phase`` is 0, 1, 2 for s, t, f. Another start begins a new chain; several ends share the point before them. An end
    without a start belongs to a start that follows within `CLOCK_ERROR_NS` and has no end of its own.
    """
    order = np.lexsort((np.arange(len(key)), phase, time, key))
    keys, phases, times = key[order], phase[order], time[order]
    positions = np.arange(len(order))
    carries = phases < 2
    # The last start or step before each point, and whether it has the same key.
    last = np.maximum.accumulate(np.where(carries, positions, -1)) if len(order) else positions
    before = np.r_[np.int64(-1), last[:-1]] if len(order) else positions
    linked = (phases > 0) & (before >= 0)
    linked[linked] &= keys[before[linked]] == keys[positions[linked]]
    # Likewise the next start after each point.
    starts = np.where(phases == 0, positions, len(order))
    after = np.minimum.accumulate(starts[::-1])[::-1]
    backward = (phases == 2) & ~linked & (after < len(order))
    near = after[backward]
    here = np.flatnonzero(backward)
    has_end = np.zeros(len(order), bool)
    has_end[before[linked]] = True
    backward[here] = (
        (keys[near] == keys[here]) & (times[near] - times[here] <= CLOCK_ERROR_NS) & ~has_end[near]
    )
    source = order[np.r_[before[linked], after[backward]]]
    target = order[np.r_[positions[linked], positions[backward]]]
    touched = np.zeros(len(order), bool)
    touched[source] = True
    touched[target] = True
    return FlowLinks(source, target, int((~touched).sum()), int(backward.sum()))
