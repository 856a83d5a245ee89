"""Turns what a `CaptureBuilder` collected into the file: sorted, packed, linked, with its pyramid."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import Cancelled, Packing, StorageError

from .builder import BuilderContents, sort_events
from .counters import counter_pyramid
from .linking import join_keys
from .lod import build_levels
from .packing import Packer
from .schema import (
    ALIGNMENT,
    CLOCK_COLUMNS,
    COUNTER_COLUMNS,
    EVENT_COLUMNS,
    FORMAT,
    INTERPOLATIONS,
    LANE_COLUMNS,
    LINK_COLUMNS,
    LOD_COLUMNS,
    LOD_DIRECTORY,
    NO_RESIDUAL,
    NO_ROW,
    SKIP,
    STACK_COLUMNS,
    TRACK_COLUMNS,
    VERSION,
)
from .spill import SpillColumn, disk_error

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
Progress = Callable[[float, str], None]

_BYTES_PER_EVENT = 160
"""Memory a part of a track takes while it is sorted and packed, per event."""


def assemble(
    contents: BuilderContents, progress: Progress | None, cancelled: Callable[[], bool] | None
) -> Path:
    """Writes the capture next to its final name and renames it; leaves nothing behind on failure."""
    path = contents.path
    part = path.with_name(path.name + ".part")

    def step(fraction: float, what: str) -> None:
        if cancelled is not None and cancelled():
            raise Cancelled(f"{path}: writing was cancelled")
        if progress is not None:
            progress(fraction, what)

    try:
        contents.spill.check_space(40 * contents.n_events)
        # The newest file format keeps checksums of its directories, so damage is noticed instead of followed.
        with h5py.File(
            part, "w", libver="latest", alignment_threshold=ALIGNMENT, alignment_interval=ALIGNMENT
        ) as file:
            _Assembly(contents, file, step).write()
        with part.open("rb") as done:
            os.fsync(done.fileno())
        os.replace(part, path)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    step(1.0, "done")
    return path


class _Assembly:
    def __init__(self, contents: BuilderContents, file: h5py.File, step: Progress) -> None:
        self._contents = contents
        self._file = file
        self._step = step
        self._strings = {text: index for index, text in enumerate(contents.strings)}
        self._string_list = list(contents.strings)
        self._lanes: dict[str, list[int]] = {name: [] for name in LANE_COLUMNS}
        self._needs_rows_of_ids = bool(contents.links or contents.keys)
        spill = contents.spill
        self._kind_rows = [spill.column("<i8") for _ in contents.kinds]
        self._kind_order = [spill.column("<i8") for _ in contents.kinds]

    def write(self) -> None:
        file, contents = self._file, self._contents
        file.attrs["format"] = FORMAT
        file.attrs["version"] = VERSION
        file.attrs["uuid"] = contents.uuid
        self._write_events()
        self._write_directories()
        self._step(0.75, "attributes")
        self._write_kinds()
        self._step(0.85, "links")
        self._write_links()
        self._write_stacks()
        self._write_counters()
        file.flush()
        self._step(0.9, "level of detail")
        self._write_level_of_detail()
        self._write_strings()
        self._write_meta()

    # Events: sorted by track, lane, start

    def _write_events(self) -> None:
        contents = self._contents
        group = self._file.create_group("events")
        columns = {
            name: self._empty(group, name, dtype, contents.n_events) for name, dtype in EVENT_COLUMNS.items()
        }
        self._row_of_id = self._id_map()
        first_row = 0
        limit = max(1 << 16, contents.memory_budget_bytes // _BYTES_PER_EVENT)
        spilled = [column.read() for column in contents.event_columns]
        for track in range(len(contents.tracks)):
            runs = contents.runs.get(track, ())
            if runs:
                self._step(0.7 * first_row / contents.n_events, "sorting events")
                packed = _PackedTrack(contents, spilled, runs, contents.packings[track], limit)
                first_row = self._write_track(track, packed, columns, first_row)

    def _write_track(
        self, track: int, packed: _PackedTrack, columns: dict[str, h5py.Dataset], first_row: int
    ) -> int:
        lane_first = first_row + np.r_[0, np.cumsum(packed.lane_counts)]
        for depth, count in enumerate(packed.lane_counts.tolist()):
            place = {"track": track, "depth": depth, "first": int(lane_first[depth]), "count": count}
            for name, number in place.items():
                self._lanes[name].append(number)
        written = lane_first[:-1].copy()
        pending: list[tuple[Int64Array, Array, Array]] = []
        for part, lanes in packed.parts():
            order = np.argsort(lanes, kind="stable")
            counts = np.bincount(lanes, minlength=len(written))
            values = [column[order] for column in part]
            rows = (
                np.repeat(written, counts)
                + np.arange(len(order))
                - np.repeat(np.cumsum(counts) - counts, counts)
            )
            begin = 0
            for lane in np.flatnonzero(counts).tolist():
                stop = begin + int(counts[lane])
                at = int(written[lane])
                for name, value in zip(EVENT_COLUMNS, values[:5], strict=True):
                    columns[name][at : at + stop - begin] = value[begin:stop]
                written[lane] += stop - begin
                begin = stop
            kinds, ids = values[3], values[5]
            if self._row_of_id is not None:
                self._row_of_id[ids] = rows
            pending.append((rows, kinds, ids))
            if not packed.in_one_part:
                # Rows of a kind must ascend; parts interleave lanes, so rows and ids wait on disk.
                packed.defer(rows, kinds, ids)
                pending.clear()
        for rows, kinds, ids in pending or packed.deferred():
            self._collect_kinds(rows, kinds, ids)
        return int(lane_first[-1])

    def _collect_kinds(self, rows: Int64Array, kinds: Array, ids: Int64Array) -> None:
        """Notes for each kind its rows, ascending, and which of its events (in the order added) lies there."""
        contents = self._contents
        for code in np.flatnonzero(np.bincount(kinds, minlength=1)).tolist():
            chosen = kinds == code
            chosen_ids = ids[chosen]
            batch = np.searchsorted(contents.batch_first, chosen_ids, "right") - 1
            self._kind_rows[code].append(rows[chosen])
            self._kind_order[code].append(
                contents.batch_kind_first[batch] + chosen_ids - contents.batch_first[batch]
            )

    def _id_map(self) -> Int64Array | None:
        if not self._needs_rows_of_ids or not self._contents.n_events:
            return np.empty(0, np.int64) if self._needs_rows_of_ids else None
        return self._contents.spill.scratch("<i8", self._contents.n_events)

    # Kinds

    def _write_kinds(self) -> None:
        group = self._file.create_group("kinds")
        for buffer in self._contents.kinds:
            if not buffer.count:
                continue
            kind = group.create_group(buffer.spec.name)
            for key, value in (
                ("code", buffer.code),
                ("title", buffer.spec.title),
                ("category", buffer.spec.category),
                ("color", buffer.spec.color),
            ):
                kind.attrs[key] = value
            self._put(kind, "row", self._kind_rows[buffer.code].read(), "<i8")
            order = self._kind_order[buffer.code].read()
            attributes, valid = kind.create_group("attributes"), kind.create_group("valid")
            for spec in buffer.spec.attributes:
                column = buffer.columns.get(spec.name)
                if column is None:
                    continue
                column.fill(buffer.count)
                dataset = self._gather(attributes, spec.name, column.values, order)
                dataset.attrs["title"] = spec.title
                dataset.attrs["unit"] = spec.unit
                dataset.attrs["type"] = spec.dtype
                if spec.enum:
                    dataset.attrs["enum"] = orjson.dumps(
                        {str(number): text for number, text in spec.enum.items()}
                    ).decode()
                if not np.all(column.valid.read()):
                    self._gather(valid, spec.name, column.valid, order)

    def _gather(self, group: h5py.Group, name: str, column: SpillColumn, order: Int64Array) -> h5py.Dataset:
        values = column.read()
        dataset = self._empty(group, name, column.dtype.str, len(order))
        for first in range(0, len(order), 1 << 20):
            dataset[first : first + (1 << 20)] = values[order[first : first + (1 << 20)]]
        return dataset

    # Links

    def _write_links(self) -> None:
        contents = self._contents
        group = self._file.create_group("links")
        names = sorted({*contents.links, *(kind for kind, _, _ in contents.keys)})
        pieces: list[tuple[Int64Array, Int64Array, Array]] = []
        for code, name in enumerate(names):
            for sources, targets in self._links_of(name):
                pieces.append((sources, targets, np.full(len(sources), code, np.uint8)))
        columns = [
            np.concatenate([np.empty(0, dtype), *column])
            for dtype, column in zip(
                (np.int64, np.int64, np.uint8), list(zip(*pieces, strict=True)) or [(), (), ()], strict=True
            )
        ]
        order = np.lexsort((columns[1], columns[0]))
        for name, dtype, values in zip(LINK_COLUMNS, LINK_COLUMNS.values(), columns, strict=True):
            self._put(group, name, values[order], dtype)
        by_to = np.argsort(columns[1][order], kind="stable")
        self._put(group, "by_to", by_to, "<i8")
        group.attrs["kinds"] = orjson.dumps(names).decode()

    def _links_of(self, name: str) -> Iterator[tuple[Int64Array, Int64Array]]:
        contents = self._contents
        if name in contents.links:
            sources, targets = contents.links[name]
            yield self._rows(sources.read()), self._rows(targets.read())
        for kind, scope, end in contents.keys:
            if kind != name or end != "from" or (kind, scope, "to") not in contents.keys:
                continue
            source, target = contents.keys[kind, scope, "from"], contents.keys[kind, scope, "to"]
            from_rows, to_rows = self._rows(source.ids.read()), self._rows(target.ids.read())
            yield join_keys(
                source.keys.read(),
                from_rows,
                self._capture_starts(from_rows),
                target.keys.read(),
                to_rows,
                self._capture_starts(to_rows),
            )

    def _rows(self, ids: Int64Array) -> Int64Array:
        assert self._row_of_id is not None
        if len(ids) and (int(ids.max()) >= self._contents.n_events or int(ids.min()) < -1):
            raise StorageError(f"{self._contents.path}: a link names an event that was never added")
        rows = np.full(len(ids), NO_ROW, np.int64)
        inside = ids >= 0
        rows[inside] = self._row_of_id[ids[inside]]
        return rows

    def _capture_starts(self, rows: Int64Array) -> Int64Array:
        if not len(rows):
            return np.empty(0, np.int64)
        self._file.flush()
        values = _view(self._file["events/start"], EVENT_COLUMNS["start"])
        lane = np.searchsorted(np.array(self._lanes["first"]), rows, "right") - 1
        clock = np.array([track.clock for track in self._contents.tracks])[
            np.array(self._lanes["track"])[lane]
        ]
        return np.asarray(
            values[rows] - np.array([c.offset_ns for c in self._contents.clocks])[clock], np.int64
        )

    # Directories and small tables

    def _write_directories(self) -> None:
        contents = self._contents
        lanes = self._file.create_group("lanes")
        for name, dtype in LANE_COLUMNS.items():
            self._put(lanes, name, np.array(self._lanes[name], np.int64), dtype)
        tracks = self._file.create_group("tracks")
        for name, dtype in TRACK_COLUMNS.items():
            column = [getattr(track, name) for track in contents.tracks]
            if name in ("uri", "title", "role"):
                column = [self._string(text) for text in column]
            numbers = np.array([-1 if value is None else value for value in column], np.int64)
            self._put(tracks, name, numbers, dtype)
        clocks = self._file.create_group("clocks")
        rows = [
            (
                self._string(c.name),
                c.offset_ns,
                self._string(c.method),
                NO_RESIDUAL if c.residual_ns is None else c.residual_ns,
            )
            for c in contents.clocks
        ]
        for name, dtype, values in zip(
            CLOCK_COLUMNS, CLOCK_COLUMNS.values(), zip(*rows, strict=True), strict=True
        ):
            self._put(clocks, name, np.array(values, np.int64), dtype)

    def _write_stacks(self) -> None:
        group = self._file.create_group("stacks")
        pairs = np.array(self._contents.stacks, np.int64).reshape(-1, 2)
        for index, (name, dtype) in enumerate(STACK_COLUMNS.items()):
            self._put(group, name, pairs[:, index], dtype)

    def _write_counters(self) -> None:
        group = self._file.create_group("counters")
        counters = [(c, c.times.read(), c.values.read()) for c in self._contents.counters]
        ordered = []
        for counter, times, values in counters:
            order = np.argsort(times, kind="stable")
            ordered.append((counter, times[order], values[order]))
        counts = [len(times) for _, times, _ in ordered]
        directory = {
            "track": [c.track for c, _, _ in ordered],
            "name": [self._string(c.name) for c, _, _ in ordered],
            "unit": [self._string(c.unit) for c, _, _ in ordered],
            "interpolation": [INTERPOLATIONS.index(c.interpolation) for c, _, _ in ordered],
            "first": np.cumsum([0, *counts])[:-1],
            "count": counts,
        }
        for name, dtype in COUNTER_COLUMNS.items():
            self._put(group, name, np.asarray(directory[name], np.int64), dtype)
        empty = np.empty(0)
        self._put(group, "time", np.concatenate([empty.astype(np.int64), *(t for _, t, _ in ordered)]), "<i8")
        self._put(group, "value", np.concatenate([empty, *(v for _, _, v in ordered)]), "<f8")
        pyramids = [counter_pyramid(values) for _, _, values in ordered]
        for index, name in enumerate(("min", "max", "mean")):
            self._put(group, name, np.concatenate([empty, *(p[index] for p in pyramids)]), "<f8")

    # Level of detail

    def _write_level_of_detail(self) -> None:
        contents, lanes = self._contents, self._lanes
        columns = {name: contents.spill.column(dtype) for name, dtype in LOD_COLUMNS.items()}
        skip = contents.spill.column("<i8")
        skip_levels = contents.spill.column("<i8")
        directory: dict[str, list[int]] = {name: [] for name in LOD_DIRECTORY}
        events = {name: _view(self._file["events"][name], dtype) for name, dtype in EVENT_COLUMNS.items()}
        total = 0
        for lane, (first, count) in enumerate(zip(lanes["first"], lanes["count"], strict=True)):
            if lane % 256 == 0:
                self._step(0.9 + 0.08 * first / max(1, contents.n_events), "level of detail")
            run = slice(first, first + count)
            start = events["start"][run]
            skip.append(start[::SKIP])
            for level in build_levels(
                start, events["duration"][run], events["flags"][run], events["kind"][run]
            ):
                for name, column in columns.items():
                    column.append(getattr(level, name))
                skip_levels.append(level.start[::SKIP])
                entries = len(level.start)
                for name, value in (
                    ("lane", lane),
                    ("level", level.level),
                    ("first", total),
                    ("count", entries),
                ):
                    directory[name].append(value)
                total += entries
        group = self._file.create_group("lod")
        for name, dtype in LOD_DIRECTORY.items():
            self._put(group.require_group("levels"), name, np.array(directory[name], np.int64), dtype)
        for name, dtype in LOD_COLUMNS.items():
            self._put(group, name, columns[name].read(), dtype)
        self._put(group, "skip_events", skip.read(), "<i8")
        self._put(group, "skip_entries", skip_levels.read(), "<i8")

    # Text

    def _string(self, text: str) -> int:
        index = self._strings.get(text)
        if index is None:
            index = self._strings[text] = len(self._string_list)
            self._string_list.append(text)
        return index

    def _write_strings(self) -> None:
        group = self._file.create_group("strings")
        encoded = [text.encode("utf-8", "surrogateescape") for text in self._string_list]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        self._put(group, "offset", offsets, "<u8")
        self._put(group, "data", np.frombuffer(b"".join(encoded), np.uint8), "|u1")

    def _write_meta(self) -> None:
        contents = self._contents
        start, stop = contents.span or self._span()
        document = {
            "span_ns": [start, stop],
            "sources": [asdict(source) for source in contents.sources],
            "skipped": [asdict(entry) for entry in contents.skipped],
            "warnings": list(contents.warnings),
            "pauses_ns": [list(pause) for pause in contents.pauses],
            "processes": [asdict(process) for process in contents.processes],
            "threads": [asdict(thread) for thread in contents.threads],
            "devices": [asdict(device) for device in contents.devices],
            "meta": contents.meta,
        }
        data = orjson.dumps(
            document, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY, default=str
        )
        self._put(self._file, "meta", np.frombuffer(data, np.uint8), "|u1")

    def _span(self) -> tuple[int, int]:
        """From the first to the last moment of events and counters, in capture time."""
        low: list[int] = []
        high: list[int] = []
        offsets = [self._contents.clocks[track.clock].offset_ns for track in self._contents.tracks]
        starts, durations = self._file["events/start"], self._file["events/duration"]
        for track, first, count in zip(
            self._lanes["track"], self._lanes["first"], self._lanes["count"], strict=True
        ):
            last = first + count - 1
            low.append(int(starts[first]) - offsets[track])
            high.append(int(starts[last]) + int(durations[last]) - offsets[track])
        for counter in self._contents.counters:
            times = counter.times.read()
            if len(times):
                low.append(int(times.min()) - offsets[counter.track])
                high.append(int(times.max()) - offsets[counter.track])
        return (min(low), max(high)) if low else (0, 0)

    # Datasets

    def _empty(self, group: h5py.Group, name: str, dtype: str, n: int) -> h5py.Dataset:
        if self._contents.compress and n:
            return group.create_dataset(
                name,
                (n,),
                dtype,
                chunks=(min(n, 1 << 14),),
                compression="gzip",
                compression_opts=1,
                shuffle=True,
            )
        return group.create_dataset(name, (n,), dtype)

    def _put(self, group: h5py.Group, name: str, values: Array, dtype: str) -> None:
        dataset = self._empty(group, name, dtype, len(values))
        for first in range(0, len(values), 1 << 20):
            dataset[first : first + (1 << 20)] = values[first : first + (1 << 20)]


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

    def _split(self, n: int, limit: int) -> list[int | None]:
        """Times that cut the track into parts of about the limit; each run is sorted by start."""
        sample = np.sort(np.concatenate([run[0][:: max(1, limit // 64)] for run in self._runs]))
        parts = -(-n // (limit // 2 or 1))
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


def _view(dataset: h5py.Dataset, dtype: str) -> Array:
    """The column mapped from the file being written, or read where it has no place of its own."""
    offset = dataset.id.get_offset()
    if offset is None or not dataset.shape[0]:
        return np.asarray(dataset[:], dtype)
    return np.memmap(dataset.file.filename, dtype, "r", offset=offset, shape=dataset.shape)
