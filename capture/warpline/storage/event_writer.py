"""Writes the columns of events, sorted by track, lane and start, within a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from warpline.model import Packing, StorageError

from .contents import BuilderContents, sort_events
from .packing import Packer
from .schema import EVENT_COLUMNS, LANE_COLUMNS
from .spill import SpillColumn

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

BYTES_PER_EVENT = 160
"""Memory a part of a track takes while it is sorted and packed, per event."""

PART_EVENTS_AT_LEAST = 1 << 16

MAX_LANE_EVENTS = (1 << 32) - 1
"""Level of detail counts rows of a lane in 32 bits."""

_BUFFER_EVENTS = 1 << 17


class EventWriter:
    """Turns the builder's runs into `events`, and says where everything went.

    ``lanes`` are the columns of the directory of lanes, ``kind_rows`` the ascending rows of each kind,
    ``kind_order`` for each of these rows which event of its kind (in the order added) lies there, ``row_of_id`` the
    row of each event id, None unless asked for.
    """

    def __init__(
        self, contents: BuilderContents, datasets: dict[str, h5py.Dataset], *, with_ids: bool
    ) -> None:
        self._contents = contents
        self._buffers = [_Buffered(datasets[name]) for name in EVENT_COLUMNS]
        self.lanes: dict[str, list[int]] = {name: [] for name in LANE_COLUMNS}
        self.kind_rows = [contents.spill.column("<i8") for _ in contents.kinds]
        self.kind_order = [contents.spill.column("<i8") for _ in contents.kinds]
        self.row_of_id: Int64Array | None = None
        if with_ids:
            n = contents.n_events
            self.row_of_id = contents.spill.scratch("<i8", n) if n else np.empty(0, np.int64)

    def write(self, step: Callable[[float], None]) -> None:
        """Writes everything; ``step`` is told the fraction done before each track."""
        contents = self._contents
        first_row = 0
        limit = max(PART_EVENTS_AT_LEAST, contents.memory_budget_bytes // BYTES_PER_EVENT)
        spilled = [column.read() for column in contents.event_columns]
        for track in range(len(contents.tracks)):
            runs = contents.runs.get(track, ())
            if runs:
                step(first_row / contents.n_events)
                packed = _PackedTrack(contents, spilled, runs, contents.packings[track], limit)
                first_row = self._write_track(track, packed, first_row)
                packed.close()
        for buffer in self._buffers:
            buffer.flush()

    def _write_track(self, track: int, packed: _PackedTrack, first_row: int) -> int:
        counts = packed.lane_counts
        if int(counts.max()) > MAX_LANE_EVENTS:
            raise StorageError(
                f"{self._contents.path}: {self._contents.tracks[track].uri} has {int(counts.max())} events "
                f"on one lane and at most {MAX_LANE_EVENTS} are possible: spread them over several tracks"
            )
        lane_first = first_row + np.r_[0, np.cumsum(counts)]
        for name, numbers in (
            ("track", np.full(len(counts), track)),
            ("depth", np.arange(len(counts))),
            ("first", lane_first[:-1]),
            ("count", counts),
        ):
            self.lanes[name].extend(numbers.tolist())
        if packed.in_one_part:
            self._write_whole(packed, first_row)
        else:
            self._write_parts(packed, lane_first[:-1].copy())
        return int(lane_first[-1])

    def _write_whole(self, packed: _PackedTrack, first_row: int) -> None:
        for part, lanes in packed.parts():
            order = np.argsort(lanes, kind="stable") if lanes[0] or len(packed.lane_counts) > 1 else None
            values = part if order is None else [column[order] for column in part]
            for buffer, value in zip(self._buffers, values[:5], strict=True):
                buffer.put(first_row, value)
            self._note(np.arange(first_row, first_row + len(lanes)), values[3], values[5])

    def _write_parts(self, packed: _PackedTrack, written: Int64Array) -> None:
        for part, lanes in packed.parts():
            order = np.argsort(lanes, kind="stable")
            counts = np.bincount(lanes, minlength=len(written))
            values = [column[order] for column in part]
            rows = np.repeat(written - (np.cumsum(counts) - counts), counts) + np.arange(len(order))
            begin = 0
            for lane in np.flatnonzero(counts).tolist():
                stop = begin + int(counts[lane])
                for buffer, value in zip(self._buffers, values[:5], strict=True):
                    buffer.put(int(written[lane]), value[begin:stop])
                begin = stop
            written += counts
            # Rows of a kind must ascend; parts interleave lanes, so rows and ids wait on disk.
            packed.defer(rows, values[3], values[5])
        for rows, kinds, ids in packed.deferred():
            self._note(rows, kinds, ids)

    def _note(self, rows: Int64Array, kinds: Array, ids: Int64Array) -> None:
        """Notes for each kind its rows, ascending, and which of its events lies there; and rows by id."""
        contents = self._contents
        if self.row_of_id is not None:
            self.row_of_id[ids] = rows
        codes = np.flatnonzero(np.bincount(kinds, minlength=1)).tolist()
        for code in codes:
            chosen = slice(None) if len(codes) == 1 else kinds == code
            chosen_ids = ids[chosen]
            batch = np.searchsorted(contents.batch_first, chosen_ids, "right") - 1
            self.kind_rows[code].append(rows[chosen])
            self.kind_order[code].append(
                (contents.batch_kind_first - contents.batch_first)[batch] + chosen_ids
            )


class _Buffered:
    """Gathers neighbouring pieces of a dataset: a call of HDF5 costs as much as thousands of values."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self._dataset = dataset
        self._at = 0
        self._pieces: list[Array] = []
        self._count = 0

    def put(self, at: int, values: Array) -> None:
        if at != self._at + self._count or self._count + len(values) > _BUFFER_EVENTS:
            self.flush()
            self._at = at
        self._pieces.append(values)
        self._count += len(values)

    def flush(self) -> None:
        if self._count:
            values = self._pieces[0] if len(self._pieces) == 1 else np.concatenate(self._pieces)
            self._dataset[self._at : self._at + self._count] = values
        self._pieces = []
        self._count = 0


class _PackedTrack:
    """The events of one track in time order and the lane of each, in parts that fit the memory budget."""

    def __init__(
        self,
        contents: BuilderContents,
        columns: Sequence[Array],
        runs: Sequence[tuple[int, int]],
        packing: Packing,
        limit: int,
    ) -> None:
        self._runs = [[column[first:stop] for column in columns] for first, stop in runs]
        self._spill = contents.spill
        n = sum(len(run[0]) for run in self._runs)
        self.in_one_part = n <= limit
        self._borders = [None, None] if self.in_one_part else self._split(n, limit)
        self._deferred: list[SpillColumn] = []
        packer = Packer(packing)
        self._lanes = contents.spill.column("<i4")
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
        """Columns (start, duration, name, kind, flags, id) of each part and the lanes of its events."""
        lanes = self._lanes.read()
        if self._only_part is not None:
            yield self._only_part, lanes
            return
        first = 0
        for part in self._sorted_parts():
            yield part, lanes[first : first + len(part[0])]
            first += len(part[0])

    def defer(self, rows: Int64Array, kinds: Array, ids: Int64Array) -> None:
        if not self._deferred:
            self._deferred = [self._spill.column(dtype) for dtype in ("<i8", "|u1", "<i8")]
        for column, values in zip(self._deferred, (rows, kinds, ids), strict=True):
            column.append(values)

    def deferred(self) -> Iterator[tuple[Int64Array, Array, Int64Array]]:
        """What was deferred, by ascending row, in pieces."""
        if not self._deferred:
            return
        rows, kinds, ids = (column.read() for column in self._deferred)
        order = np.argsort(rows, kind="stable")
        for first in range(0, len(order), 1 << 20):
            chosen = order[first : first + (1 << 20)]
            yield rows[chosen], kinds[chosen], ids[chosen]

    def close(self) -> None:
        """Frees the space of temporary columns."""
        for column in (self._lanes, *self._deferred):
            column.close()

    def _split(self, n: int, limit: int) -> list[int | None]:
        """Times that cut the track into parts of about the limit; each run is sorted by start."""
        sample = np.sort(np.concatenate([run[0][:: max(1, limit // 64)] for run in self._runs]))
        parts = -(-n // max(1, limit // 2))
        cuts = np.unique(sample[np.linspace(0, len(sample) - 1, parts + 1).astype(int)[1:-1]])
        return [None, *cuts.tolist(), None]

    def _sorted_parts(self) -> Iterator[list[Array]]:
        for low, high in zip(self._borders[:-1], self._borders[1:], strict=True):
            pieces = []
            for run in self._runs:
                first = 0 if low is None else int(np.searchsorted(run[0], low, "left"))
                stop = len(run[0]) if high is None else int(np.searchsorted(run[0], high, "left"))
                if stop > first:
                    pieces.append([column[first:stop] for column in run])
            if not pieces:
                continue
            part = [np.concatenate(column) for column in zip(*pieces, strict=True)]
            order = sort_events(part[0], part[0] + part[1])
            yield part if order is None else [column[order] for column in part]
