"""Turns what a `CaptureBuilder` collected into the file: sorted, packed, linked, with its pyramid."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import Cancelled
from warpline.storage.columns.counters import counter_pyramid
from warpline.storage.columns.disk_space import disk_error
from warpline.storage.columns.groups import Together, find_groups
from warpline.storage.columns.mapped_file import set_attribute, utf8
from warpline.storage.columns.schema import (
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
    SKIP,
    STACK_COLUMNS,
    TRACK_COLUMNS,
    UTILIZATION_COLUMNS,
    VERSION,
)
from warpline.storage.index.level_of_detail import LEAST_EVENTS, build_levels
from warpline.storage.index.utilization import Curve, build_curve
from warpline.storage.write.builder_contents import BuilderContents
from warpline.storage.write.event_writer import Buffered, EventWriter, KindOrder
from warpline.storage.write.link_writer import LinkWriter, sorting_order
from warpline.storage.write.spill import SpillColumn

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
Progress = Callable[[float, str], None]


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
        self._lanes: dict[str, list[int]] = {}
        self._kind_orders: list[KindOrder] = []
        self._row_of_id: Array | None = None
        self._starts: Array | None = None

    def write(self) -> None:
        file, contents = self._file, self._contents
        set_attribute(file, "format", FORMAT)
        set_attribute(file, "version", VERSION)
        set_attribute(file, "uuid", contents.uuid)
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
        self._step(0.98, "utilization")
        self._write_utilization()
        self._write_strings()
        self._write_meta()

    def _write_events(self) -> None:
        group = self._file.create_group("events")
        writer = EventWriter(
            self._contents,
            {
                name: self._empty(group, name, dtype, self._contents.n_events)
                for name, dtype in EVENT_COLUMNS.items()
            },
            with_ids=bool(self._contents.links or self._contents.keys),
        )
        writer.write(lambda fraction: self._step(0.7 * fraction, "sorting events"))
        self._lanes = writer.lanes
        self._kind_orders = writer.kind_orders
        self._row_of_id = writer.row_of_id

    # Kinds

    def _write_kinds(self) -> None:
        group = self._file.create_group("kinds")
        rows: dict[int, h5py.Dataset] = {}
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
                set_attribute(kind, key, value)
            rows[buffer.code] = self._empty(kind, "row", "<i8", buffer.count)
            order = self._kind_orders[buffer.code]
            attributes, valid = kind.create_group("attributes"), kind.create_group("valid")
            for spec in buffer.spec.attributes:
                column = buffer.columns.get(spec.name)
                if column is None:
                    continue
                column.fill(buffer.count)
                dataset = self._gather(attributes, spec.name, column.values, order, buffer.count)
                set_attribute(dataset, "title", spec.title)
                set_attribute(dataset, "unit", spec.unit)
                set_attribute(dataset, "type", spec.dtype)
                if spec.enum:
                    named = {str(number): text for number, text in spec.enum.items()}
                    set_attribute(dataset, "enum", orjson.dumps(named).decode())
                if column.valid is not None:
                    self._gather(valid, spec.name, column.valid, order, buffer.count)
        self._write_rows_of_kinds(rows)

    def _gather(
        self, group: h5py.Group, name: str, column: SpillColumn, order: KindOrder, count: int
    ) -> h5py.Dataset:
        dataset = self._empty(group, name, column.dtype.str, count)
        buffer = Buffered(dataset)
        at = 0
        for values in order.gather(column.read()):
            buffer.put(at, values)
            at += len(values)
        buffer.flush()
        column.close()
        return dataset

    def _write_rows_of_kinds(self, datasets: Mapping[int, h5py.Dataset]) -> None:
        """The rows of each kind, ascending: where the column of kinds says so."""
        self._file.flush()
        kinds = _view(self._file["events/kind"], EVENT_COLUMNS["kind"])
        buffers = {code: (Buffered(dataset), [0]) for code, dataset in datasets.items()}
        for first in range(0, len(kinds), 1 << 17):
            piece = kinds[first : first + (1 << 17)]
            codes = np.flatnonzero(np.bincount(piece)).tolist()
            for code in codes:
                rows = (np.flatnonzero(piece == code) if len(codes) > 1 else np.arange(len(piece))) + first
                buffer, at = buffers[code]
                buffer.put(at[0], rows)
                at[0] += len(rows)
        for buffer, _at in buffers.values():
            buffer.flush()

    # Links

    def _write_links(self) -> None:
        group = self._file.create_group("links")
        links = LinkWriter(self._contents, self._row_of_id, self._capture_starts)
        datasets = [self._empty(group, name, dtype, len(links)) for name, dtype in LINK_COLUMNS.items()]
        to_rows = self._contents.spill.column("<i8")
        at = 0
        for part in links.in_order():
            for dataset, values in zip(datasets, part, strict=True):
                dataset[at : at + len(values)] = values
            to_rows.append(part[1])
            at += len(part[0])
        by_to = self._empty(group, "by_to", "<i8", len(links))
        at = 0
        for order in sorting_order(to_rows.read()):
            by_to[at : at + len(order)] = order
            at += len(order)
        set_attribute(group, "kinds", orjson.dumps(links.names).decode())

    def _capture_starts(self, rows: Int64Array) -> Int64Array:
        if not len(rows):
            return np.empty(0, np.int64)
        if self._starts is None:
            self._file.flush()
            self._starts = _view(self._file["events/start"], EVENT_COLUMNS["start"])
        # A link may leave from outside the capture; it has no start then, and no key to join by.
        lane = np.maximum(np.searchsorted(np.array(self._lanes["first"]), rows, "right") - 1, 0)
        clock = np.array([track.clock for track in self._contents.tracks])[
            np.array(self._lanes["track"])[lane]
        ]
        offset = np.array([clock.offset_ns for clock in self._contents.clocks])
        return np.asarray(self._starts[rows] - offset[clock], np.int64)

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
        counters = self._contents.counters
        counts = [len(c.times) for c in counters]
        first = np.cumsum([0, *counts])
        directory = {
            "track": [c.track for c in counters],
            "name": [self._string(c.name) for c in counters],
            "unit": [self._string(c.unit) for c in counters],
            "interpolation": [INTERPOLATIONS.index(c.interpolation) for c in counters],
            "first": first[:-1],
            "count": counts,
        }
        for name, dtype in COUNTER_COLUMNS.items():
            self._put(group, name, np.asarray(directory[name], np.int64), dtype)
        times = self._empty(group, "time", "<i8", int(first[-1]))
        values = self._empty(group, "value", "<f8", int(first[-1]))
        pyramids = [self._contents.spill.column("<f8") for _ in ("min", "max", "mean")]
        for counter, begin, count in zip(counters, first[:-1].tolist(), counts, strict=True):
            if count:
                order = np.argsort(counter.times.read(), kind="stable")
                times[begin : begin + count] = counter.times.read()[order]
                ordered = counter.values.read()[order]
                values[begin : begin + count] = ordered
                for column, level in zip(pyramids, counter_pyramid(ordered), strict=True):
                    column.append(level)
        for name, column in zip(("min", "max", "mean"), pyramids, strict=True):
            self._put(group, name, column.read(), "<f8")

    # Level of detail

    def _write_level_of_detail(self) -> None:
        contents, lanes = self._contents, self._lanes
        columns = {name: contents.spill.column(dtype) for name, dtype in LOD_COLUMNS.items()}
        skip_levels = contents.spill.column("<i8")
        directory: dict[str, list[int]] = {name: [] for name in LOD_DIRECTORY}
        events = {name: _view(self._file["events"][name], dtype) for name, dtype in EVENT_COLUMNS.items()}
        total = 0
        for lane, (first, count) in enumerate(zip(lanes["first"], lanes["count"], strict=True)):
            if lane % 256 == 0:
                self._step(0.9 + 0.07 * first / max(1, contents.n_events), "level of detail")
            if count < LEAST_EVENTS:
                continue
            run = slice(first, first + count)
            for level in build_levels(
                events["start"][run], events["duration"][run], events["flags"][run], events["kind"][run]
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
        skip = events["start"][
            _every(SKIP, np.array(lanes["first"], np.int64), np.array(lanes["count"], np.int64))
        ]
        group = self._file.create_group("lod")
        for name, dtype in LOD_DIRECTORY.items():
            self._put(group.require_group("levels"), name, np.array(directory[name], np.int64), dtype)
        for name, dtype in LOD_COLUMNS.items():
            self._put(group, name, columns[name].read(), dtype)
        self._put(group, "skip_events", skip, "<i8")
        self._put(group, "skip_entries", skip_levels.read(), "<i8")

    def _write_utilization(self) -> None:
        contents, lanes = self._contents, self._lanes
        lanes_of: dict[int, list[int]] = {}
        for lane, track in enumerate(lanes["track"]):
            lanes_of.setdefault(track, []).append(lane)
        columns = {name: _view(self._file["events"][name], dtype) for name, dtype in EVENT_COLUMNS.items()}
        directory: dict[str, list[int]] = {name: [] for name in UTILIZATION_COLUMNS}
        values = contents.spill.column("<f4")
        built: dict[tuple[tuple[int, ...], Together], Curve] = {}
        for group in find_groups(contents.tracks, lambda track: lanes_of.get(track, [])).values():
            self._step(0.98, "utilization")
            curve = built.get((group.lanes, group.together))
            if curve is None:
                curve = build_curve(group, columns, lanes["first"], lanes["count"])
                built[group.lanes, group.together] = curve
            for name, number in (
                ("track", group.track),
                ("together", int(group.together)),
                ("capacity", group.capacity),
                ("level", curve.level),
                ("origin", curve.origin),
                ("first", len(values)),
                ("count", len(curve.values)),
            ):
                directory[name].append(number)
            values.append(curve.values)
        node = self._file.create_group("utilization")
        for name, dtype in UTILIZATION_COLUMNS.items():
            self._put(node, name, np.array(directory[name], np.int64), dtype)
        self._put(node, "value", values.read(), "<f4")

    # Text

    def _string(self, text: str) -> int:
        index = self._strings.get(text)
        if index is None:
            index = self._strings[text] = len(self._string_list)
            self._string_list.append(text)
        return index

    def _write_strings(self) -> None:
        group = self._file.create_group("strings")
        data = "".join(self._string_list)
        encoded: Sequence[str | bytes] = self._string_list
        if not data.isascii():  # otherwise a character is a byte
            encoded = [utf8(text) for text in self._string_list]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
        self._put(group, "offset", offsets, "<u8")
        self._put(group, "data", np.frombuffer(utf8(data), np.uint8), "|u1")

    def _write_meta(self) -> None:
        contents = self._contents
        start, stop = contents.span or self._span()
        document = {
            "span_ns": [start, stop],
            "sources": [vars(source) for source in contents.sources],
            "skipped": [vars(entry) for entry in contents.skipped],
            "warnings": list(contents.warnings),
            "pauses_ns": [list(pause) for pause in contents.pauses],
            "processes": [vars(process) for process in contents.processes],
            "threads": [vars(thread) for thread in contents.threads],
            "devices": [vars(device) for device in contents.devices],
            "meta": contents.meta,
        }
        data = orjson.dumps(_plain(document))
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


def _every(step: int, first: Int64Array, count: Int64Array) -> Int64Array:
    """The first row of each run of rows, and every ``step``-th after it."""
    sizes = -(-count // step)
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows: Int64Array = np.repeat(first, sizes) + inside * step
    return rows.astype(np.int64)


def _plain(value: Any) -> Any:
    """A description as values that JSON has; anything else as text."""
    if isinstance(value, str):
        return utf8(value).decode()
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int | np.integer):
        return int(value) if -(1 << 63) <= value < 1 << 64 else str(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, Mapping):
        return {utf8(str(key)).decode(): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    return utf8(str(value)).decode()


def _view(dataset: h5py.Dataset, dtype: str) -> Array:
    """The column mapped from the file being written, or read where it has no place of its own."""
    offset = dataset.id.get_offset()
    if offset is None or not dataset.shape[0]:
        return np.asarray(dataset[:], dtype)
    # A plain view: slicing a memmap object costs ten times as much.
    return np.asarray(np.memmap(dataset.file.filename, dtype, "r", offset=offset, shape=dataset.shape))
