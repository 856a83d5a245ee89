"""Writes the file from the data of a `CaptureBuilder`: sorted, packed, linked, with its pyramid."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline._version import __version__
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.platform.files import replace
from warpline.platform.held_folders import TemporaryFolder
from warpline.storage.columns.disk_space import disk_error
from warpline.storage.columns.events import Lanes
from warpline.storage.columns.new_file import new_file
from warpline.storage.columns.schema import EVENT_COLUMNS, FORMAT, MINOR_VERSION, VERSION
from warpline.storage.write.builder_contents import BuilderContents
from warpline.storage.write.counter_writer import write_counters
from warpline.storage.write.datasets import Hdf5Datasets
from warpline.storage.write.event_writer import EventWriter
from warpline.storage.write.kind_writer import write_kinds
from warpline.storage.write.level_writer import DetailMaker
from warpline.storage.write.link_writer import LinkWriter, write_links
from warpline.storage.write.meta_writer import write_meta
from warpline.storage.write.outputs import Datasets
from warpline.storage.write.plain_datasets import PlainDatasets
from warpline.storage.write.table_writer import (
    TextTable,
    write_clocks,
    write_lanes,
    write_stacks,
    write_tracks,
)
from warpline.storage.write.track_attributes import write_track_attributes

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

_MANY = 1 << 17
"""Number of events from which a second thread builds the level of detail."""


def assemble(contents: BuilderContents, progress: Progress | None, cancelled: IsCancelled | None) -> Path:
    """Writes the capture next to its final name and renames it; leaves nothing behind on failure.

    If the process is killed, the next writer there, or ``recover``, removes the folder that is left.
    """
    path = contents.path

    def step(fraction: float, what: str) -> None:
        check_cancelled(cancelled, f"{path}: writing was cancelled")
        if progress is not None:
            progress(fraction, what)

    try:
        contents.spill.check_space(40 * contents.n_events)
        # A folder with an unpredictable name, so that nobody can plant a link for us to write through.
        folder = TemporaryFolder(path.parent)
    except OSError as error:
        raise disk_error(path, error) from error
    part = folder.path / path.name
    try:
        with new_file(part) as (file, room), Hdf5Datasets(file, room, contents.compress) as out:
            events, lanes = _write_head(contents, out, step)
            with contents.spill.another() as spill, DetailMaker(out, contents.tracks, lanes, spill) as detail:
                if contents.n_events >= _MANY:
                    detail.begin()
                _write_rest(contents, out, events, lanes, detail, step)
        # Windows flushes only a file that is open for writing.
        with part.open("r+b") as done:
            os.fsync(done.fileno())
        replace(part, path)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        folder.close()
    step(1.0, "done")
    return path


def assemble_part(contents: BuilderContents, cancelled: IsCancelled | None) -> Path:
    """Writes a `PlainFile` without a level of detail; it is not flushed to disk, so a power failure may lose it."""
    path = contents.path

    def step(_fraction: float, _what: str) -> None:
        check_cancelled(cancelled, f"{path}: writing was cancelled")

    out = PlainDatasets(path)
    events, lanes = _write_head(contents, out, step)
    _write_rest(contents, out, events, lanes, None, step)
    try:
        out.save()
    except OSError as error:
        path.unlink(missing_ok=True)
        raise disk_error(path, error) from error
    return path


def _write_head(contents: BuilderContents, out: Datasets, step: Progress) -> tuple[EventWriter, Lanes]:
    file = out.file
    out.set_attribute(file, "format", FORMAT)
    out.set_attribute(file, "version", VERSION)
    out.set_attribute(file, "minor_version", MINOR_VERSION)
    out.set_attribute(file, "uuid", contents.uuid)
    out.set_attribute(file, "writer", f"warpline {__version__}")
    events = _write_events(contents, out, step)
    return events, events.directory()


def _write_rest(
    contents: BuilderContents,
    out: Datasets,
    events: EventWriter,
    lanes: Lanes,
    detail: DetailMaker | None,
    step: Progress,
) -> None:
    texts = TextTable(contents.strings)
    write_lanes(out, lanes)
    write_tracks(out, contents.tracks, texts)
    write_track_attributes(out, contents.tracks, texts)
    write_clocks(out, contents.clocks, texts)
    step(0.75, "attributes")
    write_kinds(out, contents.kinds, events.kind_orders, contents.row_type)
    step(0.85, "links")
    starts = _CaptureStarts(contents, out, lanes)
    write_links(out, LinkWriter(contents, events.row_of_id, starts), contents.spill)
    write_stacks(out, contents.stacks)
    write_counters(out, contents.counters, texts, contents.spill)
    out.flush()
    step(0.9, "level of detail")
    share = 0.08 / max(1, contents.n_events)
    if detail is not None:
        detail.write(lambda row: step(0.9 + share * row, "level of detail"))
    step(0.98, "texts")
    texts.write(out, contents.spill)
    write_meta(out, contents, contents.span or _span(contents, out, lanes))


def _write_events(contents: BuilderContents, out: Datasets, step: Progress) -> EventWriter:
    group = out.file.create_group("events")
    columns = [out.empty(group, name, dtype, contents.n_events) for name, dtype in EVENT_COLUMNS.items()]
    writer = EventWriter(
        contents,
        [out.buffered(column) for column in columns],
        with_ids=bool(contents.links or contents.keys),
    )
    writer.write(lambda fraction: step(0.7 * fraction, "sorting events"))
    # Frees half of what is on the disk by now, which makes room for the rest of the file.
    out.flush()
    writer.free()
    return writer


class _CaptureStarts:
    """Starts of rows in capture time, int64 ns, from the file being written."""

    def __init__(self, contents: BuilderContents, out: Datasets, lanes: Lanes) -> None:
        self._contents = contents
        self._out = out
        self._lanes = lanes
        self._starts: Array | None = None

    def __call__(self, rows: Int64Array) -> Int64Array:
        if not len(rows):
            return np.empty(0, np.int64)
        if self._starts is None:
            self._out.flush()
            self._starts = self._out.view("events/start", EVENT_COLUMNS["start"])
        # A link may leave from outside the capture; it has no start then, and no key to join by.
        lane = np.maximum(np.searchsorted(self._lanes.first, rows, "right") - 1, 0)
        clock = np.array([track.clock for track in self._contents.tracks])[self._lanes.track[lane]]
        offset = np.array([clock.offset_ns for clock in self._contents.clocks])
        return np.asarray(self._starts[rows] - offset[clock], np.int64)


def _span(contents: BuilderContents, out: Datasets, lanes: Lanes) -> tuple[int, int]:
    """The span of all events and counters, in capture time."""
    offsets = [contents.clocks[track.clock].offset_ns for track in contents.tracks]
    starts, durations = (out.view(f"events/{name}", EVENT_COLUMNS[name]) for name in ("start", "duration"))
    last = lanes.first + lanes.count - 1
    begins, ends = starts[lanes.first], starts[last] + durations[last]
    clock_of_track = np.array([track.clock for track in contents.tracks] or [0])
    low, high = [], []
    for clock in np.unique(clock_of_track[lanes.track]).tolist():
        here = clock_of_track[lanes.track] == clock
        # As Python integers, which cannot overflow: offsets may be far from the events.
        low.append(int(begins[here].min()) - contents.clocks[clock].offset_ns)
        high.append(int(ends[here].max()) - contents.clocks[clock].offset_ns)
    for counter in contents.counters:
        times = counter.times.read()
        if len(times):
            low.append(int(times.min()) - offsets[counter.track])
            high.append(int(times.max()) - offsets[counter.track])
    return (min(low), max(high)) if low else (0, 0)
