"""Segments: the time of threads and GPUs, cut into pieces without gaps. A diagnosis is computed from them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.platform.systems import library_file

Int64Array = npt.NDArray[np.int64]
IntArray = npt.NDArray[np.signedinteger[Any]]
NOBODY = -1
_NARROW = np.iinfo(np.int32).max
LIBRARY = Path(__file__).parent / library_file("waits")
SIGNATURES: Signatures = {
    "warpline_segments_at": (None, [INTEGER, *[POINTER] * 4, INTEGER, *[POINTER] * 2]),
    "warpline_blame": (
        INTEGER,
        [*[POINTER] * 6, INTEGER, POINTER, *[INTEGER] * 6, *[POINTER] * 6],
    ),
    "warpline_overlay": (
        INTEGER,
        [INTEGER, *[POINTER] * 3, INTEGER, *[POINTER] * 3, INTEGER, *[POINTER] * 3],
    ),
    "warpline_by_ends": (None, [*[POINTER] * 3, INTEGER, *[POINTER] * 2]),
    "warpline_replay": (
        None,
        [INTEGER, *[POINTER] * 5, *[INTEGER] * 3, POINTER, INTEGER, POINTER],
    ),
    "warpline_walk": (INTEGER, [*[POINTER] * 2, *[INTEGER] * 5, *[POINTER] * 2]),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loops of a diagnosis; None when they are not compiled."""
    return load(LIBRARY, SIGNATURES)


def as_int32(values: IntArray) -> npt.NDArray[np.int32]:
    """Numbers of actors or segments as the compiled loops take them."""
    return np.ascontiguousarray(values, np.int32)


def narrow(values: npt.NDArray[np.integer[Any]]) -> IntArray:
    """Integers as int32 where they fit, to halve the memory."""
    fits = not len(values) or (int(values.max()) <= _NARROW and int(values.min()) >= -_NARROW)
    return values.astype(np.int32 if fits else np.int64, copy=False)


def distinct(values: npt.NDArray[np.integer[Any]]) -> tuple[Int64Array, Int64Array]:
    """Sorted distinct values, and for each value its index among them; without a sort for dense values."""
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span > 4 * len(values) + 65_536:
        unique, inverse = np.unique(values, return_inverse=True)
        return unique.astype(np.int64, copy=False), inverse.reshape(-1)
    used = np.zeros(span, bool)
    used[values - low] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used) + low, place[values - low]


def doing_of(segments: Segments, groups: IntArray) -> IntArray:
    """A number for the cause and place of each segment; ``groups`` numbers the places, 0 for none."""
    size = int(groups.max(initial=0)) + 1
    doing: IntArray = segments.cause.astype(np.int32) * size
    doing += groups
    return doing


def one_of(values: IntArray, wanted: Sequence[int] | IntArray) -> npt.NDArray[np.bool_]:
    """Which of some small numbers (codes or indices; −1 is none) are in ``wanted``, by a table."""
    top = max(int(values.max(initial=0)), int(np.max(wanted, initial=0))) + 2
    table = np.zeros(top, bool)
    table[np.asarray(wanted, np.int64)] = True
    return np.asarray(table[values])


@dataclass(frozen=True, eq=False, kw_only=True)
class Segments:
    """Segments [n], sorted by actor, then start; those of an actor fill the range.

    ``start``/``stop`` int64 capture ns; ``cause`` int8 code of `Cause`; ``by`` the actor whose action at ``stop`` ends
    a wait (`NOBODY`: unknown); ``place`` stack id (−1: none); ``row`` event row (−1: none). All but times and causes
    are int32 where they fit: widen them before arithmetic.
    """

    actor: IntArray
    start: Int64Array
    stop: Int64Array
    cause: npt.NDArray[np.int8]
    by: IntArray
    place: IntArray
    row: IntArray

    def __len__(self) -> int:
        return len(self.actor)

    def take(self, index: npt.NDArray[np.generic] | slice) -> Segments:
        """A subset, by index, mask or slice."""
        if not isinstance(index, slice) and index.dtype == np.bool_ and index.all():
            return self
        return Segments(**{item.name: _taken(getattr(self, item.name), index) for item in fields(self)})

    def cut(self, index: npt.NDArray[np.generic], start: Int64Array, stop: Int64Array) -> Segments:
        """A subset with other ends."""
        rest = {name: _taken(getattr(self, name), index) for name in ("actor", "cause", "by", "place", "row")}
        return Segments(start=start, stop=stop, **rest)

    @property
    def length(self) -> Int64Array:
        """Length of each segment, ns."""
        return self.stop - self.start


def in_order(actor: IntArray, time: Int64Array) -> Int64Array | None:
    """The stable order by actor, then time; None when already sorted. Quick when only parts are out of order."""
    if (
        not len(actor)
        or ((actor[1:] > actor[:-1]) | ((actor[1:] == actor[:-1]) & (time[1:] >= time[:-1]))).all()
    ):
        return None
    low = int(time.min())
    span = int(time.max()) - low + 1
    key = time - low
    key += actor.astype(np.int64) * span
    # One key instead of two, so that the sort only merges long sorted runs.
    order: Int64Array = np.argsort(key, kind="stable")
    return order


def join_segments(parts: Sequence[Segments]) -> Segments:
    """Several sets as one, sorted."""
    joined = chain_segments(list(parts))
    order = in_order(joined.actor, joined.start)
    return joined if order is None else joined.take(order)


def chain_segments(parts: list[Segments]) -> Segments:
    """Several sets one after another; empties the list, so that nothing large is held twice."""
    some = [part for part in parts if len(part)]
    parts.clear()
    if not some:
        none = np.empty(0, np.int64)
        return make_segments(none, none, none, Cause.NOT_RECORDED)
    if len(some) == 1:
        return some[0]
    columns = {item.name: [getattr(part, item.name) for part in some] for item in fields(Segments)}
    some.clear()
    return Segments(**{name: _chained(columns.pop(name)) for name in list(columns)})


def _is_constant(column: IntArray) -> bool:
    """Whether a column is one broadcast number."""
    return len(column) > 0 and column.strides == (0,)


def _taken(column: IntArray, index: npt.NDArray[np.generic] | slice) -> IntArray:
    if isinstance(index, slice) or index.dtype == np.bool_ or not _is_constant(column):
        return column[index]
    return np.broadcast_to(column[0], len(index))


def _chained(columns: list[IntArray]) -> IntArray:
    if all(map(_is_constant, columns)) and len({(int(column[0]), column.dtype) for column in columns}) == 1:
        return np.broadcast_to(columns[0][0], sum(map(len, columns)))
    return np.concatenate(columns)


def make_segments(
    actor: IntArray | int,
    start: Int64Array,
    stop: Int64Array,
    cause: IntArray | int,
    by: IntArray | int = NOBODY,
    place: IntArray | int = -1,
    row: IntArray | int = -1,
) -> Segments:
    """Segments from columns; a single number is broadcast."""

    def column(values: IntArray | int) -> IntArray:
        if isinstance(values, np.ndarray):
            return narrow(values)
        return np.broadcast_to(narrow(np.array([values], np.int64))[0], len(start))

    kinds = np.broadcast_to(np.asarray(cause, np.int8), len(start))
    return Segments(
        actor=column(actor),
        start=start,
        stop=stop,
        cause=kinds,
        by=column(by),
        place=column(place),
        row=column(row),
    )


def tile(segments: Segments, actors: IntArray, start_ns: int, stop_ns: int) -> Segments:
    """Segments cut to the range and made disjoint (the earlier one keeps the time); the rest counts as not recorded.

    The segments may be in any order; ``actors`` are all actors wanted.
    """
    start, stop = np.maximum(segments.start, start_ns), np.minimum(segments.stop, stop_ns)
    inside = stop > start
    if inside.all():
        segments = replace(segments, start=start, stop=stop)
    else:
        segments = segments.cut(inside, start[inside], stop[inside])
    order = in_order(segments.actor, segments.start)
    segments = segments if order is None else segments.take(order)
    # Actors are far apart on this axis, so that one running maximum serves all.
    base = segments.actor.astype(np.int64) * (stop_ns - start_ns + 1) - start_ns
    reach = np.maximum.accumulate(segments.stop + base) if len(segments) else np.empty(0, np.int64)
    before = np.concatenate([reach[:1] - 1, reach[:-1]]) - base if len(segments) else reach
    first = np.ones(len(segments), bool)
    first[1:] = segments.actor[1:] != segments.actor[:-1]
    before = np.where(first, start_ns, before)
    begin = np.maximum(segments.start, before)
    keep = segments.stop > begin
    if not keep.all():
        segments, begin = segments.take(keep), begin[keep]
    segments = replace(segments, start=begin)
    free = _gaps(segments, actors, start_ns, stop_ns)
    return join_segments([segments, free]) if len(free) else segments


def _gaps(segments: Segments, actors: IntArray, start_ns: int, stop_ns: int) -> Segments:
    """The parts of the range that disjoint sorted segments of some actors leave free."""
    own = np.unique(actors).astype(segments.actor.dtype, copy=False)
    first = np.searchsorted(segments.actor, own, "left")
    last = np.searchsorted(segments.actor, own, "right") - 1
    has = last >= first
    # Gaps: between two segments of an actor, before its first, after its last; the whole range without any.
    between = np.flatnonzero(
        (segments.start[1:] > segments.stop[:-1]) & (segments.actor[1:] == segments.actor[:-1])
    )
    actor = np.concatenate([segments.actor[between], own[has], own[has], own[~has]])
    bare = int((~has).sum())
    ends = np.full(int(has.sum()), stop_ns)
    start = np.concatenate(
        [segments.stop[between], ends * 0 + start_ns, segments.stop[last[has]], np.full(bare, start_ns)]
    )
    stop = np.concatenate(
        [segments.start[between + 1], segments.start[first[has]], ends, np.full(bare, stop_ns)]
    )
    free = np.flatnonzero(stop > start)
    free = free[np.lexsort((start[free], actor[free]))]
    return make_segments(actor[free], start[free], stop[free], Cause.NOT_RECORDED)


class Index:
    """Finds segments of an actor by binary search; the compiled version starts at the last one returned."""

    def __init__(self, segments: Segments, start_ns: int, stop_ns: int, compiled: bool = True) -> None:
        self.segments = segments
        self._origin, self._span = start_ns, stop_ns - start_ns + 1
        self.library = library() if compiled else None

    @cached_property
    def first(self) -> Int64Array:
        """Where the segments of each actor begin, with one entry past the last actor."""
        actor = self.segments.actor
        last = int(actor[-1]) if len(actor) else -1
        return np.searchsorted(actor, np.arange(last + 2, dtype=actor.dtype)).astype(np.int64, copy=False)

    @cached_property
    def cursor(self) -> Int64Array:
        """The segment last returned for each actor."""
        return np.minimum(self.first[:-1], max(len(self.segments) - 1, 0))

    @cached_property
    def _starts(self) -> Int64Array:
        return self._key(self.segments.actor, self.segments.start)

    def _key(self, actor: IntArray, time: Int64Array) -> Int64Array:
        key: Int64Array = actor.astype(np.int64)
        key *= self._span
        key += time
        key -= self._origin
        return key

    def at(self, actor: IntArray, time: Int64Array) -> Int64Array:
        """The segment of each actor at a moment of the range (start inclusive, stop exclusive); −1 for none."""
        if not len(self.segments):
            return np.full(len(actor), -1, np.int64)
        if self.library is not None:
            return self._compiled_at(actor, time)
        at = np.searchsorted(self._starts, self._key(actor, time), "right") - 1
        known = (at >= 0) & (self.segments.actor[np.maximum(at, 0)] == actor)
        return np.where(known, at, -1)

    def _compiled_at(self, actor: IntArray, time: Int64Array) -> Int64Array:
        places = np.empty(len(actor), np.int64)
        actors, times = as_int32(actor), np.ascontiguousarray(time, np.int64)
        start = np.ascontiguousarray(self.segments.start)
        assert self.library is not None
        self.library.warpline_segments_at(
            len(places), address(actors), address(times), address(start), address(self.first),
            len(self.cursor), address(self.cursor), address(places),
        )  # fmt: skip
        return places

    def overlapping(
        self, actor: IntArray, start: Int64Array, stop: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Every overlapping pair (window, segment); windows lie in the range and are not empty."""
        first = self.at(actor, start)
        last = self.at(actor, stop - 1)
        count = np.where(first >= 0, last - first + 1, 0)
        if len(count) and (count == 1).all():
            return np.arange(len(actor)), first
        window = np.repeat(np.arange(len(actor)), count)
        segment = np.arange(len(window))
        segment += np.repeat(first - (np.cumsum(count) - count), count)
        return window, segment


def overlay(base: Segments, patch: Segments, start_ns: int, stop_ns: int, compiled: bool = True) -> Segments:
    """The base overlaid with patches; both disjoint per actor and inside the range, the base without gaps."""
    if not len(patch):
        return base
    patch = join_segments([patch])
    loops = library() if compiled else None
    if loops is not None:
        return _compiled_overlay(base, patch, loops)
    free = _gaps(patch, np.unique(base.actor), start_ns, stop_ns)
    window, segment = Index(base, start_ns, stop_ns).overlapping(free.actor, free.start, free.stop)
    start = np.maximum(free.start[window], base.start[segment])
    stop = np.minimum(free.stop[window], base.stop[segment])
    return join_segments([base.cut(segment, start, stop), patch])


def _compiled_overlay(base: Segments, patch: Segments, loops: ctypes.CDLL) -> Segments:
    room = len(base) + 2 * len(patch)
    source, start, stop = (np.empty(room, np.int64) for _ in range(3))
    columns = [
        (as_int32(part.actor), np.ascontiguousarray(part.start), np.ascontiguousarray(part.stop))
        for part in (base, patch)
    ]
    below, above = ([address(column) for column in part] for part in columns)
    count = loops.warpline_overlay(
        len(base), *below, len(patch), *above, room, address(source), address(start), address(stop)
    )
    source, start, stop = source[:count], start[:count], stop[:count]
    patched = np.flatnonzero(source >= len(base))
    patch_rows = source[patched] - len(base)
    source[patched] = 0
    rest = {
        name: _laid(getattr(base, name), getattr(patch, name), source, patched, patch_rows)
        for name in ("actor", "cause", "by", "place", "row")
    }
    return Segments(start=start, stop=stop, **rest)


def _laid(
    below: IntArray, above: IntArray, source: Int64Array, patched: Int64Array, patch_rows: Int64Array
) -> IntArray:
    """A column of ``below``, replaced by ``above`` where it is patched."""
    if _is_constant(below) and _is_constant(above) and below[0] == above[0] and below.dtype == above.dtype:
        return np.broadcast_to(below[0], len(source))
    column: IntArray = below[source].astype(np.result_type(below, above), copy=False)
    column[patched] = above[patch_rows]
    return column


def split_at(segments: Segments, index: Index, actor: IntArray, time: Int64Array) -> Segments:
    """The segments cut at the given moments of actors."""
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
    # Each cut adds one segment after the one it cuts: the k-th cut has k + 1 more segments before it.
    place = at + np.arange(1, len(at) + 1)
    begins = np.ones(len(segments) + len(at), bool)
    begins[place] = False
    source = np.cumsum(begins, dtype=np.int32)
    source -= 1
    start, stop = segments.start[source], segments.stop[source]
    start[place] = time
    stop[place - 1] = time
    return segments.cut(source, start, stop)
