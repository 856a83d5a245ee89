"""Writes the columns of events, sorted by track, lane and start, within a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import Packing, StorageError
from warpline.storage.columns.events import Lanes
from warpline.storage.columns.schema import LANE_COLUMNS
from warpline.storage.write.builder_contents import BuilderContents
from warpline.storage.write.outputs import Filling
from warpline.storage.write.packing import Packer, lane_order
from warpline.storage.write.runs import Run, sorting
from warpline.storage.write.spill import SpillColumn, SpillDirectory

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

BYTES_PER_EVENT = 160
"""Memory a part of a track takes while it is sorted and packed, per event."""

PART_EVENTS_AT_LEAST = 1 << 16

MAX_LANE_EVENTS = (1 << 32) - 1
"""The level of detail numbers rows of a lane with 32 bits."""

_BUFFER_EVENTS = 1 << 17
_PIECE = 1 << 16


class KindOrder:
    """The order of a kind's events in the file: for each row, the number of the event in the order of addition."""

    def __init__(self, spill: SpillDirectory) -> None:
        self._others = spill.column("<u4")
        self._stretches: list[tuple[int, int, bool]] = []

    def add_range(self, first: int, count: int) -> None:
        """The events from ``first`` on, in order."""
        if self._stretches:
            begin, stop, plain = self._stretches[-1]
            if plain and stop == first:
                self._stretches[-1] = (begin, stop + count, True)
                return
        self._stretches.append((first, first + count, True))

    def add(self, places: Array) -> None:
        """These events, uint32."""
        begin = len(self._others)
        self._others.append(places)
        if self._stretches and not self._stretches[-1][2]:
            self._stretches[-1] = (self._stretches[-1][0], begin + len(places), False)
        else:
            self._stretches.append((begin, begin + len(places), False))

    def gather(self, values: Array) -> Iterator[Array]:
        """Yields a column of the kind in row order, in pieces."""
        others = self._others.read()
        for begin, stop, plain in self._stretches:
            for first in range(begin, stop, 1 << 20):
                part = slice(first, min(first + (1 << 20), stop))
                yield values[part] if plain else values.take(others[part])


class EventWriter:
    """Turns the builder's runs into `events`, and records where each event went.

    `directory` is where lanes lie, ``kind_orders`` which events of each kind lie in its rows,
    ``row_of_id`` the row of each event id, None unless asked for.
    """

    def __init__(self, contents: BuilderContents, buffers: Sequence[Filling], *, with_ids: bool) -> None:
        self._contents = contents
        self._buffers = buffers
        self._lanes: dict[str, list[Array]] = {name: [] for name in LANE_COLUMNS}
        self.kind_orders = [KindOrder(contents.spill) for _ in contents.kinds]
        self.row_of_id: Array | None = None
        if with_ids:
            n = contents.n_events
            self.row_of_id = contents.spill.scratch(contents.row_type, n) if n else np.empty(0, np.int64)
        self._columns = [column.read() for column in contents.event_columns]
        self._origins = [column.read() for column in contents.origin_columns]
        self._row = 0

    def write(self, step: Callable[[float], None]) -> None:
        """Writes everything; ``step`` gets the fraction done before each group of tracks."""
        contents = self._contents
        limit = max(PART_EVENTS_AT_LEAST, contents.memory_budget_bytes // BYTES_PER_EVENT)
        tracks = [track for track in range(len(contents.tracks)) if contents.runs.get(track)]
        at = 0
        while at < len(tracks):
            step(self._row / contents.n_events)
            stop = self._neighbours(tracks, at)
            if stop == at:
                self._write_packed(tracks[at], limit)
                at += 1
                continue
            flat: list[int] = []
            for track, is_flat in zip(tracks[at:stop], self._are_flat(tracks[at:stop]), strict=True):
                if is_flat:
                    flat.append(track)
                    continue
                self._write_flat(flat)
                flat = []
                self._write_packed(track, limit)
            self._write_flat(flat)
            at = stop
        for buffer in self._buffers:
            buffer.flush()

    def free(self) -> None:
        """Frees the temporary columns of events; call it once everything that `write` wrote has reached the file."""
        self._columns, self._origins = [], []
        for column in (*self._contents.event_columns, *self._contents.origin_columns):
            column.close()

    def directory(self) -> Lanes:
        """The directory of lanes, once everything is written."""
        columns = {
            name: np.concatenate([np.empty(0, dtype), *self._lanes[name]]).astype(dtype, copy=False)
            for name, dtype in LANE_COLUMNS.items()
        }
        return Lanes(**columns)

    def _add_lanes(self, track: Array, depth: Array, counts: Int64Array) -> Int64Array:
        """Records lanes that are written next, one after the other; returns the first row of each."""
        first = self._row + np.cumsum(counts) - counts
        lanes = {"track": track, "depth": depth, "first": first, "count": counts}
        for name, dtype in LANE_COLUMNS.items():
            self._lanes[name].append(lanes[name].astype(dtype))
        return first

    def _neighbours(self, tracks: Sequence[int], at: int) -> int:
        """Where a stretch of tracks with contiguous runs ends; a large track stands alone."""
        runs = self._contents.runs
        first = runs[tracks[at]]
        if len(first) != 1:
            return at
        begin, end = first[0].first, first[0].stop
        for stop in range(at + 1, len(tracks)):
            following = runs[tracks[stop]]
            if len(following) != 1 or following[0].first != end or following[0].stop - begin > _PIECE:
                return stop
            end = following[0].stop
        return len(tracks)

    def _are_flat(self, tracks: Sequence[int]) -> list[bool]:
        """For each track of a stretch, whether its events do not overlap and so need one lane only."""
        runs = [self._contents.runs[track][0] for track in tracks]
        begin, end = runs[0].first, runs[-1].stop
        overlaps = np.zeros(len(runs), bool)
        firsts = np.array([run.first for run in runs])
        for first in range(begin, end, _PIECE):
            stop = min(first + _PIECE, end - 1)
            starts = self._columns[0][first : stop + 1]
            reach = starts[:-1] + self._columns[1][first:stop]
            late = np.flatnonzero(reach > starts[1:]) + first
            if len(late):
                owner = np.searchsorted(firsts, late, "right") - 1
                # The last event of a track may reach beyond the first of the next.
                overlaps[owner[np.searchsorted(firsts, late + 1, "right") - 1 == owner]] = True
        return (~overlaps).tolist()

    def _write_flat(self, tracks: Sequence[int]) -> None:
        """Writes tracks that have one run and one lane each; their runs are contiguous."""
        if not tracks:
            return
        runs = [self._contents.runs[track][0] for track in tracks]
        for track, run in zip(tracks, runs, strict=True):
            if len(run) > MAX_LANE_EVENTS:
                self._refuse(track, len(run))
        counts = np.array([len(run) for run in runs])
        self._add_lanes(np.array(tracks), np.zeros(len(tracks), np.int64), counts)
        if len(runs) > 1 and all(run.origin < 0 for run in runs):
            self._put_runs(runs)
            return
        for run in runs:
            for first in range(0, len(run), _BUFFER_EVENTS):
                self._put_runs([run.part(first, min(first + _BUFFER_EVENTS, len(run)))])

    def _put_runs(self, runs: Sequence[Run]) -> None:
        """Write contiguous runs unchanged; several only when all count up from their first event."""
        first_run = runs[0]
        start, duration, name, flags = (column[first_run.first : runs[-1].stop] for column in self._columns)
        n = len(start)
        rows = np.arange(self._row, self._row + n)
        if first_run.origin >= 0:
            kinds, ids, places = (column[first_run.origin : first_run.origin + n] for column in self._origins)
            self._note(rows, kinds, ids, places)
        else:
            counts = [len(run) for run in runs]
            kinds = np.repeat(np.array([run.code for run in runs], np.uint8), counts)
            for run in runs:
                self.kind_orders[run.code].add_range(run.first_of_kind, len(run))
            if self.row_of_id is not None and len(runs) == 1:
                self.row_of_id[first_run.first_id : first_run.first_id + n] = rows
            elif self.row_of_id is not None:
                heads = np.cumsum(counts) - counts
                ids = np.repeat(np.array([run.first_id for run in runs]) - heads, counts) + np.arange(n)
                self.row_of_id[ids] = rows
        for buffer, values in zip(self._buffers, (start, duration, name, kinds, flags), strict=True):
            buffer.put(self._row, values)
        self._row += n

    def _refuse(self, track: int, count: int) -> None:
        raise StorageError(
            f"{self._contents.path}: {self._contents.tracks[track].uri} has {count} events on one lane and at most "
            f"{MAX_LANE_EVENTS} are possible: spread them over several tracks"
        )

    def _write_packed(self, track: int, limit: int) -> None:
        """Writes a track of several runs or lanes."""
        contents = self._contents
        runs = contents.runs[track]
        packed = _PackedTrack(
            contents.spill, self._columns, self._origins, runs, contents.packings[track], limit
        )
        counts = packed.lane_counts
        if int(counts.max()) > MAX_LANE_EVENTS:
            self._refuse(track, int(counts.max()))
        first = self._add_lanes(np.full(len(counts), track), np.arange(len(counts)), counts)
        if packed.in_one_part:
            self._write_whole(packed)
        else:
            self._write_parts(packed, first)
        self._row += int(counts.sum())
        packed.close()

    def _write_whole(self, packed: _PackedTrack) -> None:
        for part, lanes in packed.parts():
            several = len(packed.lane_counts) > 1
            order = lane_order(lanes) if several else None
            values = part if order is None else [column[order] for column in part]
            for buffer, value in zip(self._buffers, values[:5], strict=True):
                buffer.put(self._row, value)
            self._note(np.arange(self._row, self._row + len(lanes)), values[3], values[5], values[6])

    def _write_parts(self, packed: _PackedTrack, written: Int64Array) -> None:
        for part, lanes in packed.parts():
            order = lane_order(lanes)
            counts = np.bincount(lanes, minlength=len(written))
            values = [column[order] for column in part]
            rows = np.repeat(written - (np.cumsum(counts) - counts), counts) + np.arange(len(order))
            # Lanes that lie behind each other are one piece.
            begins = np.append(0, np.flatnonzero(np.diff(rows) != 1) + 1)
            for begin, stop in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
                for buffer, value in zip(self._buffers, values[:5], strict=True):
                    buffer.put(int(rows[begin]), value[begin:stop])
            written += counts
            # Kinds list their events by ascending row, but parts interleave lanes; so this waits on disk.
            packed.defer(rows, values[3], values[5], values[6])
        for rows, kinds, ids, places in packed.deferred():
            self._note(rows, kinds, ids, places)

    def _note(self, rows: Int64Array, kinds: Array, ids: Array, places: Array) -> None:
        """Records the row of each id, and for each kind the order of its events."""
        if self.row_of_id is not None:
            self.row_of_id[ids] = rows
        codes = np.flatnonzero(np.bincount(kinds, minlength=1)).tolist()
        for code in codes:
            self.kind_orders[code].add(places if len(codes) == 1 else places[kinds == code])


class _PackedTrack:
    """The events of one track in time order and the lane of each, in parts that fit the memory budget."""

    def __init__(
        self,
        spill: SpillDirectory,
        columns: Sequence[Array],
        origins: Sequence[Array],
        runs: Sequence[Run],
        packing: Packing,
        limit: int,
    ) -> None:
        self._columns, self._origins = columns, origins
        self._runs = runs
        self._spill = spill
        n = sum(map(len, runs))
        self.in_one_part = n <= limit
        self._limit = limit
        self._borders = [None, None] if self.in_one_part or len(runs) == 1 else self._split(n, limit)
        self._deferred: list[SpillColumn] = []
        packer = Packer(packing)
        self._lanes = spill.column("<i4")
        self._only_part: list[Array] | None = None
        counts = np.zeros(0, np.int64)
        for part in self._sorted_parts():
            lanes = packer.assign(part[0], part[0] + part[1])
            part_counts = np.bincount(lanes)
            grown = np.zeros(max(len(counts), len(part_counts)), np.int64)
            grown[: len(counts)] += counts
            grown[: len(part_counts)] += part_counts
            counts = grown
            self._lanes.append(lanes)
            if self.in_one_part:
                self._only_part = part
        self.lane_counts = counts

    def parts(self) -> Iterator[tuple[list[Array], npt.NDArray[np.int32]]]:
        """Columns (start, duration, name, kind, flags, id, place in its kind) of each part, the lanes of its events."""
        lanes = self._lanes.read()
        if self._only_part is not None:
            yield self._only_part, lanes
            return
        first = 0
        for part in self._sorted_parts():
            yield part, lanes[first : first + len(part[0])]
            first += len(part[0])

    def defer(self, rows: Int64Array, kinds: Array, ids: Array, places: Array) -> None:
        if not self._deferred:
            self._deferred = [self._spill.column(dtype) for dtype in ("<i8", "|u1", "<i8", "<u4")]
        for column, values in zip(self._deferred, (rows, kinds, ids, places), strict=True):
            column.append(values)

    def deferred(self) -> Iterator[tuple[Array, ...]]:
        """What was deferred, by ascending row, in pieces."""
        if not self._deferred:
            return
        columns = [column.read() for column in self._deferred]
        order = np.argsort(columns[0], kind="stable")
        for first in range(0, len(order), 1 << 20):
            chosen = order[first : first + (1 << 20)]
            yield tuple(column[chosen] for column in columns)

    def close(self) -> None:
        """Frees the space of temporary columns."""
        for column in (self._lanes, *self._deferred):
            column.close()

    def _split(self, n: int, limit: int) -> list[int | None]:
        """Times that cut the track into parts of about the limit; each run is sorted by start."""
        sample = np.sort(
            np.concatenate(
                [self._columns[0][run.first : run.stop : max(1, limit // 64)] for run in self._runs]
            )
        )
        parts = -(-n // max(1, limit // 2))
        cuts = np.unique(sample[np.linspace(0, len(sample) - 1, parts + 1).astype(int)[1:-1]])
        return [None, *cuts.tolist(), None]

    def _sorted_parts(self) -> Iterator[list[Array]]:
        if len(self._runs) == 1:
            # A run is sorted, so it may be cut anywhere.
            run = self._runs[0]
            for first in range(0, len(run), self._limit):
                yield self._events(run.part(first, min(first + self._limit, len(run))))
            return
        for low, high in zip(self._borders[:-1], self._borders[1:], strict=True):
            pieces = []
            for run in self._runs:
                starts = self._columns[0][run.first : run.stop]
                first = 0 if low is None else int(np.searchsorted(starts, low, "left"))
                stop = len(run) if high is None else int(np.searchsorted(starts, high, "left"))
                if stop > first:
                    pieces.append(self._events(run.part(first, stop)))
            if not pieces:
                continue
            part = [np.concatenate(column) for column in zip(*pieces, strict=True)]
            order = sorting(part[0], part[0] + part[1])
            yield [column[order] for column in part]

    def _events(self, run: Run) -> list[Array]:
        """Start, duration, name, kind, flags, id and place of a run's events."""
        start, duration, name, flags = (column[run.first : run.stop] for column in self._columns)
        n = len(run)
        if run.origin < 0:
            kinds: Array = np.full(n, run.code, np.uint8)
            ids: Array = np.arange(run.first_id, run.first_id + n)
            places: Array = np.arange(run.first_of_kind, run.first_of_kind + n, dtype=np.uint32)
        else:
            kinds, ids, places = (column[run.origin : run.origin + n] for column in self._origins)
        return [start, duration, name, kinds, flags, ids, places]
