"""Rows by name: which events of a lane are called so, how many and how long they are in any range of time.

The index holds the rows of each lane sorted by (name, row), which on a lane is (name, start), with prefix sums of busy
time. Long lanes come in pieces, so that building takes little memory. Captures of many events keep theirs in
the user's cache, by UUID.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.storage.cache import cache_folder
from warpline.storage.index.lane_columns import LaneColumns

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]

ON_DISK_EVENTS = 2_000_000
"""Captures with more events keep their index in the user's cache."""

MAX_STORED = 8
"""Indexes kept in the cache; those not used for longest go."""

PIECE = 1 << 21

_COLUMNS = {
    "piece_lane": "<i8",
    "piece_base": "<i8",
    "piece_first": "<i8",
    "name": "<u4",
    "first": "<i8",
    "row": "<u4",
    "busy": "<i8",
}


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
        """``columns`` are those of the events that ``index`` (its own columns by name) tells of."""
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
        wanted = np.unique(np.asarray(names, np.uint32))
        found = [np.empty(0, np.int64)]
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
            found.append(np.sort(np.concatenate(here)) if len(here) > 2 else here[-1])
        return np.minimum(np.concatenate(found), max(0, len(self._columns.events) - 1))

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
                busy.append(np.array([-cut]))
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
        """Places in the directory of those of the names that the piece has."""
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
        """Name and time outside the range of the events that reach out of it: the first and the last."""
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


def build_name_index(
    columns: LaneColumns,
    uuid: str,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
    folder: Path | None = None,
) -> NameIndex:
    """The index of all events of the capture with this UUID, from the user's cache when it is there.

    Meant for a worker thread: takes about 0.1 us an event once. ``folder`` replaces the cache. Raises Cancelled. A
    cache that cannot be written is done without.
    """
    n_events = len(columns.events)
    if n_events <= ON_DISK_EVENTS and folder is None:
        return NameIndex(columns, _in_memory(columns, progress, cancelled))
    place = (folder or cache_folder() / "names") / f"{uuid}-{n_events}"
    index = _load(place, n_events)
    if index is None:
        try:
            _store(place, columns, progress, cancelled)
            index = _load(place, n_events)
        except OSError:
            index = None
    return NameIndex(columns, index or _in_memory(columns, progress, cancelled))


def index_lanes(
    columns: LaneColumns, lanes: Sequence[int], cancelled: IsCancelled | None = None
) -> NameIndex:
    """An index of some lanes alone, in memory: 12 bytes and about 0.1 us an event of theirs. Raises Cancelled."""
    return NameIndex(columns, _in_memory(columns, None, cancelled, lanes))


def _pieces(
    columns: LaneColumns,
    progress: Progress | None,
    cancelled: IsCancelled | None,
    lanes: Sequence[int] | None = None,
) -> Iterator[tuple[int, int, UInt32Array, Int64Array, UInt32Array, Int64Array]]:
    """Lane, base, names, counts of entries of each name, rows less base by name, busy time of each entry."""
    events = columns.events
    total = max(1, len(events))
    for lane in range(len(columns.lanes)) if lanes is None else lanes:
        rows = columns.lanes.rows(lane)
        for base in range(rows.start, rows.stop, PIECE):
            check_cancelled(cancelled, "indexing names was cancelled")
            if progress is not None:
                progress(base / total, "indexing names")
            part = slice(base, min(base + PIECE, rows.stop))
            # Packed with its position a name sorts stably, and faster than any indirect sort.
            key = events.name[part].astype(np.int64) << 32 | np.arange(part.stop - part.start)
            key.sort()
            row = (key & 0xFFFFFFFF).astype(np.uint32)
            key >>= 32
            heads = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            counts = np.diff(np.concatenate([heads, [len(key)]]))
            duration = np.where(events.flags[part] & int(NOT_BUSY), 0, events.duration[part])[row]
            yield lane, base, key[heads].astype(np.uint32), counts, row, duration


def _in_memory(
    columns: LaneColumns,
    progress: Progress | None,
    cancelled: IsCancelled | None,
    lanes: Sequence[int] | None = None,
) -> dict[str, Array]:
    collected: dict[str, list[Array]] = {name: [] for name in _COLUMNS}
    _collect(
        _pieces(columns, progress, cancelled, lanes), lambda name, values: collected[name].append(values)
    )
    return {
        name: np.concatenate([np.empty(0, dtype), *collected[name]]).astype(dtype)
        for name, dtype in _COLUMNS.items()
    }


def _collect(
    pieces: Iterator[tuple[int, int, UInt32Array, Int64Array, UInt32Array, Int64Array]],
    put: Callable[[str, Array], object],
) -> None:
    entries = directory = 0
    busy = 0
    put("busy", np.zeros(1, np.int64))
    for lane, base, name, counts, row, duration in pieces:
        put("piece_lane", np.array([lane]))
        put("piece_base", np.array([base]))
        put("piece_first", np.array([directory]))
        put("name", name)
        put("first", entries + np.cumsum(counts) - counts)
        put("row", row)
        put("busy", busy + np.cumsum(duration))
        busy += int(duration.sum())
        directory += len(name)
        entries += len(row)
    put("piece_first", np.array([directory]))
    put("first", np.array([entries]))


def _store(
    place: Path, columns: LaneColumns, progress: Progress | None, cancelled: IsCancelled | None
) -> None:
    """Writes the columns into a folder that appears under its name when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    making = place.with_name(f".{place.name}.{uuid4().hex[:8]}")
    making.mkdir()
    try:
        files = {name: (making / name).open("wb", buffering=1 << 20) for name in _COLUMNS}
        try:
            _collect(
                _pieces(columns, progress, cancelled),
                lambda name, values: files[name].write(np.ascontiguousarray(values, _COLUMNS[name]).data),
            )
        finally:
            for file in files.values():
                file.close()
        with contextlib.suppress(OSError):
            # Another process may have been faster; its index is as good.
            os.rename(making, place)
        _forget_old(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _load(place: Path, n_events: int) -> dict[str, Array] | None:
    """Columns from a folder, mapped; None when it is not there or does not fit that many events."""
    columns = {}
    try:
        for name, dtype in _COLUMNS.items():
            size = (place / name).stat().st_size
            columns[name] = (
                np.memmap(place / name, np.dtype(dtype), "r") if size else np.empty(0, np.dtype(dtype))
            )
        os.utime(place)
    except (OSError, ValueError):
        return None
    pieces, names = len(columns["piece_lane"]), len(columns["name"])
    first, piece_first = columns["first"], columns["piece_first"]
    fits = (
        len(columns["row"]) == n_events
        and len(columns["busy"]) == n_events + 1
        and len(columns["piece_base"]) == pieces
        and len(piece_first) == pieces + 1
        and len(first) == names + 1
        and _ascends(piece_first, names)
        and _ascends(first, n_events)
    )
    if not fits:
        shutil.rmtree(place, ignore_errors=True)
        return None
    return columns


def _ascends(offsets: Array, last: int) -> bool:
    return bool(offsets[0] == 0 and offsets[-1] == last and np.all(offsets[1:] >= offsets[:-1]))


def stored_indexes() -> dict[Path, int]:
    """The indexes in the user's cache, with the bytes each takes on disk."""
    found: dict[Path, int] = {}
    with contextlib.suppress(OSError):
        for place in (cache_folder() / "names").iterdir():
            with contextlib.suppress(OSError):
                found[place] = sum(file.stat().st_size for file in place.iterdir())
    return found


def forget_indexes() -> int:
    """Removes all indexes from the user's cache and returns the bytes freed; those in use stay usable on Linux."""
    stored = stored_indexes()
    for place in stored:
        shutil.rmtree(place, ignore_errors=True)
    return sum(stored.values())


def _forget_old(newest: Path) -> None:
    """Removes the indexes not used for longest."""
    with contextlib.suppress(OSError):
        stored = [path for path in newest.parent.iterdir() if path != newest]
        by_use: Sequence[Path] = sorted(stored, key=lambda path: path.stat().st_mtime, reverse=True)
        for path in by_use[MAX_STORED - 1 :]:
            shutil.rmtree(path, ignore_errors=True)
