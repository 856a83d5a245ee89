"""Adds events of Linux's kernel to a capture: the scheduler, frequencies of cores, marks of programs, others."""

from __future__ import annotations

from array import array
from collections import defaultdict

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import Int64Array, clean_text
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.framework.scheduling import SchedulerLog
from warpline.model import Flag
from warpline.model.track_factory import TrackSpec

_UNKNOWN = "unknown"
_BEGIN, _END, _MOMENT = range(3)


class LongColumns:
    """Rows of integers that are collected one by one, in 8 bytes a value."""

    def __init__(self, width: int) -> None:
        self._values = array("q")
        self._width = width

    def add(self, *row: int) -> None:
        """Append a row. Raises OverflowError for more than 64 bits."""
        self._values.extend(row)

    def columns(self) -> list[Int64Array]:
        """The columns."""
        return [self.column(place) for place in range(self._width)]

    def column(self, place: int) -> Int64Array:
        """One of the columns."""
        return np.ascontiguousarray(np.frombuffer(self._values, np.int64).reshape(-1, self._width)[:, place])

    def take(self) -> list[Int64Array]:
        """Return the columns and drop the rows."""
        columns = self.columns()
        self._values = array("q")
        return columns

    def __len__(self) -> int:
        return len(self._values) // self._width


def show_whole_trace(events: KernelEvents) -> None:
    """Let the capture begin with the first event and end with the last, even if nothing runs then."""
    first, last = events.bounds()
    if events.sink.options.rank is None and first < last:
        events.sink.builder.set_span(first, last)


_IDLE = "swapper"
"""The kernel's name for the idle threads of all cores, which have no ids of their own."""


class KernelEvents:
    """Collects the events of a file in any order, times in ns; `finish` adds them."""

    def __init__(self, sink: EventSink) -> None:
        self.sink = sink
        self.old_states: bool | None = None
        """Whether the kernel was older than 4.14, which `scheduling.states_of` asks for; None if unknown."""
        self._names: dict[int, str] = {}
        self._process_of: dict[int, int] = {}
        self._switches = LongColumns(5)
        self._wakeups = LongColumns(3)
        self._counters: defaultdict[tuple[int, str], LongColumns] = defaultdict(lambda: LongColumns(2))
        self._marks = LongColumns(4)
        self._spans = LongColumns(5)
        self._values: defaultdict[tuple[int, str], list[tuple[int, float]]] = defaultdict(list)
        self._others = LongColumns(5)
        self._process_names: dict[int, str] = {}
        self._bounds = (0, 0)

    def name(self, tid: int, name: str, process: int | None = None) -> None:
        """A thread's name, the last one counts, and its process."""
        if process is not None and process > 0:
            self._process_of[tid] = process
        if name and name not in ("<...>", "<idle>") and tid > 0:
            self._names[tid] = name

    def switch(self, time: int, cpu: int, prev: int, prev_state: int, following: int) -> None:
        """A core switched from one thread, left in a state of `scheduling.STATES` or a `raw_state`, to another."""
        self._switches.add(time, cpu, prev, prev_state, following)

    def wakeup(self, time: int, tid: int, by: int) -> None:
        """A thread became runnable."""
        self._wakeups.add(time, tid, by)

    def core_value(self, title: str, cpu: int, time: int, value: int) -> None:
        """A value of a core from now on, such as its frequency in Hz."""
        self._counters[cpu, title].add(time, value)

    def mark(self, time: int, tid: int, text: str) -> None:
        """What a program wrote into ``trace_marker``: ``B|71|name``, ``E``, ``S|71|name|3``, ``C|71|name|5``, text."""
        sort, _, rest = text.partition("|")
        pid, _, name = rest.partition("|")
        owner = int(pid) if pid.isdecimal() and len(pid) < 10 else tid
        string = self.sink.builder.string
        if sort == "B" and name:
            self._process_of.setdefault(tid, owner)
            self._marks.add(time, tid, _BEGIN, string(clean_text(name)))
        elif sort == "E":
            self._marks.add(time, tid, _END, 0)
        elif sort in ("S", "F") and name:
            label, _, cookie = name.rpartition("|")
            number = hash(cookie) & 0xFFFF_FFFF
            self._spans.add(time, owner, int(sort == "F"), string(clean_text(label or name)), number)
        elif sort == "C" and (value := _number(name.rpartition("|")[2])) is not None:
            self._values[owner, clean_text(name.rpartition("|")[0])].append((time, value))
        else:
            self._marks.add(time, tid, _MOMENT, string(clean_text(text)))

    def other(self, time: int, cpu: int, tid: int, name: str, details: str) -> None:
        """Any other event: an instant on the thread that ran, or on the core if it was idle."""
        string = self.sink.builder.string
        self._others.add(time, cpu, tid, string(clean_text(name)), string(clean_text(details)))

    def thread(self, tid: int) -> Holder:
        """The thread with a number."""
        process = self._process_of.get(tid)
        if process is None:
            self.sink.process(_UNKNOWN, english("threads of unknown processes"))
            return self.sink.thread(_UNKNOWN, tid, self._names.get(tid, "" if tid else _IDLE))
        self.sink.process(process, self._process_names.get(process, self._names.get(process, "")))
        return self.sink.thread(process, tid, self._names.get(tid, ""), is_first=tid == process)

    def core(self, number: int) -> int:
        """The track of a core."""
        specs = self.sink.specs
        return self.sink.track(specs.core(number), self.sink.track(specs.cores()))

    def finish(self) -> None:
        """Add everything to the capture."""
        self._bounds = self._find_bounds()
        if len(self._switches):
            scheduler = SchedulerLog(self.sink, self.thread, self.old_states)
            scheduler.add_switches(*self._switches.take())
            if len(self._wakeups):
                scheduler.add_wakeups(*self._wakeups.take())
            scheduler.finish(self._bounds[1])
        for (cpu, title), rows in sorted(self._counters.items()):
            times, values = rows.columns()
            uri = f"{self.sink.specs.core(cpu).uri}/counters/{title}"
            track = self.sink.track(TrackSpec(uri=uri, title=title, role="counter"), self.core(cpu))
            unit = "Hz" if title == english("Frequency") else ""
            self._add_counter(track, title, unit, times, values.astype(np.float64))
        for (pid, title), entries in self._values.items():
            process = self.sink.process(pid, self._names.get(pid, ""))
            track = self.sink.track(self.sink.specs.process_counter(process.uri, title, title), row=process)
            moments, numbers = zip(*entries, strict=True)
            self._add_counter(track, title, "", np.array(moments, np.int64), np.array(numbers, np.float64))
        self._add_marks()
        self._add_spans()
        self._add_others()

    def bounds(self) -> tuple[int, int]:
        """The times of the first and the last event; (0, 0) without any, or before `finish`."""
        return self._bounds

    def _find_bounds(self) -> tuple[int, int]:
        logs = (
            self._switches,
            self._wakeups,
            self._marks,
            self._spans,
            self._others,
            *self._counters.values(),
        )
        times = [log.column(0) for log in logs if len(log)]
        times += [np.array([time for time, _value in values], np.int64) for values in self._values.values()]
        if not times:
            return 0, 0
        return min(int(part.min()) for part in times), max(int(part.max()) for part in times)

    def _add_counter(self, track: int, title: str, unit: str, times: Int64Array, values: np.ndarray) -> None:
        order = np.argsort(times, kind="stable")
        self.sink.add_counter(track, title, unit, times[order], values[order])

    def _add_marks(self) -> None:
        if not len(self._marks):
            return
        time, tid, action, name = self._marks.columns()
        borders = np.flatnonzero(action != _MOMENT)
        ends_of_nothing = np.where(action[borders] == _BEGIN, name[borders], -1)
        pairs = match_borders(tid[borders], time[borders], action[borders] == _BEGIN, ends_of_nothing)
        opens, closed = borders[pairs.begin], pairs.end >= 0
        last = int(time.max())
        ends = np.full(len(opens), last)
        ends[closed] = time[borders[pairs.end[closed]]]
        moments = np.flatnonzero(action == _MOMENT)
        chosen = np.r_[opens, moments]
        flags = np.r_[np.where(closed, 0, int(Flag.CUT_END)), np.full(len(moments), int(Flag.INSTANT))]
        self.sink.add(
            self._tracks(tid[chosen]),
            "range",
            time[chosen],
            np.r_[ends, time[moments]],
            name[chosen].astype(np.uint32),
            flags=flags.astype(np.uint8),
        )
        self.sink.skip(english("ends of marks"), pairs.lone_ends, english("no range was open on the thread"))

    def _tracks(self, tids: Int64Array) -> Int64Array:
        numbers, places = np.unique(tids, return_inverse=True)
        tracks = [self.sink.thread_track(self.thread(number), "ranges") for number in numbers.tolist()]
        return np.array(tracks, np.int64)[places.reshape(-1)]

    def _add_spans(self) -> None:
        """Asynchronous marks (``S``, ``F``): they may end on another thread, and overlap."""
        if not len(self._spans):
            return
        time, pid, is_end, name, cookie = self._spans.columns()
        keys, key = np.unique(np.stack((pid, name, cookie)), axis=1, return_inverse=True)
        del keys
        pairs = match_borders(key.reshape(-1), time, is_end == 0, name, strict=True)
        closed = pairs.end >= 0
        start = time[pairs.begin]
        stop = np.where(closed, time[np.maximum(pairs.end, 0)], int(time.max()))
        tracks = []
        for number in pid[pairs.begin].tolist():
            process = self.sink.process(number, self._names.get(number, ""))
            tracks.append(self.sink.track(self.sink.specs.process_async(process.uri, ""), row=process))
        self.sink.add(
            np.array(tracks, np.int64),
            "range",
            start,
            stop,
            name[pairs.begin].astype(np.uint32),
            flags=np.where(closed, 0, int(Flag.CUT_END)).astype(np.uint8),
        )
        self.sink.skip(
            english("ends of asynchronous marks"),
            pairs.lone_ends,
            english("no begin has their name and number"),
        )

    def _add_others(self) -> None:
        if not len(self._others):
            return
        time, cpu, tid, name, details = self._others.columns()
        for of_core in (False, True):
            index = np.flatnonzero((tid <= 0) == of_core)
            if not len(index):
                continue
            if of_core:
                numbers, places = np.unique(cpu[index], return_inverse=True)
                specs = [self.sink.specs.core(number) for number in numbers.tolist()]
                rows = [
                    TrackSpec(uri=f"{spec.uri}/events", title=english("Events of the kernel"), role="ranges")
                    for spec in specs
                ]
                ids = [
                    self.sink.track(row, self.core(number))
                    for row, number in zip(rows, numbers.tolist(), strict=True)
                ]
                tracks = np.array(ids, np.int64)[places.reshape(-1)]
            else:
                tracks = self._tracks(tid[index])
            texts = details[index].astype(np.uint32)
            self.sink.add(
                tracks,
                "range",
                time[index],
                None,
                name[index].astype(np.uint32),
                attributes={"payload": np.ma.MaskedArray(texts, texts == 0)},
            )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
