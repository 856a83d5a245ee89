"""Links between events, both ways."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.schema import NO_ROW

Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]


class Links:
    """``from_row``, ``to_row`` int64, ``kind`` uint8 (see `kind_name`), by ``from_row``; −1 is outside the capture."""

    def __init__(
        self,
        from_row: Int64Array,
        to_row: Int64Array,
        kind: UInt8Array,
        by_to: Int64Array,
        kinds: Sequence[str],
        n_events: int,
    ) -> None:
        """The columns as they are stored; ``kinds`` are the names of link kinds by code."""
        self._from_row = from_row
        self._to_row = to_row
        self.kind = kind
        self._by_to = by_to
        self.kinds = tuple(kinds)
        self._n_events = n_events

    @cached_property
    def from_row(self) -> Int64Array:
        """Source row of each link, int64 ascending; −1 outside the capture and for damaged rows."""
        return self._sound(self._from_row)

    @cached_property
    def to_row(self) -> Int64Array:
        """Target row of each link, int64; −1 outside the capture and for damaged rows."""
        return self._sound(self._to_row)

    @property
    def stored(self) -> tuple[Int64Array, Int64Array]:
        """``from_row`` and ``to_row`` as stored."""
        return self._from_row, self._to_row

    def _sound(self, rows: Int64Array) -> Int64Array:
        if len(rows) and (int(rows.min()) < NO_ROW or int(rows.max()) >= self._n_events):
            return self._clamp(rows)
        return rows

    def __len__(self) -> int:
        return len(self._from_row)

    def kind_name(self, code: int) -> str:
        return self.kinds[code] if 0 <= code < len(self.kinds) else ""

    def counts(self) -> dict[str, int]:
        """Number of links of each kind."""
        number = np.bincount(self.kind, minlength=256)
        return {name: int(number[code]) for code, name in enumerate(self.kinds)}

    def is_index_sound(self) -> bool:
        """Whether the index by ``to_row`` is a permutation that sorts the links; reads everything."""
        order = self._by_to
        if not np.array_equal(np.sort(order), np.arange(len(order))):
            return False
        ordered = self._to_row[order]
        return bool(np.all(ordered[1:] >= ordered[:-1]))

    def leaving(self, row: int) -> tuple[Int64Array, UInt8Array]:
        """Rows an event leads to (−1: outside the capture) and the kinds of these links."""
        first, stop = (int(np.searchsorted(self._from_row, row, side)) for side in ("left", "right"))
        return self._clamp(self._to_row[first:stop]), self.kind[first:stop]

    def arriving(self, row: int) -> tuple[Int64Array, UInt8Array]:
        """Rows that lead to an event (−1: outside the capture) and the kinds of these links."""
        # One row: Python's own search is a hundred times faster than the one for many.
        first = bisect_left(range(len(self._by_to)), row, key=self._arrives_at)
        stop = bisect_right(range(len(self._by_to)), row, first, key=self._arrives_at)
        index = np.clip(self._by_to[first:stop], 0, max(0, len(self) - 1))
        return self._clamp(self._from_row[index]), self.kind[index]

    def leaving_many(self, rows: Int64Array) -> Int64Array:
        """Indexes of all links that leave any of these rows."""
        first = np.searchsorted(self._from_row, rows, "left")
        return _ranges(first, np.searchsorted(self._from_row, rows, "right"))

    def arriving_many(self, rows: Int64Array) -> Int64Array:
        """Indexes of all links that arrive at any of these rows."""
        index = self._by_to[_ranges(*self._arriving_bounds(rows))]
        return np.clip(index, 0, max(0, len(self) - 1))

    def leaving_between(self, first_row: int, stop_row: int) -> Int64Array:
        """Indexes of all links that leave rows [first_row, stop_row), by the row they leave."""
        first, stop = np.searchsorted(self._from_row, [first_row, stop_row], "left").tolist()
        return np.arange(first, stop)

    def arriving_between(self, first_row: int, stop_row: int) -> Int64Array:
        """Indexes of all links that arrive at rows [first_row, stop_row), by the row they arrive at."""
        first, stop = _search(self._to_row, self._by_to, np.array([first_row, stop_row]), False).tolist()
        return np.clip(self._by_to[first:stop], 0, max(0, len(self) - 1))

    def _arrives_at(self, place: int) -> int:
        return int(self._to_row[min(max(int(self._by_to[place]), 0), len(self._to_row) - 1)])

    def _arriving_bounds(self, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        # A binary search through the permutation, so that opening costs nothing.
        return _search(self._to_row, self._by_to, rows, False), _search(self._to_row, self._by_to, rows, True)

    def _clamp(self, rows: Int64Array) -> Int64Array:
        return np.where((rows >= 0) & (rows < self._n_events), rows, NO_ROW)


def _search(values: Int64Array, order: Int64Array, wanted: Int64Array, right: bool) -> Int64Array:
    """`numpy.searchsorted` on ``values[order]`` without building it."""
    low = np.zeros(len(wanted), np.int64)
    high = np.full(len(wanted), len(order), np.int64)
    last = max(0, len(values) - 1)
    while np.any(low < high):
        active = low < high
        middle = (low + high) >> 1
        probe = values[np.clip(order[np.minimum(middle, last)], 0, last)] if len(values) else wanted
        less = probe <= wanted if right else probe < wanted
        low = np.where(active & less, middle + 1, low)
        high = np.where(active & ~less, middle, high)
    return low


def _ranges(first: Int64Array, stop: Int64Array) -> Int64Array:
    """All integers of the ranges [first, stop), concatenated."""
    count = np.maximum(stop - first, 0)
    return np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
