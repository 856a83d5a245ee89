"""Processes, threads and their tracks, made when a trace first mentions them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.trace_json.events import Scalar
from warpline.model.track_factory import TrackFactory, TrackSpec, process_title, thread_title
from warpline.model.track_style import TRACE

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

UNKNOWN_ID = -1
"""Number of a process or thread whose recorded id is a text without a number."""

_LEADING_NUMBER = re.compile(r"-?\d{1,18}(?!\d)")


@dataclass
class ProcessEntry:
    """A process of the trace. ``uri`` is that of its track."""

    index: int
    pid: int
    uri: str
    track: int
    name: str = ""
    labels: str = ""
    counters: dict[str, int] = field(default_factory=dict)


@dataclass
class ThreadEntry:
    """A thread of the trace, with the sub-tracks it has so far by the end of their URIs."""

    index: int
    tid: int
    process: ProcessEntry
    uri: str
    track: int
    name: str = ""
    tracks: dict[str, int] = field(default_factory=dict)


def number_of(value: Scalar) -> int:
    """The number in a recorded id (``25738``, ``"25738"``, ``"21165(C++)"``), `UNKNOWN_ID` when there is none."""
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else UNKNOWN_ID
    if isinstance(value, float):
        return int(value) if abs(value) < 1 << 62 else UNKNOWN_ID  # false for NaN as well
    match = _LEADING_NUMBER.match(value) if isinstance(value, str) else None
    return int(match[0]) if match else UNKNOWN_ID


class TraceTracks:
    """The tables of processes and threads of one file while it is read."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.builder = builder
        self.options = options
        self.processes: dict[str, ProcessEntry] = {}
        self.threads: dict[tuple[str, str], ThreadEntry] = {}
        self.specs = TrackFactory(TRACE, options.prefix)

    def add_track(
        self,
        spec: TrackSpec,
        parent: int | str | None = None,
        process: ProcessEntry | None = None,
        thread: ThreadEntry | None = None,
    ) -> int:
        """A track of this file, with its clock and rank; without a parent it belongs to the rank's group.

        What belongs to a thread or process stands below it where no parent is given.
        """
        process = thread.process if thread is not None else process
        if parent is None:
            holder = thread or process
            parent = self.options.group if holder is None else holder.track
        return self.builder.add_track(
            spec,
            parent=parent,
            process=None if process is None else process.index,
            thread=None if thread is None else thread.index,
            clock=self.options.clock,
            rank=self.options.rank,
        )

    def process(self, pid: Scalar) -> ProcessEntry:
        """The process with this recorded id."""
        key = _key(pid)
        entry = self.processes.get(key)
        if entry is None:
            number = number_of(pid)
            name = "" if number != UNKNOWN_ID else clean_text(key)
            index = self.builder.add_process(number, name=name, rank=self.options.rank)
            spec = self.specs.process(key, process_title(name, _known(number)), place=len(self.processes))
            track = self.builder.add_track(
                spec,
                parent=self.options.group,
                process=index,
                clock=self.options.clock,
                rank=self.options.rank,
            )
            entry = self.processes[key] = ProcessEntry(index, number, spec.uri, track, name)
        return entry

    def thread(self, pid: Scalar, tid: Scalar) -> ThreadEntry:
        """The thread with these recorded ids."""
        key = (_key(pid), _key(tid))
        entry = self.threads.get(key)
        if entry is None:
            process = self.process(pid)
            number = number_of(tid)
            name = "" if number != UNKNOWN_ID else clean_text(key[1])
            index = self.builder.add_thread(process.index, number, name=name)
            title = thread_title(name, _known(number))
            spec = self.specs.thread(process.uri, key[1], title, place=len(self.threads))
            track = self.builder.add_track(
                spec,
                parent=process.track,
                process=process.index,
                thread=index,
                clock=self.options.clock,
                rank=self.options.rank,
            )
            entry = self.threads[key] = ThreadEntry(index, number, process, spec.uri, track, name)
        return entry

    def sub_track(self, thread: ThreadEntry, path: str) -> int:
        """The thread's track for one sort of events, as in `TrackFactory.below_thread`."""
        track = thread.tracks.get(path)
        if track is None:
            spec = self.specs.below_thread(thread.uri, path)
            track = thread.tracks[path] = self.add_track(spec, thread=thread)
        return track

    def counter_track(self, process: ProcessEntry, name: str) -> int:
        """The process's track for a counter."""
        track = process.counters.get(name)
        if track is None:
            spec = self.specs.process_counter(process.uri, name, clean_text(name))
            track = process.counters[name] = self.add_track(spec, process=process)
        return track

    def name_process(self, pid: Scalar, name: str) -> None:
        """Give a process its name; processes that nothing else mentions are not made for it."""
        entry = self.processes.get(_key(pid))
        if entry is not None and name:
            entry.name = name
            self.builder.update_process(entry.index, name=name)
            self.builder.update_track(entry.track, title=process_title(name, _known(entry.pid)))

    def name_thread(self, pid: Scalar, tid: Scalar, name: str) -> None:
        """Give a thread its name."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and name:
            entry.name = name
            self.builder.update_thread(entry.index, name=name)
            self.builder.update_track(entry.track, title=thread_title(name, _known(entry.tid)))

    def sort_processes(self, keys: Mapping[str, int]) -> None:
        """Order processes by recorded keys (by recorded id); they stay above what else stands beside them."""
        ordered = sorted(self.processes.items(), key=lambda item: keys.get(item[0], item[1].index))
        for place, (_key_text, entry) in enumerate(ordered):
            self.builder.update_track(entry.track, sort_key=min(place, 999))

    def sort_thread(self, pid: Scalar, tid: Scalar, key: int) -> None:
        """Set where a thread stands among its siblings."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and abs(key) < 1 << 31:
            self.builder.update_track(entry.track, sort_key=key)


def _known(number: int) -> int | None:
    return None if number == UNKNOWN_ID else number


def _key(value: Scalar) -> str:
    """``25738`` and ``"25738"`` are one id."""
    return "" if value is None else str(value)
