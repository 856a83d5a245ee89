"""Rows by name: which events of a lane have a name, how many there are and how long they take in any time range.

The index holds the rows of each lane sorted by (name, row), which on a lane is (name, start), with prefix sums of busy
time. Long lanes come in pieces, so that building takes little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.storage.index.lane_columns import LaneColumns

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]

_LONGEST = 1 << 62
"""Upper bound of the time cut from a damaged event, so that sums fit 64 bits."""


@dataclass(frozen=True)
class NameTotals:
    """What each name does in a range.

    ``name`` uint32 string ids, ascending; ``count`` int64, events that overlap the range; ``busy_ns`` int64, their
    busy time inside it.
    """

    name: UInt32Array
    count: Int64Array
    busy_ns: Int64Array


class NameIndex:
    """Index of a capture's events by name. Rows answered are int64, ordered by lane and start.

    Pieces are parts of lanes: piece *p* covers the names ``piece_first[p]:piece_first[p + 1]`` of the directory
    (``name`` ascending within a piece, ``first`` of its entries); entries hold ``row`` less ``piece_base[p]``,
    ascending, and ``busy``, the busy time of all earlier entries of the whole index.
    """

    def __init__(self, columns: LaneColumns, index: Mapping[str, Array]) -> None:
        """``columns`` hold the indexed events; ``index`` holds the index's own columns by name."""
        self._columns = columns
        self._lane = index["piece_lane"].tolist()
        self._base = index["piece_base"].tolist()
        self._piece_first = index["piece_first"].tolist()
        self._name: UInt32Array = index["name"]
        self._first: Int64Array = index["first"]
        self._row: UInt32Array = index["row"]
        self._busy: Int64Array = index["busy"]
        self._pieces_of_lane: dict[int, list[int]] = {}
        for piece, lane in enumerate(self._lane):
            self._pieces_of_lane.setdefault(lane, []).append(piece)

    def rows(
        self,
        names: npt.ArrayLike,
        lanes: npt.ArrayLike | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Int64Array:
        """Rows of the events with one of these names (string ids) on these lanes (all) that overlap [start, stop)."""
        # Asked for values alone, numpy first imports its masked arrays.
        wanted, _ = np.unique(np.asarray(names, np.uint32), return_counts=True)
        parts = [np.empty(0, np.int64)]
        for lane in self._lanes(lanes):
            part = self._rows_between(lane, start_ns, stop_ns)
            here = [np.empty(0, np.int64)]
            for piece in self._pieces_of_lane.get(lane, ()):
                low, high = self._clip(piece, part)
                if low >= high:
                    continue
                place = self._places(piece, wanted)
                for first, stop in zip(
                    self._first[place].tolist(), self._first[place + 1].tolist(), strict=True
                ):
                    rows = self._row[first:stop]
                    begin, end = np.searchsorted(rows, [low, high]).tolist()
                    here.append(rows[begin:end].astype(np.int64) + self._base[piece])
            parts.append(np.sort(np.concatenate(here)) if len(here) > 2 else here[-1])
        return np.clip(np.concatenate(parts), 0, max(0, len(self._columns.events) - 1))

    def totals(
        self, lanes: npt.ArrayLike | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> NameTotals:
        """Names on these lanes (all), how many events of each overlap [start, stop) and their busy time inside it.

        Exact. Costs names and lanes, not events.
        """
        names, counts, busy = [], [], []
        for lane in self._lanes(lanes):
            part = self._rows_between(lane, start_ns, stop_ns)
            for piece in self._pieces_of_lane.get(lane, ()):
                low, high = self._clip(piece, part)
                if low >= high:
                    continue
                place = slice(self._piece_first[piece], self._piece_first[piece + 1])
                first, stop = self._first[place], self._first[place.start + 1 : place.stop + 1]
                begin, end = self._search(first, stop, low), self._search(first, stop, high)
                names.append(np.asarray(self._name[place]))
                counts.append(end - begin)
                busy.append(self._busy[end] - self._busy[begin])
            for cut_name, cut in self._cut(lane, part, start_ns, stop_ns):
                names.append(np.array([cut_name], np.uint32))
                counts.append(np.zeros(1, np.int64))
                busy.append(np.array([-min(cut, _LONGEST)]))
        every = np.concatenate([np.empty(0, np.uint32), *names])
        distinct, slot = np.unique(every, return_inverse=True)
        count, time = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
        np.add.at(count, slot, np.concatenate([np.empty(0, np.int64), *counts]))
        np.add.at(time, slot, np.concatenate([np.empty(0, np.int64), *busy]))
        seen = count > 0
        return NameTotals(distinct[seen], count[seen], time[seen])

    def _lanes(self, lanes: npt.ArrayLike | None) -> list[int]:
        if lanes is None:
            return list(self._pieces_of_lane)
        return [int(lane) for lane in np.asarray(lanes, np.int64)]

    def _rows_between(self, lane: int, start_ns: int | None, stop_ns: int | None) -> slice:
        low, high = self._columns.span(lane)
        return self._columns.rows_between(
            lane, low if start_ns is None else start_ns, high + 1 if stop_ns is None else stop_ns
        )

    def _clip(self, piece: int, part: slice) -> tuple[int, int]:
        """The part of a lane as rows of a piece."""
        base = self._base[piece]
        first, stop = self._piece_first[piece], self._piece_first[piece + 1]
        size = int(self._first[stop] - self._first[first]) if stop > first else 0
        return max(0, part.start - base), min(size, part.stop - base)

    def _places(self, piece: int, wanted: UInt32Array) -> Int64Array:
        """Directory entries of those names that the piece contains."""
        first, stop = self._piece_first[piece], self._piece_first[piece + 1]
        names = self._name[first:stop]
        place = np.minimum(np.searchsorted(names, wanted), max(0, len(names) - 1))
        return np.asarray(first + place[names[place] == wanted] if len(names) else place[:0], np.int64)

    def _search(self, first: Int64Array, stop: Int64Array, row: int) -> Int64Array:
        """For each run [first, stop) of entries the first whose row is not before ``row``."""
        low, high = first.astype(np.int64), stop.astype(np.int64)
        while True:
            active = low < high
            if not active.any():
                return low
            middle = (low + high) >> 1
            less = active & (self._row[np.minimum(middle, len(self._row) - 1)] < row)
            low = np.where(less, middle + 1, low)
            high = np.where(active & ~less, middle, high)

    def _cut(
        self, lane: int, part: slice, start_ns: int | None, stop_ns: int | None
    ) -> Iterator[tuple[int, int]]:
        """Names of the first and last event that reach out of the range, and how much of each lies outside."""
        if part.start >= part.stop:
            return
        offset = int(self._columns.offset_ns[lane])
        events = self._columns.events
        for row in {part.start, part.stop - 1}:
            if int(events.flags[row]) & int(NOT_BUSY):
                continue
            start, stop = int(events.start[row]) - offset, self._columns.recorded_stop(row) - offset
            outside = 0
            if start_ns is not None:
                outside += max(0, min(stop, start_ns) - start)
            if stop_ns is not None:
                outside += max(0, stop - max(start, stop_ns))
            if outside:
                yield int(events.name[row]), outside
