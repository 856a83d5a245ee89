"""Which levels of detail a lane gets, and makes them: by the compiled loops, or by numpy where there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.schema import MAX_LEVEL
from warpline.storage.index import levels_native, levels_numpy
from warpline.storage.index.level_of_detail import LodLevel

Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]

LEAST_EVENTS = 64
"""A lane of fewer events has no level."""

FIRST_SHRINK = 8
"""A lane has at least so many times as many events as its first level has entries."""
FIRST_SHRINK_SHORT = 6
"""The same of a lane with fewer than `SHORT` events: as the format was frozen, and of no weight in a file."""
SHORT = 4096

_NEXT_SHRINK = 1.5
_STEP = 2


def build_levels(
    start: Int64Array, duration: Int64Array, flags: UInt8Array, kind: UInt8Array
) -> Iterator[LodLevel]:
    """Levels of one lane from fine to coarse; the arguments are the lane's columns (memory-mapped is fine).

    The first level has at most an eighth of the events; each further one is four times coarser and kept when it
    shrinks by half again or more. A lane of a few hundred events has no level at all.
    """
    n = len(start)
    if n < LEAST_EVENTS:
        return
    maker = _Maker(start, duration, flags, kind)
    shrink = FIRST_SHRINK if n >= SHORT else FIRST_SHRINK_SHORT
    level = _first_level(start, shrink)
    while level <= MAX_LEVEL:
        entries = maker.count(start, level)
        if entries * shrink <= n:
            break
        level += _STEP
    else:
        return
    current = maker.first(level, entries)
    yield current
    while level + _STEP <= MAX_LEVEL and len(current.start) > LEAST_EVENTS:
        level += _STEP
        entries = maker.count(current.start, level)
        if entries * _NEXT_SHRINK > len(current.start):
            continue
        current = maker.next(current, level, entries)
        yield current


def levels_at(
    start: Int64Array, duration: Int64Array, flags: UInt8Array, kind: UInt8Array, levels: Sequence[int]
) -> Iterator[LodLevel]:
    """These levels, ascending, of a lane that has events."""
    maker = _Maker(start, duration, flags, kind)
    current: LodLevel | None = None
    for level in levels:
        if current is None:
            current = maker.first(level, maker.count(start, level))
        else:
            current = maker.next(current, level, maker.count(current.start, level))
        yield current


class _Maker:
    """Counts and makes levels of one lane, compiled where that can be."""

    def __init__(self, start: Int64Array, duration: Int64Array, flags: UInt8Array, kind: UInt8Array) -> None:
        self._columns = (start, duration, flags, kind)
        self._lib = levels_native.library() if levels_native.are_readable(*self._columns) else None

    def count(self, start: Int64Array, level: int) -> int:
        """Entries of a level over these starts."""
        if self._lib is None:
            return levels_numpy.bin_count(start, level)
        return levels_native.bin_count(self._lib, start, level)

    def first(self, level: int, entries: int) -> LodLevel:
        """The level made of events."""
        if self._lib is None:
            return levels_numpy.level_from_events(*self._columns, level)
        return levels_native.level_from_events(self._lib, *self._columns, level, entries)

    def next(self, finer: LodLevel, level: int, entries: int) -> LodLevel:
        """The level made of a finer one."""
        if self._lib is None:
            return levels_numpy.coarser(finer, level)
        return levels_native.coarser(self._lib, finer, level, entries)


def _first_level(start: Int64Array, shrink: int) -> int:
    """A level at or just below the first one worth keeping, judged from short runs all over the lane."""
    n = len(start)
    run = 1024
    heads = np.linspace(0, max(0, n - run), min(32, -(-n // run))).astype(np.int64)
    sample = np.concatenate([start[head : head + run] for head in heads.tolist()])
    # Fewer bins with every level: halve the levels that are in question.
    low, high = 0, MAX_LEVEL // _STEP
    while low < high:
        middle = (low + high) // 2
        bins = sample >> middle * _STEP
        if (np.count_nonzero(bins[1:] != bins[:-1]) + 1) * shrink <= len(sample):
            high = middle
        else:
            low = middle + 1
    return max(0, low - 1) * _STEP
