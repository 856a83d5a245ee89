"""`CaptureBuilder`: the one way to write a capture. Batches go in, in any order; a sorted file comes out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from warpline.model import StorageError
from warpline.storage.columns.schema import INTERPOLATIONS
from warpline.storage.write.builder_contents import (
    AttributeColumn,
    BuilderContents,
    CounterBuffer,
    KeyBuffer,
    KindBuffer,
)
from warpline.storage.write.runs import Batch, RunWriter
from warpline.storage.write.spill import SpillColumn, SpillDirectory
from warpline.storage.write.table_builder import TableBuilder

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
Attributes = Mapping[str, npt.ArrayLike | np.ma.MaskedArray[Any, Any]]

MAX_TIME = 1 << 62

_INT64, _UINT32, _UINT8, _BOOL, _FLOAT32 = map(np.dtype, ("i8", "u4", "u1", "?", "f4"))

_BATCH_BYTES = 800
"""What a waiting batch takes beside its columns."""


class CaptureBuilder(TableBuilder):
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
        self.uuid = str(uuid.uuid4())
        self.spill = SpillDirectory(spill_dir or self.path.parent, memory_budget_bytes // 2)
        super().__init__()
        self._n_events = 0
        self._waiting: dict[int, list[Batch]] = {}
        self._waiting_bytes = 0
        self._run_writer = RunWriter(self.spill)
        self._links: dict[str, tuple[SpillColumn, SpillColumn]] = {}
        self._keys: dict[tuple[str, int, str], KeyBuffer] = {}
        self._counters: dict[tuple[int, str], CounterBuffer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.spill.close()

    # Events

    def add_events(
        self,
        track: int | npt.NDArray[np.integer],
        kind: str,
        start: npt.ArrayLike,
        duration: npt.ArrayLike,
        name: npt.ArrayLike,
        *,
        flags: npt.ArrayLike = 0,
        attributes: Attributes | None = None,
    ) -> int:
        """Adds a batch of events of one kind and returns the id of the first; ids count up.

        ``track`` is where they belong: one track, or an integer array that says it for each event; events of one track
        that follow each other cost least. ``start`` int64 ns in the track's clock, ``duration`` ns, ``name`` string
        ids; scalars are broadcast. Attributes are arrays of the batch's length (or scalars); masked entries and
        attributes not given are missing. String attributes hold string ids. Ids serve `add_links`; they are not
        the rows of the file.

        Raises StorageError for a negative duration, a time beyond ±2**62 ns or an attribute the kind does not have.
        """
        buffer = self._kinds.get(kind)
        if buffer is None:
            raise StorageError(f"{self.path}: unknown kind {kind!r}; add_kind makes it known")
        if isinstance(track, np.ndarray) and not len(track):
            return self._n_events
        one = (_single(start), _single(duration), _single(name), _single(flags))
        if None not in one and not isinstance(track, np.ndarray):
            added = self._add_one(int(track), buffer, one, attributes or {})
            if added is not None:
                return added
        runs = self._runs_of_tracks(track) if isinstance(track, np.ndarray) else None
        first_track = int(track) if runs is None else runs[0][0]
        self._check_track(first_track)
        try:
            starts = np.array(start, np.int64, ndmin=1)
            n = len(starts)
            durations = self._fitting(duration, _INT64, n, "durations")
        except OverflowError as error:
            raise StorageError(
                f"{self._tracks[first_track].uri}: an event has a time beyond 2^62 ns"
            ) from error
        if runs is not None and runs[-1][2] != n:
            raise StorageError(f"{self.path}: {runs[-1][2]} tracks for {n} events")
        names = self._fitting(name, _UINT32, n, "names")
        flag_bits = self._fitting(flags, _UINT8, n, "flags")
        first_id = self._n_events
        if not n:
            return first_id
        self._check_times(first_track, starts, durations)
        if attributes:
            for column, values, valid in self._attribute_values(buffer, n, attributes):
                column.append(buffer.count, n, values, valid)
        for run_track, first, stop in runs or ((first_track, 0, n),):
            columns = (starts, durations, names, flag_bits)
            if runs is not None:
                starts_, durations_, names_, flags_ = (
                    column[first:stop] if column.ndim else column for column in columns
                )
                columns = (starts_, durations_, names_, flags_)
            batch = Batch(columns, buffer.code, first_id + first, buffer.count + first)
            waiting = self._waiting.get(run_track)
            if waiting is None:
                self._waiting[run_track] = [batch]
            else:
                waiting.append(batch)
        buffer.count += n
        self._n_events += n
        self._waiting_bytes += 21 * n + _BATCH_BYTES * (len(runs) if runs else 1)
        if self._waiting_bytes > self.memory_budget_bytes // 4:
            self._spill_events()
        return first_id

    def _add_one(
        self, track: int, buffer: KindBuffer, one: tuple[Any, ...], attributes: Attributes
    ) -> int | None:
        """Adds one event of plain numbers, at a fraction of what arrays cost; None when it needs the usual way."""
        start, duration, name, flags = one
        is_usual = (
            0 <= track < len(self._tracks)
            and -MAX_TIME <= start <= MAX_TIME
            and 0 <= duration < MAX_TIME
            and 0 <= name < 1 << 32
            and 0 <= flags < 256
        )
        if not is_usual:
            return None
        values = []
        for attribute, value in attributes.items():
            column, number = buffer.columns.get(attribute), _single(value)
            # Also what does not fit the column's type is told by the usual way.
            if column is None or number is None or not column.low <= number <= column.high:
                return None
            values.append((column, number))
        for column, number in values:
            column.append_one(buffer.count, number)
        first_id = self._n_events
        columns = (
            np.array((start,)),
            np.array(duration),
            np.array(name, np.uint32),
            np.array(flags, np.uint8),
        )
        batch = Batch(columns, buffer.code, first_id, buffer.count)
        waiting = self._waiting.get(track)
        if waiting is None:
            self._waiting[track] = [batch]
        else:
            waiting.append(batch)
        buffer.count += 1
        self._n_events += 1
        self._waiting_bytes += 21 + _BATCH_BYTES
        if self._waiting_bytes > self.memory_budget_bytes // 4:
            self._spill_events()
        return first_id

    def _runs_of_tracks(self, tracks: npt.NDArray[np.integer]) -> list[tuple[int, int, int]]:
        """Track, first and stop of each run of equal tracks."""
        if int(tracks.min()) < 0 or int(tracks.max()) >= len(self._tracks):
            raise StorageError(f"{self.path}: there is no track {int(tracks.min())} or {int(tracks.max())}")
        borders = (np.flatnonzero(tracks[1:] != tracks[:-1]) + 1).tolist()
        firsts = [0, *borders]
        return list(zip(tracks[firsts].tolist(), firsts, [*borders, len(tracks)], strict=True))

    def _check_track(self, track: int) -> None:
        if not 0 <= track < len(self._tracks):
            raise StorageError(f"{self.path}: there is no track {track}")

    def _check_times(self, track: int, starts: Int64Array, durations: Int64Array) -> None:
        if len(starts) == 1:
            # Importers of small files add events one by one, and a reduction costs as much as all the rest.
            first = last = starts.item()
            shortest = longest = durations.item()
        else:
            first, last = int(np.minimum.reduce(starts)), int(np.maximum.reduce(starts))
            shortest = int(np.minimum.reduce(durations, axis=None))
            longest = int(np.maximum.reduce(durations, axis=None))
        if shortest < 0:
            raise StorageError(f"{self._tracks[track].uri}: an event has a negative duration")
        if first < -MAX_TIME or last > MAX_TIME or longest >= MAX_TIME:
            raise StorageError(f"{self._tracks[track].uri}: an event has a time beyond 2^62 ns")

    def _fitting(
        self, values: npt.ArrayLike, dtype: np.dtype[Any], n: int, what: str, *, copy: bool = True
    ) -> Array:
        """A column of the batch; without dimension when one value is meant for all. A copy unless told otherwise."""
        column: Array
        if not copy and isinstance(values, np.ndarray) and values.dtype.kind in "iub" and dtype.kind in "iu":
            column = values
        elif dtype == _FLOAT32:
            # A number that is too large becomes infinity.
            with np.errstate(over="ignore"):
                column = np.array(values, dtype)
        else:
            column = np.array(values, dtype)
        if column.ndim == 0 or column.shape == (n,):
            return column
        if column.shape == (1,):
            return column.reshape(())
        raise StorageError(f"{self.path}: {column.size} {what} for {n} events")

    def _attribute_values(
        self, buffer: KindBuffer, n: int, attributes: Attributes
    ) -> list[tuple[AttributeColumn, Array, Array | None]]:
        """Columns, values and validity of a batch's attributes; changes nothing, so that an error leaves no trace."""
        found = []
        for name, values in attributes.items():
            column = buffer.columns.get(name)
            if column is None:
                spec = next((spec for spec in buffer.spec.attributes if spec.name == name), None)
                if spec is None:
                    raise StorageError(
                        f"{self.path}: events of kind {buffer.spec.name!r} have no attribute {name!r}"
                    )
                column = buffer.columns[name] = AttributeColumn(spec, self.spill)
            valid = None
            data: npt.ArrayLike = values
            if isinstance(values, np.ma.MaskedArray):
                data = values.data
                if values.mask is not np.ma.nomask:
                    missing = self._fitting(values.mask, _BOOL, n, f"values of {name}")
                    if missing.any():
                        valid = ~np.broadcast_to(missing, n)
            fitting = self._fitting(data, column.values.dtype, n, f"values of {name}", copy=False)
            found.append((column, fitting, valid))
        return found

    def _spill_events(self) -> None:
        self.spill.check_space(self._waiting_bytes)
        # By track, so that the events of neighbouring small tracks lie beside each other in the temporary columns.
        for track in sorted(self._waiting):
            self._run_writer.add(track, self._waiting.pop(track))
        self._run_writer.flush()
        self._waiting_bytes = 0

    # Links and counters

    def add_links(self, kind: str, from_ids: npt.ArrayLike, to_ids: npt.ArrayLike) -> None:
        """Links events by the ids `add_events` gave; −1 is an end outside the capture."""
        from_array, to_array = np.atleast_1d(np.asarray(from_ids)), np.atleast_1d(np.asarray(to_ids))
        if from_array.shape != to_array.shape:
            raise StorageError(f"{self.path}: {len(from_array)} starts and {len(to_array)} ends of links")
        if kind not in self._links:
            self._links[kind] = (self.spill.column("<i8"), self.spill.column("<i8"))
        sources, targets = self._links[kind]
        sources.append_copy(from_array)
        targets.append_copy(to_array)

    def add_link_keys(
        self, kind: str, scope: int, end: Literal["from", "to"], keys: npt.ArrayLike, ids: npt.ArrayLike
    ) -> None:
        """Gives one end of links as keys, resolved in `finish` within the same kind and scope.

        Each *to* is linked with the *from* of equal key; of several, with the latest that starts not after
        it. The scope is usually the index of a process, in which correlation ids are unique.
        """
        key_array, id_array = np.atleast_1d(np.asarray(keys)), np.atleast_1d(np.asarray(ids))
        if key_array.shape != id_array.shape:
            raise StorageError(f"{self.path}: {len(key_array)} keys for {len(id_array)} events")
        buffer = self._keys.get((kind, scope, end))
        if buffer is None:
            buffer = self._keys[kind, scope, end] = KeyBuffer(
                self.spill.column("<i8"), self.spill.column("<i8")
            )
        buffer.keys.append_copy(key_array)
        buffer.ids.append_copy(id_array)

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
        self._check_track(track)
        time_array, value_array = np.atleast_1d(np.asarray(times)), np.atleast_1d(np.asarray(values))
        if time_array.shape != value_array.shape:
            raise StorageError(f"{self.path}: {len(time_array)} times for {len(value_array)} values")
        counter = self._counters.get((track, name))
        if counter is None:
            counter = CounterBuffer(
                track, name, unit, interpolation, self.spill.column("<i8"), self.spill.column("<f8")
            )
            self._counters[track, name] = counter
        counter.times.append_copy(time_array)
        counter.values.append_copy(value_array)

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
        from warpline.storage.write.assemble import assemble

        with self:
            self._spill_events()
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
            skipped=self._skipped_entries(),
            warnings=self._warnings,
            pauses=self._pauses,
            kinds=self._kind_list,
            tracks=self._tracks,
            packings=self._packings,
            n_events=self._n_events,
            event_columns=self._run_writer.columns,
            origin_columns=self._run_writer.origin_columns,
            runs=self._run_writer.runs,
            links=self._links,
            keys=self._keys,
            stacks=list(self._stack_ids),
            counters=list(self._counters.values()),
        )


def _single(value: Any) -> int | None:
    """The whole number that an argument is, or holds alone; None for anything else."""
    kind = type(value)
    if kind is list and len(value) == 1:
        value = value[0]
        kind = type(value)
    return value if kind is int else None
