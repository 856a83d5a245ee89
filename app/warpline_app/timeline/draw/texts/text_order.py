"""Sorts a line's texts and measures their common prefixes, so a shortened text keeps what distinguishes it."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

_RANK_BITS = 32


class TextOrder:
    """Texts in alphabetical order, numbered in order of arrival."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sorted: list[str] = []
        self._number_at: list[int] = []
        self._shared: list[int] = []
        self._arrays: tuple[Int64Array, Int64Array] | None = None

    def add(self, text: str) -> int:
        """The number of a text; adding one takes a search and two comparisons."""
        number = self._numbers.get(text, -1)
        if number >= 0:
            return number
        number = self._numbers[text] = len(self._numbers)
        place = bisect_left(self._sorted, text)
        self._sorted.insert(place, text)
        self._number_at.insert(place, number)
        self._shared.insert(place, self._shared_at(place))
        if place + 1 < len(self._sorted):
            self._shared[place + 1] = self._shared_at(place + 1)
        self._arrays = None
        return number

    def _shared_at(self, place: int) -> int:
        if not place:
            return 0
        before, text = self._sorted[place - 1 : place + 1]
        pairs = enumerate(zip(before, text, strict=False))
        return next((at for at, (letter, other) in pairs if letter != other), min(len(before), len(text)))

    def arrays(self) -> tuple[Int64Array, Int64Array]:
        """The rank of each text, by its number; and for each rank, the length of the prefix shared with the one
        before.
        """
        if self._arrays is None:
            rank = np.empty(len(self._sorted), np.int64)
            rank[np.array(self._number_at, np.int64)] = np.arange(len(rank))
            self._arrays = rank, np.array([*self._shared, 0], np.int64)
        return self._arrays


class LineTexts:
    """The texts of each line in alphabetical order.

    ``lines`` and ``texts`` (numbers of `TextOrder`) have equal length; ``place`` is the position of each in that order.
    """

    def __init__(self, order: TextOrder, lines: Int64Array, texts: Int64Array) -> None:
        rank, shared = order.arrays()
        wanted = (lines << _RANK_BITS) | rank[texts]
        order_of = wanted.argsort()
        ascending = wanted[order_of]
        is_new = np.empty(len(wanted), bool)
        is_new[:1] = True
        np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
        keys = ascending[is_new]
        self.place = np.empty(len(wanted), np.int64)
        self.place[order_of] = is_new.cumsum() - 1
        ranks = keys & ((1 << _RANK_BITS) - 1)
        # For each text, the length of the prefix shared with the one before in its line; −1 at the ends of a line.
        self._shared = np.full(len(keys) + 1, -1, np.int64)
        inside = (keys[1:] >> _RANK_BITS == keys[:-1] >> _RANK_BITS).nonzero()[0]
        if len(inside):
            borders = np.empty(2 * len(inside), np.int64)
            borders[::2], borders[1::2] = ranks[inside] + 1, ranks[inside + 1] + 1
            self._shared[inside + 1] = np.minimum.reduceat(shared, borders)[::2]

    def closest(self, place: Int64Array) -> Int64Array:
        """The longest prefix a text shares with another in its line; −1 if it is alone."""
        return np.maximum(self._shared[place], self._shared[place + 1])

    def branches(self, place: Int64Array, least: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The shortest prefix of at least ``least`` letters that a text shares with another in its line; and the
        longest below.

        ``least`` is at most the result of `closest`. The second is −1 if there is none.
        """
        fewest, below = self.closest(place), np.full(len(place), -1, np.int64)
        for step in (-1, 1):
            here, active = place.copy(), np.arange(len(place))
            while len(active):
                shared = self._shared[here[active] + (step > 0)]
                on = shared >= least[active]
                below[active[~on]] = np.maximum(below[active[~on]], shared[~on])
                active = active[on]
                fewest[active] = np.minimum(fewest[active], shared[on])
                here[active] += step
        return fewest, below
