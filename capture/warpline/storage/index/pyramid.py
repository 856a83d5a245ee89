"""Directory of a capture's level-of-detail pyramid, and binary searches that touch few pages."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.column_source import ColumnSource
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.schema import LOD_COLUMNS, LOD_DIRECTORY, LOD_SKIPS, MAX_LEVEL, SKIP

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

RAW = -1
"""Stands for the events themselves, in place of a directory index."""

_ADVICE_BLOCK = 1 << 20
_ADVICE_MEMORY = 512


def skip_rows(first: Int64Array, count: Int64Array) -> Int64Array:
    """The first row of each run of rows, and every `SKIP`-th after it."""
    sizes = -(-count // SKIP)
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows: Int64Array = np.repeat(first, sizes) + inside * SKIP
    return rows.astype(np.int64)


def _skips_before(counts: Int64Array) -> array[int]:
    """Where the entries of each run begin in the skip index, and where the last ends."""
    return _numbers(np.concatenate([np.zeros(1, np.int64), np.cumsum(-(-counts // SKIP))]))


def _numbers(values: Array) -> array[int]:
    """Python's integers from 4 or 8 bytes each: a list of them takes 40, and a capture may have a million lanes."""
    is_small = not len(values) or (values.min() >= 0 and values.max() < 1 << 32)
    code, dtype = ("I", np.uint32) if is_small else ("q", np.int64)
    return array(code, values.astype(dtype).tobytes())


class Pyramid:
    """Runs of sorted starts: the events of each lane, and each level of each lane.

    A run is named by its lane and an index into the directory of levels (or `RAW`). The skip index, every
    1024th start of each run, is held in memory: a search then touches one block of 8 KiB.
    """

    def __init__(self, file: ColumnSource, lanes: Lanes, events: Events) -> None:
        self._file = file
        self._events = events
        lane_first, lane_count = lanes.first, lanes.count
        self._lane_first_array = lane_first
        self._lane_first = _numbers(lane_first)
        self._lane_count = _numbers(lane_count)
        self.is_stored = file.has("lod")
        """Whether the file has a level of detail; without one, drawing costs events."""
        directory = {
            name: self._column(f"lod/levels/{name}", dtype).astype(np.int64)
            for name, dtype in LOD_DIRECTORY.items()
        }
        self.start: Int64Array = self._column("lod/start", LOD_COLUMNS["start"])
        n = len(self.start)
        self.longest: npt.NDArray[np.uint64] = self._column("lod/longest", LOD_COLUMNS["longest"], n)
        self.rest: npt.NDArray[np.uint32] = self._column("lod/rest", LOD_COLUMNS["rest"], n)
        self.row: npt.NDArray[np.uint32] = self._column("lod/row", LOD_COLUMNS["row"], n)
        self._check(directory, n, len(lane_first))
        self.level = directory["level"].tolist()
        self._level_first = directory["first"]
        self.first = directory["first"].tolist()
        self.count = directory["count"].tolist()
        self._levels_of_lane = _numbers(
            np.searchsorted(directory["lane"], np.arange(len(lane_first) + 1), "left")
        )
        self._skip_events_at = _skips_before(lane_count)
        self._skip_entries_at = _skips_before(directory["count"])
        if self.is_stored:
            self._skip_events = self._skip_column("skip_events", self._skip_events_at[-1])
            self._skip_entries = self._skip_column("skip_entries", self._skip_entries_at[-1])
        else:
            self._skip_events = events.start[skip_rows(lane_first, lane_count)]
            self._skip_entries = np.empty(0, np.int64)
        # One more block: a part may end at the end of the file.
        self._advised = np.zeros(file.size // _ADVICE_BLOCK + 2, bool)
        self._advised_count = 0
        self._event_places = self._places(events.start, events.duration, events.kind, events.flags)
        self._entry_places = self._places(self.start, self.longest, self.rest, self.row)

    def _places(self, *columns: Array) -> Int64Array:
        """Offset in the file and item size of the columns that are mapped, shape (columns, 2)."""
        places = ((self._file.offset_of(column), column.itemsize) for column in columns)
        known = [(place, itemsize) for place, itemsize in places if place is not None]
        return np.array(known, np.int64).reshape(-1, 2)

    def _check(self, directory: dict[str, Int64Array], n: int, lanes: int) -> None:
        sizes = {len(column) for column in directory.values()}
        fits = len(sizes) == 1 and bool(
            np.all(np.diff(directory["lane"]) >= 0)
            and np.all((directory["lane"] >= 0) & (directory["lane"] < lanes))
            and np.all(directory["level"] <= MAX_LEVEL)
            and np.all((directory["first"] >= 0) & (directory["count"] > 0))
            and np.all(directory["first"] <= n - directory["count"])
        )
        if not fits:
            raise self._file.error("its level of detail is damaged")

    def _column(self, path: str, dtype: str, count: int | None = None) -> Array:
        return self._file.column(path, dtype, count=count) if self.is_stored else np.empty(0, dtype)

    def _skip_column(self, name: str, count: int) -> Int64Array:
        return np.array(self._file.column(f"lod/{name}", LOD_SKIPS[name], count=count))

    def is_skip_index_sound(self) -> bool:
        """Whether the skip index holds what the columns hold; reads a page for each of its entries."""
        runs = [
            *zip(
                [self._events.start] * len(self._lane_first), self._lane_first, self._lane_count, strict=True
            ),
            *zip([self.start] * len(self.first), self.first, self.count, strict=True),
        ]
        samples = [column[first : first + count : SKIP] for column, first, count in runs]
        stored = np.concatenate([self._skip_events, self._skip_entries])
        return np.array_equal(stored, np.concatenate([np.empty(0, np.int64), *samples]))

    def levels_of(self, lane: int) -> range:
        """Indexes into the directory of a lane's levels, fine to coarse."""
        return range(self._levels_of_lane[lane], self._levels_of_lane[lane + 1])

    def coarsest_within(self, lane: int, bin_ns: float) -> int:
        """The coarsest level of a lane whose bins are at most ``bin_ns`` wide, or `RAW`."""
        for index in reversed(self.levels_of(lane)):
            if 1 << self.level[index] <= bin_ns:
                return index
        return RAW

    def run(self, lane: int, index: int) -> tuple[Int64Array, int, int]:
        """Column of starts of a run, where the run begins in it and how long it is."""
        if index == RAW:
            return self._events.start, self._lane_first[lane], self._lane_count[lane]
        return self.start, self.first[index], self.count[index]

    def search(self, lane: int, index: int, time: int, side: str = "left") -> int:
        """Number of starts in a run before ``time`` (with ``side="right"``: not after it); recorded time."""
        low, high = self.block(lane, index, time, side)
        if low >= high:
            return low
        column, first, _ = self.run(lane, index)
        block = column[first + low : first + high]
        return low + int(block.searchsorted(time, side))  # type: ignore[call-overload]

    def block(self, lane: int, index: int, time: int, side: str = "left") -> tuple[int, int]:
        """The part of a run in which `search` ends, found without touching the file."""
        if index == RAW:
            skip, at, slot = self._skip_events, self._skip_events_at, lane
        else:
            skip, at, slot = self._skip_entries, self._skip_entries_at, index
        block = int(skip[at[slot] : at[slot + 1]].searchsorted(time, side))  # type: ignore[call-overload]
        if block == 0:
            return 0, 0
        count = self._lane_count[lane] if index == RAW else self.count[index]
        return (block - 1) * SKIP, min(block * SKIP, count)

    def directories(self) -> dict[str, Int64Array]:
        """Levels by lane and the skip index as arrays, for compiled code."""
        return {
            "levels_of_lane": np.array(self._levels_of_lane, np.int64),
            "level": np.array(self.level, np.int64),
            "level_first": self._level_first,
            "level_count": np.array(self.count, np.int64),
            "skip_events": self._skip_events,
            "skip_events_at": np.array(self._skip_events_at, np.int64),
            "skip_entries": self._skip_entries,
            "skip_entries_at": np.array(self._skip_entries_at, np.int64),
        }

    def prefetch(self, lane: Int64Array, index: Int64Array, low: Int64Array, high: Int64Array) -> None:
        """Prefetch the pages of parts of runs (``low`` to ``high`` of each), all at once."""
        raw = index == RAW
        events, entries = np.flatnonzero(raw), np.flatnonzero(~raw)
        wanted = [
            self._missing(
                self._event_places, self._lane_first_array[lane[events]], low[events], high[events]
            ),
            self._missing(self._entry_places, self._level_first[index[entries]], low[entries], high[entries]),
        ]
        ranges = [pair for part in wanted for pair in part]
        if ranges:
            self._file.will_need(ranges)
        if self._advised_count > _ADVICE_MEMORY:
            self._advised[:] = False
            self._advised_count = 0

    def _missing(
        self, places: Int64Array, base: Int64Array, low: Int64Array, high: Int64Array
    ) -> list[tuple[int, int]]:
        """Return the byte ranges not prefetched recently, in the columns at ``places``, and mark them as prefetched."""
        if not len(places) or not len(base):
            return []
        place, size = places[:, :1], places[:, 1:]
        begin, end = (place + (base + low) * size).ravel(), (place + (base + high) * size).ravel()
        first, last = begin // _ADVICE_BLOCK, end // _ADVICE_BLOCK
        unknown = np.concatenate([np.zeros(1, np.int64), np.cumsum(~self._advised)])
        missing = np.flatnonzero(unknown[last + 1] > unknown[first])
        for block, stop in zip(first[missing].tolist(), (last[missing] + 1).tolist(), strict=True):
            self._advised_count += stop - block - int(np.count_nonzero(self._advised[block:stop]))
            self._advised[block:stop] = True
        return list(zip(begin[missing].tolist(), end[missing].tolist(), strict=True))
