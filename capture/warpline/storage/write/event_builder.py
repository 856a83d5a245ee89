"""The part of a `CaptureBuilder` that takes events: checks batches, and hands them on as sorted runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import StorageError
from warpline.storage.write.builder_contents import AttributeColumn, KindBuffer
from warpline.storage.write.runs import EventBatch, RunWriter
from warpline.storage.write.spill import SpillDirectory
from warpline.storage.write.table_builder import TableBuilder

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
Attributes = Mapping[str, npt.ArrayLike | np.ma.MaskedArray[Any, Any]]

MAX_TIME = 1 << 62

_INT64, _UINT32, _UINT8, _BOOL, _FLOAT32 = map(np.dtype, ("i8", "u4", "u1", "?", "f4"))

_BATCH_BYTES = 800
"""Memory of a waiting batch beside its columns."""


class EventBuilder(TableBuilder):
    """Tables, and events that stay in memory until they exceed ``memory_budget_bytes`` and are spilled to disk."""

    def __init__(self, spill: SpillDirectory, memory_budget_bytes: int) -> None:
        super().__init__()
        self.spill = spill
        self.memory_budget_bytes = memory_budget_bytes
        self._n_events = 0
        self._waiting: dict[int, list[EventBatch]] = {}
        self._waiting_bytes = 0
        self._run_writer = RunWriter(spill)

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
            raise StorageError(f"{self.path}: unknown kind {kind!r}; call add_kind first")
        if isinstance(track, np.ndarray) and not len(track):
            return self._n_events
        event = (_single(start), _single(duration), _single(name), _single(flags))
        if None not in event and not isinstance(track, np.ndarray):
            added = self._add_one(int(track), buffer, event, attributes or {})
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
            batch = EventBatch(columns, buffer.code, first_id + first, buffer.count + first)
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
        self, track: int, buffer: KindBuffer, event: tuple[Any, ...], attributes: Attributes
    ) -> int | None:
        """Adds one event of plain numbers, much faster than arrays; None when the general path is needed."""
        start, duration, name, flags = event
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
            # The general path reports values that do not fit the column's type.
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
        batch = EventBatch(columns, buffer.code, first_id, buffer.count)
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
        """Return a column of the batch, by default a copy; without dimension when one value serves all events."""
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


def _single(value: Any) -> int | None:
    """The integer that an argument is or contains as its only value; None for anything else."""
    kind = type(value)
    if kind is list and len(value) == 1:
        value = value[0]
        kind = type(value)
    return value if kind is int else None
