"""Joins the two ends of links by keys such as correlation ids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


Starts = Callable[[Int64Array], Int64Array]
"""Starts of rows, int64 ns on one clock."""

_DENSE = 8


def join_keys(
    from_keys: Int64Array,
    from_rows: Int64Array,
    to_keys: Int64Array,
    to_rows: Int64Array,
    starts: Starts,
) -> tuple[Int64Array, Int64Array]:
    """Pairs (from row, to row) of equal key: each *to* gets one *from*, a *from* may have many.

    Where several *from* share the key (an id that was used again), a *to* takes the latest that starts not after
    it, or the first of them when all start later; ``starts`` is asked only then. A key with one side only makes no
    pair.
    """
    if not len(from_keys) or not len(to_keys):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(from_keys.min()), int(from_keys.max())
    if high - low < _DENSE * (len(from_keys) + len(to_keys)):
        # Ids that count up are dense: one slot for each.
        place = np.full(high - low + 2, -1, np.int64)
        place[from_keys - low] = np.arange(len(from_keys))
        if np.array_equal(place[from_keys - low], np.arange(len(from_keys))):
            inside = (to_keys >= low) & (to_keys <= high)
            # Keys outside the range share the last, unused slot.
            choice = place[np.where(inside, to_keys - low, high - low + 1)]
            matched = choice >= 0
            return from_rows[choice[matched]], to_rows[matched]
    from_starts, to_starts = starts(from_rows), starts(to_rows)
    order = np.lexsort((from_starts, from_keys))
    keys, rows, ordered = from_keys[order], from_rows[order], from_starts[order]
    first = np.searchsorted(keys, to_keys, "left")
    last = np.searchsorted(keys, to_keys, "right") - 1
    matched = last >= first
    choice = first.copy()
    several = np.flatnonzero(last > first)
    if len(several):
        choice[several] = _latest_before(keys, ordered, to_keys[several], to_starts[several], first[several])
    return rows[choice[matched]], to_rows[matched]


def _latest_before(
    keys: Int64Array, starts: Int64Array, to_keys: Int64Array, to_starts: Int64Array, first: Int64Array
) -> Int64Array:
    """Index of the last (key, start) entry at or before each (to_key, to_start), at least ``first``."""
    is_to = np.r_[np.zeros(len(keys), np.int8), np.ones(len(to_keys), np.int8)]
    order = np.lexsort((is_to, np.r_[starts, to_starts], np.r_[keys, to_keys]))
    position = np.where(order < len(keys), order, -1)
    latest = np.maximum.accumulate(position)
    result = np.empty(len(to_keys), np.int64)
    at = order >= len(keys)
    result[order[at] - len(keys)] = latest[at]
    return np.maximum(result, first)
