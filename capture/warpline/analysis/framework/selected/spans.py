"""Rows of lanes that overlap the selected range, as columns: cost follows events, not Python steps per lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Span:
    """Rows [first, stop) of one lane, or of neighbouring lanes on one clock; ``offset_ns`` is the clock's offset."""

    first: int
    stop: int
    offset_ns: int


@dataclass(frozen=True, eq=False, kw_only=True)
class LaneSpans:
    """Rows [first, stop) of some lanes, none empty; int64 arrays of equal length.

    ``track`` index of the lane's track, ``offset_ns`` offset of the lane's clock.
    """

    track: Int64Array
    first: Int64Array
    stop: Int64Array
    offset_ns: Int64Array

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Span]:
        columns = (self.first, self.stop, self.offset_ns)
        yield from (Span(*row) for row in zip(*(column.tolist() for column in columns), strict=True))

    @property
    def borders(self) -> list[tuple[int, int]]:
        """(first, stop) of each."""
        return list(zip(self.first.tolist(), self.stop.tolist(), strict=True))

    @property
    def counts(self) -> Int64Array:
        """Number of rows of each lane."""
        return self.stop - self.first

    def take(self, index: npt.NDArray[np.generic]) -> LaneSpans:
        """The lanes at an index or mask."""
        return LaneSpans(
            track=self.track[index],
            first=self.first[index],
            stop=self.stop[index],
            offset_ns=self.offset_ns[index],
        )

    def joined(self) -> LaneSpans:
        """The same rows, with consecutive lanes joined that are neighbours on one clock; ``track`` is the first's."""
        follows = (self.first[1:] == self.stop[:-1]) & (self.offset_ns[1:] == self.offset_ns[:-1])
        heads = np.flatnonzero(np.append(True, ~follows)[: len(self)])
        tails = np.append(heads[1:], len(self))[: len(heads)] - 1
        return LaneSpans(
            track=self.track[heads],
            first=self.first[heads],
            stop=self.stop[tails],
            offset_ns=self.offset_ns[heads],
        )


def rows_of(first: Int64Array, stop: Int64Array) -> Int64Array:
    """All integers of the ranges [first, stop), one range after the other (int64)."""
    count = np.maximum(stop - first, 0)
    rows = np.repeat(first - (np.cumsum(count) - count), count)
    rows += np.arange(len(rows))  # in place: there may be as many as events
    return rows
