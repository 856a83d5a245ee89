"""`CaptureBuilder` writes captures: it takes batches in any order and writes a sorted file."""

from __future__ import annotations

import uuid
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from warpline.model import StorageError
from warpline.model.progress import IsCancelled, Progress
from warpline.output_places import is_no_file
from warpline.storage.columns.schema import INTERPOLATIONS
from warpline.storage.write.builder_contents import BuilderContents, CounterBuffer, KeyBuffer
from warpline.storage.write.event_builder import EventBuilder
from warpline.storage.write.spill import SpillColumn, SpillDirectory


class CaptureBuilder(EventBuilder):
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
        is_temporary: bool = False,
    ) -> None:
        """A part of a capture that ``is_temporary`` is a `PlainFile`; `open_part` reads it."""
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise StorageError(f"{self.path}: the directory {self.path.parent} does not exist")
        if self.path.is_dir():
            raise StorageError(f"{self.path} is a directory; name a file")
        if is_no_file(self.path):
            raise StorageError(f"{self.path}: is not a regular file; name another")
        if self.path.exists() and not overwrite:
            raise StorageError(f"{self.path} exists already; choose another name or remove it")
        self.compress, self.is_temporary = compress, is_temporary
        self.uuid = str(uuid.uuid4())
        spill = SpillDirectory(spill_dir or self.path.parent, memory_budget_bytes // 2)
        super().__init__(spill, memory_budget_bytes)
        self._links: dict[str, tuple[SpillColumn, SpillColumn]] = {}
        self._keys: dict[tuple[str, int, str], KeyBuffer] = {}
        self._counters: dict[tuple[int, str], CounterBuffer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.spill.close()

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
                track=track,
                name=name,
                unit=unit,
                interpolation=interpolation,
                times=self.spill.column("<i8"),
                values=self.spill.column("<f8"),
            )
            self._counters[track, name] = counter
        counter.times.append_copy(time_array)
        counter.values.append_copy(value_array)

    # Finishing

    def finish(
        self,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Path:
        """Sorts, nests, links and writes everything to a folder beside ``PATH`` and renames it.

        ``progress`` is called with a fraction and what is being done. Raises StorageError when the disk is full and
        Cancelled when ``cancelled()`` becomes true; no file is left then.
        """
        from warpline.storage.write.assemble import assemble, assemble_part

        with self:
            self._spill_events()
            if self.is_temporary:
                return assemble_part(self.contents(), cancelled)
            return assemble(self.contents(), progress, cancelled)

    def contents(self) -> BuilderContents:
        """The input of the assembler."""
        return BuilderContents(
            path=self.path,
            compress=self.compress,
            memory_budget_bytes=self.memory_budget_bytes,
            uuid=self.uuid,
            meta=self.meta,
            span=self.span,
            spill=self.spill,
            strings=self._strings,
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
            stacks=self._stacks.columns(),
            counters=list(self._counters.values()),
        )
