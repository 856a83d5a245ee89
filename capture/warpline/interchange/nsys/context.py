"""State shared by all parts of an Nsight import: tables, builder, and the processes and threads behind ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, forms
from warpline.interchange.framework.collectives import CollectiveLog
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.nsys.names import Names
from warpline.interchange.nsys.tables.access import NULL, Batch, Int64Array, TableFile, decode, read_all
from warpline.model import Flag
from warpline.model.progress import IsCancelled, check_cancelled
from warpline.model.track_factory import TrackFactory, TrackSpec, process_title, thread_title
from warpline.model.track_style import NSIGHT
from warpline.model.track_titles import FIRST_THREAD, OTHER_THREAD

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_PID_BITS = 24
_LOW = (1 << _PID_BITS) - 1
FAR = 1 << 61
"""Times beyond this are invalid."""


@dataclass
class Window:
    """The recording interval, in the export's time, and the time range of the events so far."""

    start_ns: int = 0
    stop_ns: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    first_call: int | None = None
    """The smallest correlation id of a CUDA call; a process numbers its calls from 1."""

    def include(self, starts: Int64Array, stops: Int64Array) -> None:
        if len(starts):
            first, last = int(starts.min()), int(stops.max())
            self.first_ns = first if self.first_ns is None else min(first, self.first_ns)
            self.last_ns = last if self.last_ns is None else max(last, self.last_ns)


@dataclass(kw_only=True)
class Context:
    """One conversion. Processes, threads and tracks are added when an event first needs them."""

    tables: TableFile
    builder: CaptureBuilder
    options: ImportOptions
    names: Names
    window: Window
    cancelled: IsCancelled
    report_rows: Callable[[int], None]
    events: int = 0
    problems: dict[tuple[str, tuple[str, str]], int] = field(default_factory=dict)
    _processes: dict[int, int] = field(default_factory=dict)
    _process_uris: dict[int, str] = field(default_factory=dict)
    _threads: dict[int, int] = field(default_factory=dict)
    _generations: dict[int, int] = field(default_factory=dict)
    _process_names: dict[int, str] = field(default_factory=dict)
    _thread_names: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.specs = TrackFactory(NSIGHT, self.options.prefix)
        self.collectives = CollectiveLog(self.builder)
        self._read_names()

    def _read_names(self) -> None:
        rows = read_all(self.tables, "PROCESSES", ints=("globalPid",), texts=("name",))
        for global_pid, name in zip(rows["globalPid"].tolist(), rows.texts["name"], strict=True):
            self._process_names[global_pid] = decode(name)
        rows = read_all(self.tables, "ThreadNames", ints=("nameId", "priority", "globalTid"))
        # A smaller number is a better name (0: set by the program, 20: by the system).
        order = np.argsort(-np.where(rows["priority"] == NULL, 1 << 30, rows["priority"]), kind="stable")
        for index in order.tolist():
            self._thread_names[int(rows["globalTid"][index])] = self.names.text(int(rows["nameId"][index]))

    def name_thread(self, global_tid: int, name: str) -> None:
        """Set a name that the program chose; it replaces any other name in the export."""
        self._thread_names[global_tid] = name
        if global_tid in self._threads:
            self.builder.update_thread(self._threads[global_tid], name=name)

    def process_of(self, global_tid: int) -> int:
        return global_tid & ~_LOW if global_tid != NULL else 0

    def process(self, global_pid: int) -> int:
        """Index of the process, added if new. ``global_pid`` packs hardware, machine and process id."""
        known = self._processes.get(global_pid)
        if known is not None:
            return known
        pid = (global_pid >> _PID_BITS) & _LOW
        generation = self._generations.get(pid, 0) + 1
        self._generations[pid] = generation
        name = self._process_names.get(global_pid, "")
        index = self.builder.add_process(pid, name=name, rank=self.options.rank)
        spec = self.specs.process(pid, self.process_title(global_pid), generation=generation)
        self._processes[global_pid] = index
        self._process_uris[global_pid] = spec.uri
        self.track(spec, process=index)
        return index

    def process_title(self, global_pid: int) -> str:
        """``python [71]``."""
        pid = (global_pid >> _PID_BITS) & _LOW
        name = self._process_names.get(global_pid, "").rpartition("/")[2]
        return process_title(name, pid)

    def process_uri(self, global_pid: int) -> str:
        """The URI of the process's track."""
        self.process(global_pid)
        return self._process_uris[global_pid]

    def known_process(self, global_pid: int) -> int | None:
        """Index of the process, None if it has no events."""
        return self._processes.get(global_pid)

    def thread(self, global_tid: int) -> int:
        """Index of the thread, added if new."""
        global_tid = max(global_tid, 0)
        known = self._threads.get(global_tid)
        if known is not None:
            return known
        name = self._thread_names.get(global_tid, "")
        process = self.process(self.process_of(global_tid))
        index = self.builder.add_thread(process, global_tid & _LOW, name=name)
        self._threads[global_tid] = index
        return index

    def thread_label(self, global_tid: int) -> str:
        """The label of a thread outside its process: its name, else its process and number."""
        name = self._thread_names.get(global_tid, "")
        return name or f"{self.process_title(self.process_of(global_tid))} {global_tid & _LOW}"

    def thread_title(self, global_tid: int) -> str:
        """``MainThread  71``."""
        name = self._thread_names.get(global_tid, "")
        tid = global_tid & _LOW
        is_main = tid == (global_tid >> _PID_BITS) & _LOW
        return thread_title(name or (FIRST_THREAD if is_main else OTHER_THREAD), tid)

    def track(
        self,
        spec: TrackSpec,
        parent: int | str | None = None,
        process: int | None = None,
        thread: int | None = None,
    ) -> int:
        """A track of this export; by default at the top level, or below its rank."""
        return self.builder.add_track(
            spec,
            parent=self.options.group if parent is None else parent,
            process=process,
            thread=thread,
            clock=self.options.clock,
            rank=self.options.rank,
        )

    def thread_track(self, global_tid: int, path: str, role: str = "", title: str = "") -> int:
        """A track below a thread, as in `TrackFactory.below_thread`."""
        uri = self._thread_spec(max(global_tid, 0)).uri
        return self.thread_child(global_tid, self.specs.below_thread(uri, path, role=role, title=title))

    def thread_ranges_track(self, global_tid: int, domain: str) -> int:
        """The track of a thread's ranges in an NVTX domain."""
        uri = self._thread_spec(max(global_tid, 0)).uri
        return self.thread_child(global_tid, self.specs.thread_ranges(uri, domain))

    def thread_child(self, global_tid: int, spec: TrackSpec) -> int:
        """A track below a thread, which is added if new."""
        global_tid = max(global_tid, 0)
        thread = self.thread(global_tid)
        global_pid = self.process_of(global_tid)
        process = self.process(global_pid)
        above = self.track(self._thread_spec(global_tid), self._process_uris[global_pid], process, thread)
        return self.track(spec, above, process, thread)

    def _thread_spec(self, global_tid: int) -> TrackSpec:
        tid = global_tid & _LOW
        return self.specs.thread(
            self.process_uri(self.process_of(global_tid)),
            tid,
            self.thread_title(global_tid),
            is_first=tid == (global_tid >> _PID_BITS) & _LOW,
        )

    def add(
        self,
        track: int,
        kind: str,
        starts: Int64Array,
        stops: Int64Array | None,
        names: npt.NDArray[np.uint32] | int,
        *,
        flags: npt.NDArray[np.uint8] | int = 0,
        attributes: Mapping[str, Any] | None = None,
        label: str = "",
    ) -> npt.NDArray[np.int64]:
        """Adds events and returns their ids; instants if ``stops`` is None. ``label`` names the rows in notes.

        An event without an end is flagged and lasts until the recording ends. One that ends before it starts is flagged
        and gets duration 0. Rows without a valid start are skipped and have id -1.
        """
        usable = (starts > -FAR) & (starts < FAR)
        marks = np.array(np.broadcast_to(np.asarray(flags, np.uint8), len(starts)))
        if stops is None:
            stops = starts
            marks |= np.uint8(Flag.INSTANT)
        else:
            is_open = stops == NULL
            if is_open.any():
                border = (
                    self.window.stop_ns
                    if self.window.stop_ns is not None
                    else int(starts[usable].max(initial=0))
                )
                stops = np.where(is_open, np.maximum(border, starts), stops)
                marks[is_open] |= np.uint8(Flag.CUT_END)
                self.problem(
                    label or kind,
                    int(is_open.sum()),
                    forms(
                        "{count:,} has no end; drawn until the end of the recording",
                        "{count:,} have no end; drawn until the end of the recording",
                    ),
                )
            is_negative = usable & ((stops < starts) | (stops > FAR))
            if is_negative.any():
                stops = np.where(is_negative, starts, stops)
                marks[is_negative] |= np.uint8(Flag.TRUNCATED)
                self.problem(
                    label or kind,
                    int(is_negative.sum()),
                    forms(
                        "{count:,} ends before it starts; drawn without a duration",
                        "{count:,} end before they start; drawn without a duration",
                    ),
                )
        if not usable.all():
            self.builder.add_skipped(
                label or kind, int((~usable).sum()), english("rows without a valid start time")
            )
            added = self._add(track, kind, starts, stops, names, marks, attributes, usable)
            ids = np.full(len(starts), -1, np.int64)
            ids[usable] = added
            return ids
        return self._add(track, kind, starts, stops, names, marks, attributes, None)

    def _add(
        self,
        track: int,
        kind: str,
        starts: Int64Array,
        stops: Int64Array,
        names: npt.NDArray[np.uint32] | int,
        flags: npt.NDArray[np.uint8],
        attributes: Mapping[str, Any] | None,
        only: npt.NDArray[np.bool_] | None,
    ) -> npt.NDArray[np.int64]:
        columns = dict(attributes or {})
        if only is not None:
            starts, stops, flags = starts[only], stops[only], flags[only]
            names = names[only] if isinstance(names, np.ndarray) else names
            columns = {key: value[only] if np.ndim(value) else value for key, value in columns.items()}
        first = self.builder.add_events(
            track, kind, starts, stops - starts, names, flags=flags, attributes=columns
        )
        self.events += len(starts)
        self.window.include(starts, stops)
        return np.arange(first, first + len(starts))

    def add_counter(
        self,
        track: int,
        name: str,
        unit: str,
        times: Int64Array,
        values: npt.NDArray[np.float64],
        *,
        label: str,
    ) -> None:
        """Adds a counter; skips samples without a valid time."""
        usable = (times > -FAR) & (times < FAR)
        self.builder.add_skipped(label, int((~usable).sum()), english("rows without a valid start time"))
        self.builder.add_counter(track, name, unit, times[usable], values[usable])
        self.window.include(times[usable], times[usable])

    def problem(self, label: str, count: int, text: tuple[str, str]) -> None:
        """Count an irregularity in data that was kept; ``text`` is from `i18n.forms`."""
        if count:
            self.problems[label, text] = self.problems.get((label, text), 0) + count

    def batches(self, table: str, **columns: Any) -> Any:
        """`TableFile.read` with progress and cancellation."""
        for batch in self.tables.read(table, **columns):
            check_cancelled(self.cancelled)
            yield batch
            self.report_rows(batch.rows)


def pick(batch: Batch, index: npt.NDArray[np.int64], **attributes: str) -> dict[str, Any]:
    """Attributes of some rows (``attribute=column``), masked where missing; leaves out columns without values."""
    picked: dict[str, Any] = {}
    for attribute, column in attributes.items():
        values = batch.ints[column][index]
        missing = values == NULL
        if not missing.any():
            picked[attribute] = values
        elif not missing.all():
            picked[attribute] = np.ma.MaskedArray(np.where(missing, 0, values), missing)
    return picked
