"""Exact statistics of groups without sorting and without keeping their values: compiled passes over batches.

One pass adds up, one counts the values of each group in bins, one takes the values of the bin with the middle in it; so
memory depends on the number of groups. `warpline.analysis.framework.statistics` does the same by sorting.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.compiled import address

Int64Array = npt.NDArray[np.int64]
Batches = Callable[[], Iterable[tuple[npt.NDArray[Any], Int64Array]]]

ROOM = 1 << 22
"""Values that are taken at once."""
VALUES_PER_BIN = 16
"""Groups with fewer values are taken whole."""
_MOST_KEYS = 1 << 24
_MOST_BITS = 62
"""Of what all values of a group may come to."""
_NARROWINGS = 8
_FINE_BITS = 10
_GROUP = np.dtype(
    [
        *(
            (name, np.int64)
            for name in ("count", "total", "least", "most", "low", "high", "place", "shift", "center")
        ),
        ("squares", np.float64),
    ]
)
"""``Group`` of medians.c."""


@dataclass(frozen=True, eq=False)
class MiddleValues:
    """One entry per group, ascending by ``key``; ``lower`` and ``upper`` are the two middle values, the same of an odd
    count; ``squares`` are the sums of squares of differences from ``center``. int64 but for ``squares``.
    """

    key: Int64Array
    count: Int64Array
    total: Int64Array
    least: Int64Array
    most: Int64Array
    lower: Int64Array
    upper: Int64Array
    center: Int64Array
    squares: npt.NDArray[np.float64]


def middle_values(batches: Batches) -> MiddleValues | None:
    """The statistics of batches, which are asked for three times and more; None where that is not compiled, and of keys
    and values that are too large for it. Raises ValueError for negative ones.
    """
    found = library()
    if found is None:
        return None
    groups, bits = np.zeros(1024, _GROUP), 0
    n = 0
    for keys, values in batches():
        if not len(keys):
            continue
        lowest, highest = int(keys.min()), int(keys.max())
        if lowest < 0:
            raise ValueError("statistics take keys and values of at least 0")
        if highest >= _MOST_KEYS:
            return None
        if highest >= len(groups):
            more = np.zeros(max(highest + 1, 2 * len(groups)) - len(groups), _GROUP)
            groups = np.concatenate([groups, more])
        key, value = _columns(keys, values)
        bits |= found.warpline_group_sums(
            len(key), address(key), address(value), address(groups), len(groups)
        )
        n += len(key)
    if bits < 0:
        raise ValueError("statistics take keys and values of at least 0")
    if bits.bit_length() + n.bit_length() > _MOST_BITS:
        return None
    return _Search(found, batches, groups).columns()


def _columns(keys: npt.NDArray[Any], values: Int64Array) -> tuple[npt.NDArray[np.uint32], Int64Array]:
    return np.require(keys, np.uint32, ["C", "A"]), np.require(values, np.int64, ["C", "A"])


class _Search:
    """Looks for the middle of each group in fewer and fewer of its values."""

    def __init__(self, found: ctypes.CDLL, batches: Batches, every: npt.NDArray[Any]) -> None:
        self._found, self._batches = found, batches
        self.key = np.flatnonzero(every["count"])
        self._group_of = np.zeros(len(every), np.int32)
        self._group_of[self.key] = np.arange(len(self.key))
        self.groups = groups = every[self.key].copy()
        count: Int64Array = groups["count"]
        self.rank = (count - 1) // 2
        """Of the lower middle value among those of a group that are looked at; ``count`` is how many those are."""
        self.to_next = 1 - count % 2
        self.count = count.copy()
        self.low, self.high = groups["least"].copy(), groups["most"].copy()
        self.lower, self.upper = self.low.copy(), self.low.copy()
        self.is_open = self.low < self.high

    def columns(self) -> MiddleValues:
        groups = self.groups
        groups["center"] = groups["total"] // np.maximum(groups["count"], 1)
        first, last = widening(self.low), widening(self.high)
        binned = np.flatnonzero(self.is_open & (self.count >= VALUES_PER_BIN * (last - first + 1)))
        self._narrow(binned, np.full(len(binned), -1, np.int64), with_squares=True)
        for _ in range(_NARROWINGS):
            binned = binned[self.is_open[binned]]
            wide = binned[self.count[binned] > 2 << _FINE_BITS]
            if int(self.count[binned].sum()) <= ROOM or not len(wide):
                break
            bits = bit_length(self.high[wide] - self.low[wide])
            self._narrow(wide, np.maximum(bits - _FINE_BITS, 0))
        for portion in self._portions():
            self._take(portion)
        return MiddleValues(
            self.key,
            groups["count"].copy(),
            groups["total"].copy(),
            groups["least"].copy(),
            groups["most"].copy(),
            self.lower,
            np.where(self.to_next == 1, self.upper, self.lower),
            groups["center"].copy(),
            groups["squares"].copy(),
        )

    def _look_at(self, chosen: Int64Array) -> None:
        self.groups["low"], self.groups["high"] = 0, -1
        self.groups["low"][chosen], self.groups["high"][chosen] = self.low[chosen], self.high[chosen]

    def _pass(self, name: str, target: npt.NDArray[Any], *more: int) -> None:
        each = getattr(self._found, name)
        for keys, values in self._batches():
            key, value = _columns(keys, values)
            columns = (key, value, self._group_of, self.groups, target)
            each(len(key), *(address(column) for column in columns), len(self._group_of), *more)

    def _narrow(self, chosen: Int64Array, shift: Int64Array, with_squares: bool = False) -> None:
        """Count the values of some groups in bins, and look only at those in the bins of the middle from then on."""
        if not len(chosen) and not with_squares:
            return
        low, high = self.low[chosen], self.high[chosen]
        widens = shift < 0
        step = np.maximum(shift, 0)
        base = np.where(widens, widening(low), 0)
        size = np.where(widens, widening(high) - base, (high - low) >> step) + 1
        begin = np.cumsum(size) - size
        self._look_at(chosen)
        self.groups["shift"][chosen] = shift
        self.groups["place"][chosen] = begin - base
        bins = np.zeros(max(int(size.sum()), 1), np.uint32)
        self._pass("warpline_group_bins", bins, int(with_squares))
        until = np.cumsum(bins, dtype=np.int64)
        before = until[begin] - bins[begin] if len(begin) else begin
        rank = self.rank[chosen]
        at, behind = (
            np.searchsorted(until, before + place, "right") for place in (rank, rank + self.to_next[chosen])
        )

        def edges(bin_: Int64Array) -> tuple[Int64Array, Int64Array]:
            here = bin_ - begin + base
            first, last = _edges(here)
            return np.where(widens, first, low + (here << step)), np.where(
                widens, last, low + ((here + 1) << step) - 1
            )

        (lowest, one), (other, highest) = edges(at), edges(behind)
        below = until[at] - bins[at]
        self.low[chosen], self.high[chosen] = np.maximum(lowest, low), np.minimum(highest, high)
        self.rank[chosen] = rank - (below - before)
        self.count[chosen] = until[behind] - below
        is_found = (lowest == one) & (other == highest)
        self.lower[chosen], self.upper[chosen] = lowest, other
        self.is_open[chosen] = ~is_found

    def _portions(self) -> Iterator[Int64Array]:
        """The groups whose middle is not found, so many at a time that there is room for what is left of them."""
        left = np.flatnonzero(self.is_open)
        number = np.cumsum(self.count[left]) // max(ROOM, 1)
        for cut in np.split(left, np.flatnonzero(np.diff(number)) + 1):
            if len(cut):
                yield cut

    def _take(self, chosen: Int64Array) -> None:
        """Find the middle of some groups among what is left of them."""
        first = np.concatenate([[0], np.cumsum(self.count[chosen])])
        self._look_at(chosen)
        self.groups["place"][chosen] = first[:-1]
        values = np.empty(int(first[-1]), np.int64)
        self._pass("warpline_group_values", values, len(values))
        rank = self.rank[chosen]
        lower, upper = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
        columns = (first, rank, values, lower, upper)
        self._found.warpline_group_ranks(len(chosen), *map(address, columns))
        self.lower[chosen], self.upper[chosen] = lower, upper


def bit_length(values: Int64Array) -> Int64Array:
    """Number of bits of each value, which is at least 0."""
    bits = np.zeros(len(values), np.int64)
    rest = values.copy()
    while rest.any():
        bits += rest > 0
        rest >>= 1
    return bits


def widening(values: Int64Array) -> Int64Array:
    """In which of the bins of medians.c, which widen with the values, each lies."""
    more = np.maximum(bit_length(values) - 6, 0)
    return (more << 5) + (values >> more)


def _edges(bin_: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The first and the last value of each of these bins."""
    more = np.maximum((bin_ >> 5) - 1, 0)
    # A bin that belongs to another way of counting may lie far out.
    more = np.minimum(more, _MOST_BITS - 6)
    first = np.where(bin_ < 64, bin_, ((bin_ & 31) + 32) << more)
    return first, first + (np.int64(1) << more) - 1
