"""Builds the same levels of detail as `levels_native` with numpy, where the compiled loops cannot be used."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.storage.index.level_of_detail import LodLevel, pack_longest, unpack_duration

Int64Array = npt.NDArray[np.int64]

_PIECE = 1 << 16
_ROW_BITS = 20
_KEY_DURATION_MAX = (1 << (63 - _ROW_BITS)) - 1


def bin_count(start: Int64Array, level: int) -> int:
    """Bins of a level in which something starts, at least one."""
    total = 1
    for first in range(0, len(start), _PIECE):
        piece = start[max(0, first - 1) : first + _PIECE] >> level
        total += int(np.count_nonzero(piece[1:] != piece[:-1]))
    return total


def level_from_events(
    start: Int64Array,
    duration: Int64Array,
    flags: npt.NDArray[np.uint8],
    kind: npt.NDArray[np.uint8],
    level: int,
) -> LodLevel:
    """A level from the columns of a lane, which has events."""
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
                # Pack only the winners: an eighth of the events or less.
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


def coarser(finer: LodLevel, level: int) -> LodLevel:
    """A level from a finer one."""
    duration = unpack_duration(finer.longest)
    idle = (finer.longest >> np.uint64(8)) & np.uint64(NOT_BUSY)
    busy = np.where(idle, 0, duration) + finer.rest
    group = _group_heads(finer.start >> level)
    winner = _longest(duration, group)
    # Only busy events add to the rest; the winner's flags say whether it is busy itself.
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
    """Index of the longest input of each group; the last one of equals."""
    n = len(duration)
    if n > 1 << _ROW_BITS or int(duration.max()) > _KEY_DURATION_MAX:
        return _winners(duration, group)
    key = duration << _ROW_BITS
    key |= _positions(n)
    return np.asarray(np.maximum.reduceat(key, group) & ((1 << _ROW_BITS) - 1), np.int64)


def _winners(duration: Int64Array, group: Int64Array) -> Int64Array:
    """The same for more inputs than fit a packed key, and for longer ones."""
    longest = np.maximum.reduceat(duration, group)
    sizes = np.diff(np.r_[group, len(duration)])
    hits = np.flatnonzero(duration == np.repeat(longest, sizes))
    owner = np.searchsorted(group, hits, "right")
    return np.asarray(hits[np.flatnonzero(np.diff(owner, append=-1))], np.int64)
