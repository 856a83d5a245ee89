"""`open_capture` and `Capture`: a capture as columns, mapped from its file."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warpline.model import (
    CaptureFormatError,
    Clock,
    Device,
    Process,
    ProgramEnd,
    Skipped,
    Source,
    Thread,
    Track,
)
from warpline.model.progress import IsCancelled, Progress
from warpline.storage.cache import ConversionCache
from warpline.storage.columns.column_source import CaptureFile
from warpline.storage.columns.counters import Counter
from warpline.storage.columns.events import Lanes
from warpline.storage.columns.file_fate import FileFate
from warpline.storage.columns.groups import LaneGroup, find_groups
from warpline.storage.columns.kind_table import KindTable
from warpline.storage.columns.links import Links
from warpline.storage.columns.mapped_file import MappedFile
from warpline.storage.columns.plain_file import PlainFile
from warpline.storage.columns.schema import MINOR_VERSION, NO_STACK
from warpline.storage.columns.strings import Strings
from warpline.storage.columns.strip import Strip
from warpline.storage.columns.track_tree import TrackTree
from warpline.storage.index.activity import ActiveTime, find_activity
from warpline.storage.index.exact_queries import ExactQueries
from warpline.storage.index.lane_columns import LaneColumns
from warpline.storage.index.name_index import NameIndex
from warpline.storage.index.name_index_cache import build_name_index, index_lanes
from warpline.storage.index.pyramid import Pyramid
from warpline.storage.index.strip_native import StripLoop, strip_loop
from warpline.storage.index.strip_query import query_strip
from warpline.storage.index.utilization import BusyCurve, strip_coverage
from warpline.storage.read.archive import working_file
from warpline.storage.read.read_attributes import read_kinds
from warpline.storage.read.read_meta import MAX_TIME, read_program_end
from warpline.storage.read.read_optional import (
    read_counters,
    read_curves,
    read_links,
    read_name_index,
    read_stacks,
)
from warpline.storage.read.read_tables import (
    read_clocks,
    read_events,
    read_lanes,
    read_meta,
    read_tracks,
    read_uuid,
)
from warpline.storage.read.unknown import find_unknown, newer_notice

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

MAX_FRAMES = 4096


def open_capture(
    path: Path | str,
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Capture:
    """Opens a capture without reading its events. A large archive is first unpacked into the user's cache.

    ``progress`` is called with a fraction and a text while unpacking. Raises CaptureFormatError when the file is
    no capture, is damaged or is of another version; of archives also StorageError when the disk is full, and Cancelled.
    """
    path = Path(path)
    cache = ConversionCache()
    working = working_file(path, cache, progress, cancelled)
    try:
        return _open(working, path)
    except CaptureFormatError:
        if working == path:
            raise
        # Either the copy in the cache or the archive is damaged; unpacking again shows which.
        cache.discard(working)
    return _open(working_file(path, cache, progress, cancelled), path)


def _open(working: Path, path: Path) -> Capture:
    file = MappedFile(working)
    try:
        return Capture(file, path)
    except BaseException:
        file.close()
        raise


def open_part(path: Path) -> Capture:
    """Opens a part of a running recording, which a builder wrote as temporary. Raises CaptureFormatError."""
    return Capture(PlainFile(path))


class Capture(ExactQueries):
    """A capture to read. Columns are numpy arrays mapped from the file; all times are capture time in ns.

    Events are identified by row number, lanes by lane number, tracks by index. `query` returns what to draw;
    `ExactQueries` looks up single events and exact times.
    """

    def __init__(self, file: CaptureFile, path: Path | None = None) -> None:
        self._file = file
        self.path = path or file.path
        self._name_index: NameIndex | None = None
        self._name_index_lock = threading.Lock()
        self.uuid = read_uuid(file)
        description = read_meta(file)
        self.span: tuple[int, int] = description.span
        self.meta: Mapping[str, Any] = description.meta
        self.sources: tuple[Source, ...] = description.sources
        self.skipped: tuple[Skipped, ...] = description.skipped
        self.warnings: tuple[str, ...] = description.warnings
        self.pauses: Int64Array = description.pauses
        self.processes: tuple[Process, ...] = description.processes
        self.threads: tuple[Thread, ...] = description.threads
        self.devices: tuple[Device, ...] = description.devices
        self._unknown_meta = description.unknown
        self.strings = Strings(
            file.column("strings/offset", "<u8"), file.column("strings/data", "|u1"), description.messages
        )
        self.clocks = self.recorded_clocks = read_clocks(file, self.strings)
        self.tracks = read_tracks(
            file, self.strings, len(self.clocks), len(self.processes), len(self.threads)
        )
        events = read_events(file)
        lanes = read_lanes(file, len(events), len(self.tracks))
        pyramid = Pyramid(file, lanes, events)
        super().__init__(LaneColumns(events, lanes, pyramid, self._offsets_of(lanes)), len(self.tracks))

    def _offsets_of(self, lanes: Lanes) -> Int64Array:
        clock = np.array([track.clock for track in self.tracks], np.int64)
        offset = np.array([clock.offset_ns for clock in self.clocks], np.int64)
        return offset[clock[lanes.track]] if len(lanes) else np.empty(0, np.int64)

    # Format

    @property
    def format_version(self) -> tuple[int, int]:
        """Major and minor version of the file's format."""
        return self._file.version, self._file.minor_version

    @cached_property
    def writer(self) -> str:
        """The program that wrote the file, with its version; empty when the file does not name it."""
        return self._file.text("", "writer", "")

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Paths of the parts of the file that this version of Warpline ignores; see `read.unknown`."""
        return tuple(find_unknown(self._file, self._unknown_meta))

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """Notices to show with the capture, such as that a newer Warpline wrote it and which parts are ignored."""
        if self._file.minor_version <= MINOR_VERSION:
            return ()
        return (newer_notice(self._file.version, self._file.minor_version, self.writer, self.unknown),)

    @cached_property
    def program_end(self) -> ProgramEnd:
        """How the recorded program ended."""
        return read_program_end(self.meta)

    # Tables

    @property
    def duration_ns(self) -> int:
        """Duration of the recording."""
        return self.span[1] - self.span[0]

    @cached_property
    def kinds(self) -> dict[str, KindTable]:
        """Kinds with events, by name."""
        return read_kinds(self._file, len(self.events))

    @cached_property
    def kind_of_code(self) -> dict[int, str]:
        """Names of kinds by their code in ``events.kind``."""
        return {table.code: name for name, table in self.kinds.items()}

    @cached_property
    def links(self) -> Links:
        """Links between events."""
        return read_links(self._file, len(self.events))

    def links_from(self, row: int) -> tuple[Int64Array, Array]:
        """Rows at the other end of the links from an event, and the links' kinds; row −1 lies outside the capture."""
        return self.links.leaving(row)

    def links_to(self, row: int) -> tuple[Int64Array, Array]:
        """Rows at the other end of the links to an event, and the links' kinds; row −1 lies outside the capture."""
        return self.links.arriving(row)

    @cached_property
    def counters(self) -> tuple[Counter, ...]:
        """All counters."""
        return read_counters(self._file, self.strings, self.tracks, self.clocks)

    @cached_property
    def counters_of_tracks(self) -> dict[int, tuple[Counter, ...]]:
        """Counters by the index of their track."""
        result: dict[int, list[Counter]] = {}
        for counter in self.counters:
            result.setdefault(counter.track, []).append(counter)
        return {track: tuple(counters) for track, counters in result.items()}

    @cached_property
    def stacks(self) -> tuple[Array, Array]:
        """The trie of stacks: for each stack its frame (string id) and its parent (a smaller number, or `NO_STACK`)."""
        return read_stacks(self._file)

    def stack_frames(self, stack: int) -> list[str]:
        """Frames of a stack, leaf first, at most `MAX_FRAMES`. A damaged chain is cut."""
        frame, parent = self.stacks
        frames: list[str] = []
        while 0 <= stack < len(frame) and len(frames) < MAX_FRAMES:
            frames.append(self.strings[int(frame[stack])])
            above = int(parent[stack])
            if above == NO_STACK or above >= stack:
                break
            stack = above
        return frames

    # Tracks

    @cached_property
    def _tree(self) -> TrackTree:
        return TrackTree(self.tracks)

    def track(self, uri: str) -> Track:
        """The track with a URI. Raises KeyError."""
        return self.tracks[self._tree.index_of_uri[uri]]

    def children(self, track: int) -> tuple[int, ...]:
        """Children of a track (−1: the top), ordered by sort key, then by title with numbers compared as numbers."""
        return self._tree.children.get(track, ())

    def clock_offset_of_track(self, track: int) -> int:
        """Recorded time minus capture time of a track, in ns."""
        return self.clocks[self.tracks[track].clock].offset_ns

    def with_clock_offsets(self, offsets_ns: Mapping[int, int]) -> Capture:
        """A view of the capture with other clock offsets (clock index → ns): aligns ranks without rewriting the file.

        Clocks not given keep the file's offset. The span follows the events at its ends. Both captures share the
        file: closing either closes it for both.
        """
        other = copy.copy(self)
        for name in ("counters_of_tracks", "activity"):
            other.__dict__.pop(name, None)
        other._name_index, other._name_index_lock = None, threading.Lock()
        other.clocks = tuple(
            Clock(clock.name, offsets_ns[index], "set by hand") if index in offsets_ns else clock
            for index, clock in enumerate(self.recorded_clocks)
        )
        other.lane_columns = replace(self.lane_columns, offset_ns=other._offsets_of(self.lanes))
        other.__dict__["counters"] = tuple(
            replace(counter, offset_ns=other.clock_offset_of_track(counter.track))
            for counter in self.counters
        )
        first, last = self._extent()
        moved_first, moved_last = other._extent()
        start, stop = self.span[0] + moved_first - first, self.span[1] + moved_last - last
        other.span = (start, max(start, stop))
        return other

    def _extent(self) -> tuple[int, int]:
        """First and last time of events and counters under the current clock offsets; reads only the ends of lanes."""
        first, count = self.lanes.first, self.lanes.count
        rows = np.concatenate([first, first + count - 1])
        # Damaged times must not wrap around.
        starts = np.clip(self.events.start[rows], -MAX_TIME, MAX_TIME) - np.tile(self.lane_offset_ns, 2)
        lengths = np.clip(self.events.duration[rows], 0, MAX_TIME)
        low = starts[: len(first)].tolist()
        high = (starts + lengths)[len(first) :].tolist()
        for counter in self.counters:
            if len(counter.recorded_times):
                low.append(int(counter.recorded_times[0]) - counter.offset_ns)
                high.append(int(counter.recorded_times[-1]) - counter.offset_ns)
        return (min(low), max(high)) if low else (0, 0)

    @cached_property
    def activity(self) -> ActiveTime:
        """The range in which something happens, which a view shows first; see `find_activity`."""
        return find_activity(self.lane_columns, self.tracks, self.span)

    # Drawing

    @cached_property
    def strip_loop(self) -> StripLoop | None:
        """The compiled loop that `query` runs over these columns; None where no native library is loaded."""
        return strip_loop(self.events, self.lanes, self.pyramid)

    def query(self, lanes: npt.ArrayLike, start_ns: int, stop_ns: int, width_px: int) -> Strip:
        """What to draw for some lanes in [start_ns, stop_ns) across ``width_px`` pixels; see `Strip`."""
        numbers = np.asarray(lanes, np.int64)
        return query_strip(
            self.lane_columns, self.strip_loop, numbers, int(start_ns), int(stop_ns), int(width_px)
        )

    @cached_property
    def groups(self) -> dict[int, LaneGroup]:
        """Tracks with a `utilization` (all cores, processes, GPUs, contexts), and the lanes each one sums up."""
        return find_groups(self.tracks, self.track_lanes)

    @cached_property
    def _curves(self) -> dict[int, BusyCurve]:
        return read_curves(self._file, self.groups)

    def utilization(self, track: int, start_ns: int, stop_ns: int, bins: int) -> npt.NDArray[np.float32]:
        """How busy a group track is in each of ``bins`` equal parts of [start_ns, stop_ns); NaN where unknown.

        All cores: the share of cores that run something. A process: how many cores its threads use. A GPU or
        context: the share of time in which any stream works. Outside what was recorded, and for tracks not in
        `groups`, NaN.

        Reads the curve stored in the file (65,536 bins over the whole capture) while its bins are narrow enough,
        so the cost does not depend on the number of lanes; closer in, it queries the lanes.
        """
        if stop_ns <= start_ns or bins <= 0:
            raise ValueError(f"nothing to draw: [{start_ns}, {stop_ns}) in {bins} parts")
        group = self.groups.get(track)
        if group is None:
            return np.full(bins, np.nan, np.float32)
        curve = self._curves.get(track)
        width = (stop_ns - start_ns) / bins
        if curve is not None and width >= 1 << curve.level:
            offset = self.clock_offset_of_track(track)
            values = curve.resample(start_ns + offset, stop_ns + offset, bins)
        else:
            values = strip_coverage(self.query(group.lanes, start_ns, stop_ns, bins), group.together)
        middle = start_ns + (np.arange(bins) + 0.5) * width
        values[(middle < self.span[0]) | (middle > self.span[1])] = np.nan
        return (values / group.capacity).astype(np.float32)

    def name_index(
        self,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> NameIndex:
        """Index of rows by name, from the file or built on first use. Call this off the window's thread.

        Raises Cancelled.
        """
        with self._name_index_lock:
            if self._name_index is None:
                stored = self.stored_name_index
                if stored is not None:
                    self._name_index = NameIndex(self.lane_columns, stored)
                else:
                    self._name_index = build_name_index(self.lane_columns, self.uuid, progress, cancelled)
            return self._name_index

    @cached_property
    def stored_name_index(self) -> Mapping[str, Array] | None:
        """The columns of the index of names in the file; None if the file has no such index."""
        return read_name_index(self._file, self.lanes, len(self.events))

    def index_lanes(self, lanes: Sequence[int], cancelled: IsCancelled | None = None) -> NameIndex:
        """Indexes the names of some lanes in memory, in about 10 ns per event. Raises Cancelled."""
        return index_lanes(self.lane_columns, lanes, cancelled)

    # The file

    @property
    def is_mapped(self) -> bool:
        """False for the archive form, whose columns are decoded into memory."""
        return self._file.mapped

    def is_intact(self) -> bool:
        """Whether the file still has the length it had when it was opened.

        Columns are mapped, so reading one after the file was truncated kills the process (SIGBUS). With
        `warpline.page_guard` enabled, zeros are read instead and this returns False. Warpline itself never truncates a
        capture; it renames.
        """
        return self._file.is_intact()

    def fate(self) -> FileFate:
        """What happened to the file since it was opened."""
        return self._file.fate()

    def close(self) -> None:
        """Closes the file. Columns still referenced stay valid until they are released."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
