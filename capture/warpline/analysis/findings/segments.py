"""Time of threads and GPUs as segments that lie side by side without gaps: what a diagnosis is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause

Int64Array = npt.NDArray[np.int64]
NOBODY = -1


def distinct(values: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Sorted distinct values, and for each value its place among them; not sorted where they are close together."""
    if not len(values):
        return values, values
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span > 4 * len(values) + 65_536:
        found, inverse = np.unique(values, return_inverse=True)
        return found, inverse.reshape(-1)
    used = np.zeros(span, bool)
    used[values - low] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used) + low, place[values - low]


def one_of(values: Int64Array, wanted: Sequence[int] | Int64Array) -> npt.NDArray[np.bool_]:
    """Which of some small numbers (codes, indices; -1 is none) are among those that are wanted: by a table."""
    top = max(int(values.max(initial=0)), int(np.max(wanted, initial=0))) + 2
    table = np.zeros(top, bool)
    table[np.asarray(wanted, np.int64)] = True
    found: npt.NDArray[np.bool_] = table[values]
    return found


@dataclass(frozen=True, eq=False)
class Segments:
    """Segments [n], sorted by actor, then start; those of an actor fill the range.

    ``actor`` int64; ``start``/``stop`` int64 capture ns; ``cause`` int64 code of `Cause`; ``by`` the actor whose doing
    at ``stop`` ends a wait (`NOBODY`: not known); ``place`` int64 stack id (−1: none); ``row`` event row (−1: none).
    """

    actor: Int64Array
    start: Int64Array
    stop: Int64Array
    cause: Int64Array
    by: Int64Array
    place: Int64Array
    row: Int64Array

    def __len__(self) -> int:
        return len(self.actor)

    def take(self, index: npt.NDArray[np.generic]) -> Segments:
        """Some of them, by index or mask."""
        if index.dtype == np.bool_ and index.all():
            return self
        return Segments(*(getattr(self, item.name)[index] for item in fields(self)))

    def cut(self, index: npt.NDArray[np.generic], start: Int64Array, stop: Int64Array) -> Segments:
        """Some of them with other ends."""
        rest = (self.actor, self.cause, self.by, self.place, self.row)
        actor, cause, by, place, row = (column[index] for column in rest)
        return Segments(actor, start, stop, cause, by, place, row)

    @property
    def length(self) -> Int64Array:
        """Length of each, ns."""
        return self.stop - self.start


def in_order(actor: Int64Array, time: Int64Array) -> Int64Array | None:
    """What sorts by actor, then time, stably; None for what is sorted. Quick where only parts are out of order."""
    if not len(actor):
        return None
    low = int(time.min())
    span = int(time.max()) - low + 1
    key = actor * span + (time - low)
    if (key[1:] >= key[:-1]).all():
        return None
    # One key instead of two: what is sorted in long runs is merged, and nothing else is done.
    order: Int64Array = np.argsort(key, kind="stable")
    return order


def join_segments(parts: Sequence[Segments]) -> Segments:
    """Several sets, sorted."""
    columns = [
        np.concatenate([np.empty(0, np.int64), *(getattr(part, item.name) for part in parts)])
        for item in fields(Segments)
    ]
    joined = Segments(*columns)
    order = in_order(joined.actor, joined.start)
    return joined if order is None else joined.take(order)


def make_segments(
    actor: Int64Array,
    start: Int64Array,
    stop: Int64Array,
    cause: Int64Array | int,
    by: Int64Array | int = NOBODY,
    place: Int64Array | int = -1,
    row: Int64Array | int = -1,
) -> Segments:
    """Segments from columns; a number stands for a column of it."""
    columns = (actor, start, stop, cause, by, place, row)
    return Segments(*(np.broadcast_to(np.asarray(c, np.int64), len(actor)) for c in columns))


def tile(found: Segments, actors: Int64Array, start_ns: int, stop_ns: int) -> Segments:
    """Segments cut to the range, made disjoint (the earlier one keeps the time), the rest filled as not recorded.

    ``found`` are in any order; ``actors`` are all that are wanted.
    """
    start, stop = np.maximum(found.start, start_ns), np.minimum(found.stop, stop_ns)
    inside = stop > start
    if inside.all():
        found = replace(found, start=start, stop=stop)
    else:
        found = found.cut(inside, start[inside], stop[inside])
    order = in_order(found.actor, found.start)
    found = found if order is None else found.take(order)
    # Far apart for each actor, so that one running maximum serves all.
    base = found.actor * (stop_ns - start_ns + 1) - start_ns
    reach = np.maximum.accumulate(found.stop + base) if len(found) else np.empty(0, np.int64)
    before = np.concatenate([reach[:1] - 1, reach[:-1]]) - base if len(found) else reach
    first = np.ones(len(found), bool)
    first[1:] = found.actor[1:] != found.actor[:-1]
    before = np.where(first, start_ns, before)
    begin = np.maximum(found.start, before)
    keep = found.stop > begin
    if not keep.all():
        found, begin = found.take(keep), begin[keep]
    found = replace(found, start=begin)
    free = _gaps(found, actors, start_ns, stop_ns)
    return join_segments([found, free]) if len(free) else found


def _gaps(found: Segments, actors: Int64Array, start_ns: int, stop_ns: int) -> Segments:
    """What disjoint sorted segments of some actors leave free of the range."""
    own = np.unique(actors)
    first = np.searchsorted(found.actor, own, "left")
    last = np.searchsorted(found.actor, own, "right") - 1
    has = last >= first
    # Between two of one actor; before the first; behind the last; and all of it where there is none.
    between = np.flatnonzero((found.start[1:] > found.stop[:-1]) & (found.actor[1:] == found.actor[:-1]))
    actor = np.concatenate([found.actor[between], own[has], own[has], own[~has]])
    bare = int((~has).sum())
    ends = np.full(int(has.sum()), stop_ns)
    start = np.concatenate(
        [found.stop[between], ends * 0 + start_ns, found.stop[last[has]], np.full(bare, start_ns)]
    )
    stop = np.concatenate([found.start[between + 1], found.start[first[has]], ends, np.full(bare, stop_ns)])
    free = np.flatnonzero(stop > start)
    free = free[np.lexsort((start[free], actor[free]))]
    return make_segments(actor[free], start[free], stop[free], Cause.NOT_RECORDED)


class Index:
    """Finds segments of an actor in a stretch of time by binary search."""

    def __init__(self, segments: Segments, start_ns: int, stop_ns: int) -> None:
        self.segments = segments
        self._origin, self._span = start_ns, stop_ns - start_ns + 1
        self._starts = self._key(segments.actor, segments.start)

    def _key(self, actor: Int64Array, time: Int64Array) -> Int64Array:
        key: Int64Array = actor * self._span + (time - self._origin)
        return key

    def at(self, actor: Int64Array, time: Int64Array) -> Int64Array:
        """The segment of each actor that a moment of the range lies in (its start counts, its stop does not);
        −1 for an actor without any.
        """
        at = np.searchsorted(self._starts, self._key(actor, time), "right") - 1
        if not len(self.segments):
            return np.full(len(actor), -1, np.int64)
        known = (at >= 0) & (self.segments.actor[np.maximum(at, 0)] == actor)
        return np.where(known, at, -1)

    def overlapping(
        self, actor: Int64Array, start: Int64Array, stop: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Every (window, segment) that overlap; windows lie in the range and are not empty."""
        first = self.at(actor, start)
        last = self.at(actor, stop - 1)
        count = np.where(first >= 0, last - first + 1, 0)
        window = np.repeat(np.arange(len(actor)), count)
        offset = np.arange(len(window)) - np.repeat(np.cumsum(count) - count, count)
        return window, np.repeat(first, count) + offset


def overlay(base: Segments, patch: Segments, start_ns: int, stop_ns: int) -> Segments:
    """The base with patches laid over it; both disjoint per actor and inside the range, the base without gaps."""
    if not len(patch):
        return base
    patch = join_segments([patch])
    free = _gaps(patch, np.unique(base.actor), start_ns, stop_ns)
    window, segment = Index(base, start_ns, stop_ns).overlapping(free.actor, free.start, free.stop)
    start = np.maximum(free.start[window], base.start[segment])
    stop = np.minimum(free.stop[window], base.stop[segment])
    return join_segments([base.cut(segment, start, stop), patch])


def split_at(segments: Segments, index: Index, actor: Int64Array, time: Int64Array) -> Segments:
    """The segments cut at moments of actors that lie inside one."""
    at = index.at(actor, time)
    inside = np.flatnonzero((at >= 0) & (segments.start[np.maximum(at, 0)] < time))
    at, time = at[inside], time[inside]
    order = in_order(at, time)
    if order is not None:
        at, time = at[order], time[order]
    new = np.ones(len(at), bool)
    new[1:] = (at[1:] != at[:-1]) | (time[1:] != time[:-1])
    at, time = at[new], time[new]
    if not len(at):
        return segments
    which = np.repeat(np.arange(len(segments)), np.bincount(at, minlength=len(segments)) + 1)
    # Behind the part a cut segment begins with comes one for each cut: the k-th of all has k + 1 more before it.
    place = at + np.arange(1, len(at) + 1)
    start, stop = segments.start[which], segments.stop[which]
    start[place] = time
    stop[place - 1] = time
    return segments.cut(which, start, stop)
