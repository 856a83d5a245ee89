"""Adds a file's events to a capture in batches, with the processes, threads, GPUs and streams they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.collectives import CollectiveLog
from warpline.interchange.framework.columns import MAX_TIME_NS, clean_text
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.model import Flag
from warpline.model.track_factory import TrackFactory, TrackSpec, process_title, thread_title
from warpline.model.track_style import TRACE

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
NO_NUMBER = -1
"""The number of a process or thread that has none."""


@dataclass(frozen=True)
class Holder:
    """A process or thread of the capture: its index there, its track and the URI of that."""

    index: int
    track: int
    uri: str
    process: Holder | None = None


class EventSink:
    """The target of one file's events. Tracks are added when they are first asked for.

    Times are int64 nanoseconds of the file's clock. Events whose times are damaged are skipped and counted.
    """

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.builder = builder
        self.options = options
        self.specs = TrackFactory(TRACE, options.prefix)
        self.scope = -1 - options.clock
        """The scope of this file's link keys."""
        self.events = 0
        self.steps: dict[int, tuple[int, int]] = {}
        self._start_ns: int | None = None
        self._stop_ns: int | None = None
        self._collectives = CollectiveLog(builder)
        self._processes: dict[int | str, Holder] = {}
        self._threads: dict[tuple[int | str, int | str], Holder] = {}
        self._process_of: dict[int | str, int | str] = {}
        self._titles: dict[str, str] = {}
        self._devices: dict[int, str] = {}
        self._gpus: dict[int, int] = {}

    def track(
        self, spec: TrackSpec, parent: int | str | None = None, row: Holder | None = None, **fields: Any
    ) -> int:
        """A track of this file; ``row`` is the process or thread it belongs to, and its parent by default."""
        process = row if row is None or row.process is None else row.process
        return self.builder.add_track(
            spec,
            parent=parent if parent is not None else row.track if row else self.options.group,
            process=None if process is None else process.index,
            thread=None if row is None or row.process is None else row.index,
            clock=self.options.clock,
            rank=self.options.rank,
            **fields,
        )

    def process(self, key: int | str, name: str = "") -> Holder:
        """The process with a number, or another key if it has no number. The first name counts."""
        row = self._processes.get(key)
        if row is None:
            number = key if isinstance(key, int) else NO_NUMBER
            name = clean_text(name)
            title = process_title(name, None if number == NO_NUMBER else number)
            spec = self.specs.process(key, title, place=len(self._processes))
            index = self.builder.add_process(number, name=name, rank=self.options.rank)
            track = self.builder.add_track(
                spec,
                parent=self.options.group,
                process=index,
                clock=self.options.clock,
                rank=self.options.rank,
            )
            row = self._processes[key] = Holder(index, track, spec.uri)
            self._titles[spec.uri] = title
        return row

    def process_keys(self) -> list[int | str]:
        """The keys of all processes so far."""
        return list(self._processes)

    def first_process(self) -> Holder | None:
        """The process that was asked for first; None without any."""
        return next(iter(self._processes.values()), None)

    def thread(self, process: int | str, key: int | str, name: str = "", *, is_first: bool = False) -> Holder:
        """The thread with a number, or with another key, of the process with a key."""
        row = self._threads.get((process, key))
        if row is None:
            above = self.process(process)
            number = key if isinstance(key, int) else NO_NUMBER
            name = clean_text(name)
            title = thread_title(name, None if number == NO_NUMBER else number)
            spec = self.specs.thread(above.uri, key, title, place=len(self._threads), is_first=is_first)
            index = self.builder.add_thread(above.index, number, name=name)
            track = self.builder.add_track(
                spec,
                parent=above.track,
                process=above.index,
                thread=index,
                clock=self.options.clock,
                rank=self.options.rank,
            )
            row = self._threads[process, key] = Holder(index, track, spec.uri, above)
            self._process_of.setdefault(key, process)
            self._titles[spec.uri] = title
        return row

    def rename(self, process: int | str, thread: int | str | None, name: str) -> None:
        """Names a process, or one of its threads; does nothing if it has no events."""
        name = clean_text(name)
        row = self._processes.get(process) if thread is None else self._threads.get((process, thread))
        if row is None or not name:
            return
        if thread is None:
            number = process if isinstance(process, int) else None
            self.builder.update_process(row.index, name=name)
            self.builder.update_track(row.track, title=process_title(name, number))
        else:
            number = thread if isinstance(thread, int) else None
            self.builder.update_thread(row.index, name=name)
            self.builder.update_track(row.track, title=thread_title(name, number))

    def process_of_thread(self, thread: int | str) -> int | str | None:
        """The key of the process in which a thread has events; None without any."""
        return self._process_of.get(thread)

    def label(self, row: Holder) -> str:
        """The title of a thread or process, for use outside its place."""
        return self._titles[row.uri]

    def thread_track(self, thread: Holder, path: str, title: str = "") -> int:
        """A track below a thread, as in `TrackFactory.below_thread`."""
        return self.track(self.specs.below_thread(thread.uri, path, title=title), row=thread)

    def device(
        self, number: int, name: str = "", properties: Mapping[str, str | int | float] | None = None
    ) -> None:
        """A GPU of the machine; it gets a track only with its first event. The first name and properties count."""
        if number not in self._devices:
            self._devices[number] = name = clean_text(name)
            self.builder.add_device(
                number, name or f"GPU {number}", rank=self.options.rank, properties=properties or {}
            )

    def gpu(
        self, number: int, name: str = "", properties: Mapping[str, str | int | float] | None = None
    ) -> int:
        """The track of a GPU; see `device`."""
        self.device(number, name, properties)
        if number not in self._gpus:
            self._gpus[number] = self.track(self.specs.gpu(number, self._devices[number]))
        return self._gpus[number]

    def context(self, gpu: int, process: Holder, number: int | None = None) -> tuple[TrackSpec, int]:
        """The place of a process's streams on a GPU, and the track to put them below."""
        spec = self.specs.context(gpu, process.uri, number)
        parent = self.gpu(gpu)
        return spec, parent if number is None else self.track(spec, parent, process)

    def stream(
        self, gpu: int, process: Holder, number: int | None, *, context: int | None = None, name: str = ""
    ) -> int:
        """The track of a stream."""
        place, parent = self.context(gpu, process, context)
        return self.track(self.specs.stream(place, number, name=clean_text(name)), parent, process)

    def add(
        self,
        tracks: int | Int64Array,
        kind: str,
        start: Int64Array,
        stop: Int64Array | None,
        names: npt.NDArray[np.uint32] | int,
        *,
        flags: npt.NDArray[np.uint8] | int = 0,
        attributes: Mapping[str, Any] | None = None,
    ) -> Int64Array:
        """Adds events and returns their ids, -1 for those that are skipped. Without ``stop`` they are instants.

        ``tracks`` is one track or one for each event; scalars serve all events.
        """
        count = len(start)
        if stop is None:
            stop, flags = start, np.asarray(flags, np.uint8) | np.uint8(Flag.INSTANT)
        usable = (np.abs(start) <= MAX_TIME_NS) & (np.abs(stop) <= MAX_TIME_NS) & (stop >= start)
        ids = np.full(count, -1, np.int64)
        order = np.flatnonzero(usable)
        if len(order) < count:
            self.builder.add_skipped(
                english("events with impossible times"),
                count - len(order),
                english("they end before they begin, or are centuries away"),
            )
        if not len(order):
            return ids
        place: int | Int64Array = tracks
        if isinstance(tracks, np.ndarray):
            # Events of one track in a row are cheapest to store.
            order = order[np.argsort(tracks[order], kind="stable")]
            place = tracks[order]
        start, stop = start[order], stop[order]

        def chosen(values: Any) -> Any:
            return values[order] if np.ndim(values) else values

        first = self.builder.add_events(
            place,
            kind,
            start,
            stop - start,
            chosen(names),
            flags=chosen(flags),
            attributes={name: chosen(values) for name, values in (attributes or {}).items()},
        )
        ids[order] = np.arange(first, first + len(order))
        self.events += len(order)
        self.saw(start, stop)
        if kind == "kernel":
            self._collectives.add(np.broadcast_to(chosen(names), start.shape), stop)
        return ids

    def add_counter(
        self, track: int, name: str, unit: str, times: Int64Array, values: npt.NDArray[np.float64]
    ) -> None:
        """Adds the values of a counter; skips those with damaged times."""
        usable = np.abs(times) <= MAX_TIME_NS
        self.builder.add_skipped(
            english("counter values with impossible times"),
            int((~usable).sum()),
            english("they are centuries away"),
        )
        if usable.any():
            self.builder.add_counter(track, clean_text(name), unit, times[usable], values[usable])
            self.saw(times[usable], times[usable])

    def link(self, kind: str, end: Literal["from", "to"], keys: Any, ids: Int64Array) -> None:
        """Gives the ends of links by keys; ignores masked keys, 0 and skipped events."""
        values = np.ma.getdata(keys)
        known = ~np.ma.getmaskarray(keys) & (values != 0) & (ids >= 0)
        if known.any():
            self.builder.add_link_keys(kind, self.scope, end, values[known], ids[known])

    def skip(self, what: str, count: int, reason: str) -> None:
        """Counts what is skipped, with the reason."""
        self.builder.add_skipped(what, count, reason)

    def saw(self, starts: Int64Array, stops: Int64Array) -> None:
        """Extends the time range of the file to these times."""
        low, high = int(starts.min()), int(stops.max())
        self._start_ns = low if self._start_ns is None else min(low, self._start_ns)
        self._stop_ns = high if self._stop_ns is None else max(high, self._stop_ns)

    def summary(self, utc_offset_ns: int | None = None) -> ImportSummary:
        """The summary of the file that the framework needs."""
        return ImportSummary(
            events=self.events,
            start_ns=self._start_ns,
            stop_ns=self._stop_ns,
            utc_offset_ns=utc_offset_ns,
            steps=self.steps,
            collectives=self._collectives.result(),
        )


def masked(values: Int64Array, missing: npt.NDArray[np.bool_]) -> np.ma.MaskedArray[Any, Any]:
    """A column with its missing values masked, and 0 under the mask."""
    return np.ma.MaskedArray(np.where(missing, 0, values), missing)
