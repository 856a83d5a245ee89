"""`CaptureBuilder`: the one way to write a capture. Batches go in, in any order; a sorted file comes out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from warpline.model import (
    BUILTIN_KINDS,
    AttributeSpec,
    Clock,
    Device,
    KindSpec,
    Packing,
    Process,
    Skipped,
    Source,
    StorageError,
    Thread,
    Track,
)

from .schema import INTERPOLATIONS, NO_STACK
from .spill import SpillColumn, SpillDirectory

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
Attributes = Mapping[str, npt.ArrayLike | np.ma.MaskedArray[Any, Any]]

MAX_TIME = 1 << 62


@dataclass
class AttributeColumn:
    """Values and validity of one attribute, in the order in which events of its kind were added."""

    values: SpillColumn
    valid: SpillColumn

    def append(self, first: int, n: int, values: npt.ArrayLike | np.ma.MaskedArray[Any, Any]) -> None:
        """Values of the ``n`` events from ``first`` on; events since the last call are missing."""
        self.fill(first)
        if isinstance(values, np.ma.MaskedArray):
            valid = (~np.broadcast_to(np.ma.getmaskarray(values), n)).astype(np.uint8)
            data = np.asarray(values.data)
        else:
            valid = np.ones(n, np.uint8)
            data = np.asarray(values)
        self.values.append(np.array(np.broadcast_to(data, n), self.values.dtype))
        self.valid.append(valid)

    def fill(self, count: int) -> None:
        """Marks the events up to ``count`` that brought no value as missing."""
        gap = count - len(self.values)
        self.values.append(np.zeros(gap, self.values.dtype))
        self.valid.append(np.zeros(gap, np.uint8))


@dataclass
class KindBuffer:
    """A kind while it is being written: how many events, and the attributes they brought."""

    spec: KindSpec
    code: int
    count: int = 0
    columns: dict[str, AttributeColumn] = field(default_factory=dict)


@dataclass
class CounterBuffer:
    """A counter while it is being written."""

    track: int
    name: str
    unit: str
    interpolation: str
    times: SpillColumn
    values: SpillColumn


@dataclass
class KeyBuffer:
    """Keys and event ids of one end of keyed links."""

    keys: SpillColumn
    ids: SpillColumn


class CaptureBuilder:
    """Collects a capture and writes it with `finish`.

    Times are int64 nanoseconds in the clock of the event's track. Everything is spilled to temporary files next
    to the output (or in ``spill_dir``) once ``memory_budget_bytes`` are waiting, so memory stays bounded.
    Leaving the ``with`` block without `finish` discards everything and leaves no file.

    Raises StorageError when the output cannot be written.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        memory_budget_bytes: int = 256 << 20,
        spill_dir: Path | None = None,
        compress: bool = False,
        overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise StorageError(f"{self.path}: the directory {self.path.parent} does not exist")
        if self.path.is_dir():
            raise StorageError(f"{self.path} is a directory; name a file")
        if self.path.exists() and not overwrite:
            raise StorageError(f"{self.path} exists already; choose another name or remove it")
        self.compress = compress
        self.memory_budget_bytes = memory_budget_bytes
        self.meta: dict[str, Any] = {}
        self.uuid = str(uuid.uuid4())
        self.span: tuple[int, int] | None = None
        self.spill = SpillDirectory(spill_dir or self.path.parent)
        self._string_ids: dict[str, int] = {"": 0}
        self._string_list: list[str] = [""]
        self._processes: list[Process] = []
        self._threads: list[Thread] = []
        self._devices: list[Device] = []
        self._clocks: list[Clock] = [Clock("capture")]
        self._sources: dict[str, Source] = {}
        self._skipped: dict[tuple[str, str], int] = {}
        self._warnings: list[str] = []
        self._pauses: list[tuple[int, int]] = []
        self._kinds: dict[str, KindBuffer] = {}
        self._kind_list: list[KindBuffer] = []
        self._tracks: list[Track] = []
        self._packings: list[Packing] = []
        self._track_ids: dict[str, int] = {}
        self._n_events = 0
        self._batch_first: list[int] = []
        self._batch_kind_first: list[int] = []
        self._waiting: dict[int, list[tuple[Array, ...]]] = {}
        self._waiting_bytes = 0
        self._event_columns = [self.spill.column(t) for t in ("<i8", "<i8", "<u4", "|u1", "|u1", "<i8")]
        self._runs: dict[int, list[tuple[int, int]]] = {}
        self._links: dict[str, tuple[SpillColumn, SpillColumn]] = {}
        self._keys: dict[tuple[str, int, str], KeyBuffer] = {}
        self._stack_ids: dict[tuple[int, int], int] = {}
        self._counters: dict[tuple[int, str], CounterBuffer] = {}
        for spec in BUILTIN_KINDS:
            self.add_kind(spec)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.spill.close()

    # Strings and stacks

    def string(self, text: str) -> int:
        """Id of a text, interned; 0 is the empty text."""
        string_id = self._string_ids.get(text)
        if string_id is None:
            string_id = len(self._string_list)
            self._string_ids[text] = string_id
            self._string_list.append(text)
        return string_id

    def strings(self, texts: Iterable[str]) -> npt.NDArray[np.uint32]:
        """Ids of texts, uint32, in their order."""
        return np.fromiter(map(self.string, texts), np.uint32)

    def text(self, string_id: int) -> str:
        """The text with this id."""
        return self._string_list[string_id]

    def stack(self, frame: int, parent: int = NO_STACK) -> int:
        """Id of the stack that has ``frame`` (a string id) on top of the stack ``parent``."""
        return self._stack_ids.setdefault((frame, parent), len(self._stack_ids))

    # Tables

    def add_clock(
        self, name: str, offset_ns: int = 0, method: str = "", residual_ns: int | None = None
    ) -> int:
        """A time base for tracks; capture time = its time − ``offset_ns``."""
        self._clocks.append(Clock(name, offset_ns, method, residual_ns))
        return len(self._clocks) - 1

    def set_clock_offset(
        self, clock: int, offset_ns: int, *, method: str | None = None, residual_ns: int | None = None
    ) -> None:
        """Changes a clock's offset; possible until `finish`."""
        old = self._clocks[clock]
        self._clocks[clock] = replace(
            old,
            offset_ns=offset_ns,
            method=old.method if method is None else method,
            residual_ns=old.residual_ns if residual_ns is None else residual_ns,
        )

    def add_process(self, pid: int, **fields: Any) -> int:
        """Index of a new process; fields as in `warpline.model.Process`."""
        self._processes.append(Process(pid, **fields))
        return len(self._processes) - 1

    def add_thread(self, process: int, tid: int, **fields: Any) -> int:
        """Index of a new thread of the process with index ``process``; fields as in `warpline.model.Thread`."""
        self._threads.append(Thread(process, tid, **fields))
        return len(self._threads) - 1

    def add_device(self, index: int, name: str, **fields: Any) -> int:
        """Index of a new device; fields as in `warpline.model.Device`, ``properties`` may be a dict."""
        properties = fields.pop("properties", ())
        if isinstance(properties, Mapping):
            properties = tuple(properties.items())
        self._devices.append(Device(index, name, properties=tuple(properties), **fields))
        return len(self._devices) - 1

    def update_process(self, index: int, **changes: Any) -> None:
        self._processes[index] = replace(self._processes[index], **changes)

    def update_thread(self, index: int, **changes: Any) -> None:
        self._threads[index] = replace(self._threads[index], **changes)

    def update_device(self, index: int, **changes: Any) -> None:
        self._devices[index] = replace(self._devices[index], **changes)

    def update_track(self, index: int, **changes: Any) -> None:
        """Changes a track's fields other than index, URI and parent (a title known only later)."""
        self._tracks[index] = replace(self._tracks[index], **changes)

    def add_source(self, name: str, enabled: bool, reason: str = "", lost: int = 0, remedy: str = "") -> None:
        """What recorded, or did not and why; the same name again replaces."""
        self._sources[name] = Source(name, enabled, reason, lost, remedy)

    def add_skipped(self, what: str, count: int, reason: str) -> None:
        """Counts what is left out; equal entries are added up."""
        if count:
            self._skipped[what, reason] = self._skipped.get((what, reason), 0) + count

    def add_warning(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.append(text)

    def add_pause(self, start_ns: int, stop_ns: int) -> None:
        """An interval of capture time in which nothing was recorded on purpose."""
        self._pauses.append((int(start_ns), int(stop_ns)))

    def set_span(self, start_ns: int, stop_ns: int) -> None:
        """The interval of capture time that was recorded; otherwise that of the events and counters."""
        self.span = (int(start_ns), int(stop_ns))

    # Kinds and tracks

    def add_kind(self, spec: KindSpec) -> None:
        """Makes a kind known. Adding it again may bring further attributes."""
        known = self._kinds.get(spec.name)
        if known is None:
            if len(self._kind_list) == 256:
                raise StorageError(f"{self.path}: a capture has at most 256 kinds of events")
            if "/" in spec.name or spec.name.startswith(".") or not spec.name:
                raise StorageError(f"{self.path}: {spec.name!r} cannot be the name of a kind")
            buffer = KindBuffer(spec, len(self._kind_list))
            self._kinds[spec.name] = buffer
            self._kind_list.append(buffer)
            return
        have = {attribute.name for attribute in known.spec.attributes}
        more = tuple(attribute for attribute in spec.attributes if attribute.name not in have)
        known.spec = replace(known.spec, attributes=known.spec.attributes + more)

    def track(
        self,
        uri: str,
        *,
        title: str = "",
        role: str = "other",
        parent: int | str | None = None,
        process: int | None = None,
        thread: int | None = None,
        device: int | None = None,
        context: int | None = None,
        stream: int | None = None,
        rank: int | None = None,
        clock: int | None = None,
        sort_key: int = 0,
        packing: Packing = Packing.NEST,
    ) -> int:
        """Index of the track with this URI, made when it is new; what is given for a known one is ignored.

        ``parent`` is an index or the URI of a track that exists. Clock and rank are the parent's where not given.
        """
        known = self._track_ids.get(uri)
        if known is not None:
            return known
        parent_index = (
            self._track_ids[parent] if isinstance(parent, str) else -1 if parent is None else parent
        )
        above = self._tracks[parent_index] if parent_index >= 0 else None
        if clock is None:
            clock = above.clock if above else 0
        if rank is None:
            rank = above.rank if above else None
        index = len(self._tracks)
        self._tracks.append(
            Track(
                index,
                uri,
                title or uri.rpartition("/")[2],
                role,
                parent_index,
                process,
                thread,
                device,
                context,
                stream,
                rank,
                clock,
                sort_key,
            )
        )
        self._packings.append(packing)
        self._track_ids[uri] = index
        return index

    # Events

    def add_events(
        self,
        track: int,
        kind: str,
        start: npt.ArrayLike,
        duration: npt.ArrayLike,
        name: npt.ArrayLike,
        *,
        flags: npt.ArrayLike = 0,
        attributes: Attributes | None = None,
    ) -> int:
        """Adds a batch of events of one kind to a track and returns the id of the first; ids count up.

        ``start`` int64 ns in the track's clock, ``duration`` ns, ``name`` string ids; scalars are broadcast.
        Attributes are arrays of the batch's length (or scalars); masked entries and attributes not given are
        missing. String attributes hold string ids. Ids serve `add_links`; they are not the rows of the file.

        Raises StorageError for a negative duration, a time beyond ±2**62 ns or an attribute the kind does not have.
        """
        starts = np.atleast_1d(np.asarray(start, np.int64))
        n = len(starts)
        first_id = self._n_events
        if not n:
            return first_id
        durations = np.broadcast_to(np.asarray(duration, np.int64), n)
        if int(durations.min()) < 0:
            raise StorageError(f"{self._tracks[track].uri}: an event has a negative duration")
        if int(starts.min()) < -MAX_TIME or int(starts.max()) > MAX_TIME or int(durations.max()) > MAX_TIME:
            raise StorageError(f"{self._tracks[track].uri}: an event has a time beyond 2^62 ns")
        buffer = self._kinds[kind]
        self._add_attributes(buffer, n, attributes or {})
        self._batch_first.append(first_id)
        self._batch_kind_first.append(buffer.count)
        buffer.count += n
        self._n_events += n
        columns = (
            np.array(starts),
            np.array(durations),
            np.array(np.broadcast_to(np.asarray(name, np.uint32), n)),
            np.full(n, buffer.code, np.uint8),
            np.array(np.broadcast_to(np.asarray(flags), n), np.uint8),
            np.arange(first_id, first_id + n, dtype=np.int64),
        )
        self._waiting.setdefault(track, []).append(columns)
        self._waiting_bytes += 30 * n + 600
        if self._waiting_bytes > self.memory_budget_bytes // 4:
            self._spill_events()
        return first_id

    def _add_attributes(self, buffer: KindBuffer, n: int, attributes: Attributes) -> None:
        specs = {spec.name: spec for spec in buffer.spec.attributes}
        for name, values in attributes.items():
            spec = specs.get(name)
            if spec is None:
                raise StorageError(
                    f"{self.path}: events of kind {buffer.spec.name!r} have no attribute {name!r}"
                )
            column = buffer.columns.get(name)
            if column is None:
                dtype = attribute_dtype(spec)
                column = AttributeColumn(self.spill.column(dtype), self.spill.column("|u1"))
                buffer.columns[name] = column
            column.append(buffer.count, n, values)

    def _spill_events(self) -> None:
        self.spill.check_space(self._waiting_bytes)
        for track, batches in self._waiting.items():
            self._write_run(track, [np.concatenate(column) for column in zip(*batches, strict=True)])
        self._waiting = {}
        self._waiting_bytes = 0

    def _write_run(self, track: int, columns: list[Array]) -> None:
        """Writes one run of a track's events, sorted by (start, −end), to the temporary columns."""
        starts, durations = columns[0], columns[1]
        order = sort_events(starts, starts + durations)
        first = len(self._event_columns[0])
        for column, values in zip(self._event_columns, columns, strict=True):
            column.append(values if order is None else values[order])
        self._runs.setdefault(track, []).append((first, first + len(starts)))

    # Links and counters

    def add_links(self, kind: str, from_ids: npt.ArrayLike, to_ids: npt.ArrayLike) -> None:
        """Links events by the ids `add_events` gave; −1 is an end outside the capture."""
        if kind not in self._links:
            self._links[kind] = (self.spill.column("<i8"), self.spill.column("<i8"))
        sources, targets = self._links[kind]
        from_array, to_array = np.atleast_1d(np.asarray(from_ids)), np.atleast_1d(np.asarray(to_ids))
        if from_array.shape != to_array.shape:
            raise StorageError(f"{self.path}: {len(from_array)} starts and {len(to_array)} ends of links")
        sources.append(from_array.astype(np.int64))
        targets.append(to_array.astype(np.int64))

    def add_link_keys(
        self, kind: str, scope: int, end: Literal["from", "to"], keys: npt.ArrayLike, ids: npt.ArrayLike
    ) -> None:
        """Gives one end of links as keys, resolved in `finish` within the same kind and scope.

        Each *to* is linked with the *from* of equal key; of several, with the latest that starts not after
        it. The scope is usually the index of a process, in which correlation ids are unique.
        """
        buffer = self._keys.get((kind, scope, end))
        if buffer is None:
            buffer = self._keys[kind, scope, end] = KeyBuffer(
                self.spill.column("<i8"), self.spill.column("<i8")
            )
        key_array, id_array = np.atleast_1d(np.asarray(keys)), np.atleast_1d(np.asarray(ids))
        if key_array.shape != id_array.shape:
            raise StorageError(f"{self.path}: {len(key_array)} keys for {len(id_array)} events")
        buffer.keys.append(key_array.astype(np.int64))
        buffer.ids.append(id_array.astype(np.int64))

    def add_counter(
        self,
        track: int,
        name: str,
        unit: str,
        times: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        interpolation: str = "step",
    ) -> None:
        """Appends samples to the counter ``name`` of a track: int64 ns in the track's clock, float64; NaN is a gap.

        ``interpolation`` is ``step`` (a value holds until the next) or ``linear``.
        """
        if interpolation not in INTERPOLATIONS:
            raise StorageError(f"{self.path}: unknown interpolation {interpolation!r}")
        counter = self._counters.get((track, name))
        if counter is None:
            counter = CounterBuffer(
                track, name, unit, interpolation, self.spill.column("<i8"), self.spill.column("<f8")
            )
            self._counters[track, name] = counter
        time_array, value_array = np.atleast_1d(np.asarray(times)), np.atleast_1d(np.asarray(values))
        if time_array.shape != value_array.shape:
            raise StorageError(f"{self.path}: {len(time_array)} times for {len(value_array)} values")
        counter.times.append(time_array.astype(np.int64))
        counter.values.append(value_array.astype(np.float64))

    # The end

    def finish(
        self,
        progress: Callable[[float, str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Path:
        """Sorts, nests, links and writes everything as ``PATH.part`` and renames it to ``PATH``.

        ``progress`` is called with a fraction and what is being done. Raises StorageError when the disk is full and
        Cancelled when ``cancelled()`` becomes true; no file is left then.
        """
        from .assemble import assemble

        self._spill_events()
        with self:
            return assemble(self.contents(), progress, cancelled)

    def contents(self) -> BuilderContents:
        """Everything collected, for the assembler."""
        return BuilderContents(
            path=self.path,
            compress=self.compress,
            memory_budget_bytes=self.memory_budget_bytes,
            uuid=self.uuid,
            meta=self.meta,
            span=self.span,
            spill=self.spill,
            strings=self._string_list,
            processes=self._processes,
            threads=self._threads,
            devices=self._devices,
            clocks=self._clocks,
            sources=list(self._sources.values()),
            skipped=[Skipped(what, count, reason) for (what, reason), count in self._skipped.items()],
            warnings=self._warnings,
            pauses=self._pauses,
            kinds=self._kind_list,
            tracks=self._tracks,
            packings=self._packings,
            n_events=self._n_events,
            batch_first=np.array(self._batch_first, np.int64),
            batch_kind_first=np.array(self._batch_kind_first, np.int64),
            event_columns=self._event_columns,
            runs=self._runs,
            links=self._links,
            keys=self._keys,
            stacks=list(self._stack_ids),
            counters=list(self._counters.values()),
        )


@dataclass(frozen=True)
class BuilderContents:
    """What a builder collected; the assembler's input. Event columns are runs sorted by (start, −end)."""

    path: Path
    compress: bool
    memory_budget_bytes: int
    uuid: str
    meta: dict[str, Any]
    span: tuple[int, int] | None
    spill: SpillDirectory
    strings: Sequence[str]
    processes: Sequence[Process]
    threads: Sequence[Thread]
    devices: Sequence[Device]
    clocks: Sequence[Clock]
    sources: Sequence[Source]
    skipped: Sequence[Skipped]
    warnings: Sequence[str]
    pauses: Sequence[tuple[int, int]]
    kinds: Sequence[KindBuffer]
    tracks: Sequence[Track]
    packings: Sequence[Packing]
    n_events: int
    batch_first: Int64Array
    batch_kind_first: Int64Array
    event_columns: Sequence[SpillColumn]
    runs: Mapping[int, Sequence[tuple[int, int]]]
    links: Mapping[str, tuple[SpillColumn, SpillColumn]]
    keys: Mapping[tuple[str, int, str], KeyBuffer]
    stacks: Sequence[tuple[int, int]]
    counters: Sequence[CounterBuffer]


def sort_events(starts: Int64Array, stops: Int64Array) -> Int64Array | None:
    """Permutation that sorts by (start, −stop), stable; None when they are sorted already."""
    gaps = np.diff(starts)
    if not np.any((gaps < 0) | ((gaps == 0) & (np.diff(stops) > 0))):
        return None
    return np.lexsort((-stops, starts))


def attribute_dtype(spec: AttributeSpec) -> np.dtype[Any]:
    """Type of an attribute's column in memory and in the file."""
    if spec.dtype == "string":
        return np.dtype("<u4")
    if spec.dtype == "bool":
        return np.dtype("|u1")
    return np.dtype(spec.dtype).newbyteorder("<")
