"""The level-of-detail pyramid of a lane: sparse time bins with the longest event and the busy time of the rest.

Level ``k`` has bins of ``2**k`` ns and one entry for each bin in which an event starts. An event as long as a bin is
always the longest of its bin, because nothing else can start before it ends: a query that picks bins no wider
than a pixel finds every event of at least one pixel, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.storage.columns.schema import MAX_LEVEL, MAX_PACKED_DURATION

Int64Array = npt.NDArray[np.int64]
UInt64Array = npt.NDArray[np.uint64]
UInt32Array = npt.NDArray[np.uint32]

LEAST_EVENTS = 64
"""A lane of fewer events has no level."""

_FIRST_SHRINK = 6
_NEXT_SHRINK = 1.5
_STEP = 2
_PIECE = 1 << 16
_ROW_BITS = 20
_KEY_DURATION_MAX = (1 << (63 - _ROW_BITS)) - 1


@dataclass(frozen=True)
class LodLevel:
    """Entries of one level of one lane, sorted by time.

    ``start`` int64 ns of the longest event starting in the bin; ``longest`` its packed duration, flags and kind;
    ``rest`` busy ns of the other events starting in the bin; ``row`` number of the longest event in its lane.
    """

    level: int
    start: Int64Array
    longest: UInt64Array
    rest: UInt32Array
    row: UInt32Array


def pack_longest(
    duration: Int64Array, flags: npt.NDArray[np.uint8], kind: npt.NDArray[np.uint8]
) -> UInt64Array:
    """``duration << 16 | flags << 8 | kind``; durations beyond 48 bits (78 hours) saturate."""
    packed = np.minimum(duration, MAX_PACKED_DURATION).astype(np.uint64)
    packed <<= np.uint64(16)
    packed |= flags.astype(np.uint64) << np.uint64(8)
    packed |= kind
    return packed


def unpack_duration(longest: UInt64Array) -> Int64Array:
    """Duration in ns; a saturated one must be read from the event itself."""
    return (longest >> np.uint64(16)).view(np.int64)


def unpack_flags(longest: UInt64Array) -> npt.NDArray[np.uint8]:
    return (longest >> np.uint64(8)).astype(np.uint8)


def unpack_kind(longest: UInt64Array) -> npt.NDArray[np.uint8]:
    return longest.astype(np.uint8)


def build_levels(
    start: Int64Array, duration: Int64Array, flags: npt.NDArray[np.uint8], kind: npt.NDArray[np.uint8]
) -> Iterator[LodLevel]:
    """Levels of one lane from fine to coarse; the arguments are the lane's columns (memory-mapped is fine).

    The first level has at most a sixth of the events; each further one is four times coarser and kept when it
    shrinks by half again or more. A lane of a few hundred events has no level at all.
    """
    n = len(start)
    if n < LEAST_EVENTS:
        return
    level = _first_level(start)
    while level <= MAX_LEVEL:
        if _bin_count(start, level) * _FIRST_SHRINK <= n:
            break
        level += _STEP
    else:
        return
    current = _level_from_events(start, duration, flags, kind, level)
    yield current
    while level + _STEP <= MAX_LEVEL and len(current.start) > 64:
        level += _STEP
        bins = current.start >> level
        if (np.count_nonzero(bins[1:] != bins[:-1]) + 1) * _NEXT_SHRINK > len(bins):
            continue
        current = _coarser(current, level)
        yield current


def _first_level(start: Int64Array) -> int:
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
        if (np.count_nonzero(bins[1:] != bins[:-1]) + 1) * _FIRST_SHRINK <= len(sample):
            high = middle
        else:
            low = middle + 1
    return max(0, low - 1) * _STEP


def _bin_count(start: Int64Array, level: int) -> int:
    total = 1
    for first in range(0, len(start), _PIECE):
        piece = start[max(0, first - 1) : first + _PIECE] >> level
        total += int(np.count_nonzero(piece[1:] != piece[:-1]))
    return total


def _level_from_events(
    start: Int64Array,
    duration: Int64Array,
    flags: npt.NDArray[np.uint8],
    kind: npt.NDArray[np.uint8],
    level: int,
) -> LodLevel:
    pieces: list[LodLevel] = []
    first = 0
    while first < len(start):
        stop = _bin_border(start, min(first + _PIECE, len(start)), level)
        begin, length, bits = start[first:stop], duration[first:stop], flags[first:stop]
        idle = bits & np.uint8(NOT_BUSY)
        busy = np.where(idle, 0, length) if idle.any() else length
        bins = begin >> level
        group = _group_heads(bins)
        winner = _longest(length, group)
        own = length[winner]
        rest = np.add.reduceat(busy, group) - np.where(idle[winner], 0, own)
        pieces.append(
            LodLevel(
                level,
                begin[winner],
                # Only what stays is packed: a sixth of the events or less.
                pack_longest(own, bits[winner], kind[first:stop][winner]),
                rest.astype(np.uint32),
                (winner + first).astype(np.uint32),
            )
        )
        first = stop
    return LodLevel(
        level,
        np.concatenate([piece.start for piece in pieces]),
        np.concatenate([piece.longest for piece in pieces]),
        np.concatenate([piece.rest for piece in pieces]),
        np.concatenate([piece.row for piece in pieces]),
    )


def _bin_border(start: Int64Array, stop: int, level: int) -> int:
    """The first index from ``stop`` on that begins a new bin, so that pieces never share one."""
    if stop >= len(start):
        return len(start)
    last_bin = int(start[stop - 1]) >> level
    return int(np.searchsorted(start, (last_bin + 1) << level, "left"))


def _coarser(finer: LodLevel, level: int) -> LodLevel:
    duration = unpack_duration(finer.longest)
    idle = (finer.longest >> np.uint64(8)) & np.uint64(NOT_BUSY)
    busy = np.where(idle, 0, duration) + finer.rest
    group = _group_heads(finer.start >> level)
    winner = _longest(duration, group)
    # Only events that count as busy add to the rest; the winner's own share is told by its flags.
    rest = np.add.reduceat(busy, group) - np.where(idle[winner], 0, duration[winner])
    return LodLevel(
        level, finer.start[winner], finer.longest[winner], rest.astype(np.uint32), finer.row[winner]
    )


@cache
def _first_positions() -> Int64Array:
    return np.arange(2 * _PIECE)


def _positions(n: int) -> Int64Array:
    """0, 1, 2 … as one array that stays in the processor's cache."""
    positions = _first_positions()
    return positions[:n] if n <= len(positions) else np.arange(n)


def _group_heads(bins: Int64Array) -> Int64Array:
    """Index of the first input of each bin."""
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(bins[1:] != bins[:-1]) + 1])


def _longest(duration: Int64Array, group: Int64Array) -> Int64Array:
    """Index of a longest input of each group."""
    n = len(duration)
    if n > 1 << _ROW_BITS:
        return _winners(duration, group)
    key = duration << _ROW_BITS
    if int(duration.max()) > _KEY_DURATION_MAX:
        key = np.minimum(duration, _KEY_DURATION_MAX) << _ROW_BITS
    key |= _positions(n)
    return np.asarray(np.maximum.reduceat(key, group) & ((1 << _ROW_BITS) - 1), np.int64)


def _winners(duration: Int64Array, group: Int64Array) -> Int64Array:
    """Index of a longest input of each group, for more inputs than fit a packed key."""
    longest = np.maximum.reduceat(duration, group)
    sizes = np.diff(np.r_[group, len(duration)])
    hits = np.flatnonzero(duration == np.repeat(longest, sizes))
    owner = np.searchsorted(group, hits, "right") - 1
    _, first = np.unique(owner, return_index=True)
    return np.asarray(hits[first], np.int64)
