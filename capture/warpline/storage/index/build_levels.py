"""Chooses and builds the levels of detail of a lane, with compiled loops or, without them, with numpy."""

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
"""Lanes with fewer events have no level."""

FIRST_SHRINK = 8
"""Minimum ratio of a lane's events to the entries of its first level."""
FIRST_SHRINK_SHORT = 6
"""The same ratio for lanes with fewer than `SHORT` events; it predates the other and hardly affects file size."""
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
    """Builds the given levels, ascending, of a lane with events."""
    maker = _Maker(start, duration, flags, kind)
    current: LodLevel | None = None
    for level in levels:
        if current is None:
            current = maker.first(level, maker.count(start, level))
        else:
            current = maker.next(current, level, maker.count(current.start, level))
        yield current


class _Maker:
    """Counts and builds the levels of one lane, with compiled loops where they exist."""

    def __init__(self, start: Int64Array, duration: Int64Array, flags: UInt8Array, kind: UInt8Array) -> None:
        self._columns = (start, duration, flags, kind)
        self._lib = levels_native.library() if levels_native.are_readable(*self._columns) else None

    def count(self, start: Int64Array, level: int) -> int:
        """Number of entries of a level over these starts."""
        if self._lib is None:
            return levels_numpy.bin_count(start, level)
        return levels_native.bin_count(self._lib, start, level)

    def first(self, level: int, entries: int) -> LodLevel:
        """Builds a level from events."""
        if self._lib is None:
            return levels_numpy.level_from_events(*self._columns, level)
        return levels_native.level_from_events(self._lib, *self._columns, level, entries)

    def next(self, finer: LodLevel, level: int, entries: int) -> LodLevel:
        """Builds a level from a finer one."""
        if self._lib is None:
            return levels_numpy.coarser(finer, level)
        return levels_native.coarser(self._lib, finer, level, entries)


def _first_level(start: Int64Array, shrink: int) -> int:
    """A level at or just below the first one worth keeping, estimated from short samples of the lane."""
    n = len(start)
    run = 1024
    heads = np.linspace(0, max(0, n - run), min(32, -(-n // run))).astype(np.int64)
    sample = np.concatenate([start[head : head + run] for head in heads.tolist()])
    # Bins get fewer with every level, so search for the level by bisection.
    low, high = 0, MAX_LEVEL // _STEP
    while low < high:
        middle = (low + high) // 2
        bins = sample >> middle * _STEP
        if (np.count_nonzero(bins[1:] != bins[:-1]) + 1) * shrink <= len(sample):
            high = middle
        else:
            low = middle + 1
    return max(0, low - 1) * _STEP
