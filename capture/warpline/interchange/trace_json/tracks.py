"""Processes, threads and their tracks, made when a trace first mentions them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.framework.told_tracks import ToldTrack, ToldTracks
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
    told_pid: Scalar = None
    """Its number in the trace."""
    is_named: bool = False
    """The trace tells its title apart from its events."""


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
    only_track: int | None = None
    """The track of a row that is no thread's."""


def number_of(value: Scalar) -> int:
    """The number in a recorded id (``25738``, ``"25738"``, ``"21165(C++)"``), `UNKNOWN_ID` when there is none."""
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else UNKNOWN_ID
    if isinstance(value, float):
        return int(value) if abs(value) < 1 << 62 else UNKNOWN_ID  # false for NaN as well
    match = _LEADING_NUMBER.match(value) if isinstance(value, str) else None
    return int(match[0]) if match else UNKNOWN_ID


_NOBODY = ProcessEntry(-1, UNKNOWN_ID, "", -1, is_named=True)


class TraceTracks:
    """The tables of processes and threads of one file while it is read."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.builder = builder
        self.options = options
        self.processes: dict[str, ProcessEntry] = {}
        self.threads: dict[tuple[str, str], ThreadEntry] = {}
        self.specs = TrackFactory(TRACE, options.prefix)
        self.told = ToldTracks()
        self._made: dict[int, int] = {}
        """Tracks that the trace tells of, by their place in its list."""

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

    def made(self, place: int) -> int:
        """The track at a place of the list that the trace tells, with those above it."""
        if place not in self._made:
            told = self.told.tracks[place]
            parent = self.made(told.up) if told.up >= 0 else self.options.group
            process = None if told.process is None else self.process(told.process)
            thread = (
                None if process is None or told.thread is None else self.thread(told.process, told.thread)
            )
            if told.role == "process" and process is not None:
                self._made[place] = process.track
            elif told.role == "thread" and thread is not None:
                self._made[place] = thread.track
            else:
                self._made[place] = self.builder.add_track(
                    self._spec_of(told),
                    parent=parent,
                    process=None if process is None else process.index,
                    thread=None if thread is None else thread.index,
                    clock=self.options.clock,
                    rank=self._rank_of(told.rank),
                )
        return self._made[place]

    def _spec_of(self, told: ToldTrack) -> TrackSpec:
        # The ranks of several files are told by the files.
        uri = told.uri if self.options.rank is None else re.sub(r"^rank/\d+/", "", told.uri)
        return replace(told.spec, uri=f"{self.options.prefix}{uri}")

    def _rank_of(self, told: int | None) -> int | None:
        return told if self.options.rank is None else self.options.rank

    def process(self, pid: Scalar) -> ProcessEntry:
        """The process with this recorded id."""
        key = _key(pid)
        entry = self.processes.get(key)
        if entry is None:
            number = number_of(pid)
            name = "" if number != UNKNOWN_ID else clean_text(key)
            rank = self.options.rank
            spec = self.specs.process(key, process_title(name, _known(number)), place=len(self.processes))
            parent: int | str | None = self.options.group
            told = self.told.processes.get(pid) if isinstance(pid, int) else None
            if told is not None:
                number, name, rank = told.number, told.name, self._rank_of(told.rank)
                track_told = self.told.track_of_process.get(told.pid)
                if track_told is not None:
                    spec = self._spec_of(track_told)
                    parent = self.made(track_told.up) if track_told.up >= 0 else parent
            index = self.builder.add_process(number, name=name, rank=rank)
            track = self.builder.add_track(
                spec,
                parent=parent,
                process=index,
                clock=self.options.clock,
                rank=rank,
            )
            entry = self.processes[key] = ProcessEntry(
                index, number, spec.uri, track, name, told_pid=pid, is_named=told is not None
            )
        return entry

    def thread(self, pid: Scalar, tid: Scalar) -> ThreadEntry:
        """The thread with these recorded ids."""
        key = (_key(pid), _key(tid))
        entry = self.threads.get(key)
        if entry is None:
            place = self.told.of_row(pid, tid)
            if place >= 0:
                entry = self.threads[key] = self._told_row(place)
                return entry
            process = self.process(pid)
            number = number_of(tid)
            name = "" if number != UNKNOWN_ID else clean_text(key[1])
            title = thread_title(name, _known(number))
            spec = self.specs.thread(process.uri, key[1], title, place=len(self.threads))
            if isinstance(pid, int) and isinstance(tid, int):
                told = self.told.threads.get((pid, tid))
                track_told = self.told.track_of_thread.get((pid, tid))
                name = told.name if told is not None else name
                spec = self._spec_of(track_told) if track_told is not None else spec
            index = self.builder.add_thread(process.index, number, name=name)
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

    def _told_row(self, place: int) -> ThreadEntry:
        """A row that is one track; its number is no thread's, and only tells its events from those of others."""
        track = self.made(place)
        number = -1_000_000 - place
        return ThreadEntry(number, UNKNOWN_ID, _NOBODY, "", track, only_track=track)

    def told_row(self, pid: Scalar, tid: Scalar) -> int | None:
        """The one track that a row is, as far as the trace tells."""
        place = self.told.of_row(pid, tid)
        return self.made(place) if place >= 0 else None

    def told_on_gpu(self, role: str, device: int, context: int | None, stream: int | None) -> int | None:
        """Likewise a track of a GPU."""
        place = self.told.on_gpu(role, device, context, stream)
        return self.made(place) if place >= 0 else None

    def sub_track(self, thread: ThreadEntry, path: str) -> int:
        """The thread's track for one sort of events, as in `TrackFactory.below_thread`."""
        if thread.only_track is not None:
            return thread.only_track
        track = thread.tracks.get(path)
        if track is None:
            place = self.told.on_thread(thread.process.told_pid, thread.tid, path)
            spec = self.specs.below_thread(thread.uri, path)
            track = self.made(place) if place >= 0 else self.add_track(spec, thread=thread)
            thread.tracks[path] = track
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
        if entry is not None and name and not entry.is_named:
            entry.name = name
            self.builder.update_process(entry.index, name=name)
            self.builder.update_track(entry.track, title=process_title(name, _known(entry.pid)))

    def name_thread(self, pid: Scalar, tid: Scalar, name: str) -> None:
        """Give a thread its name."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and name and not (entry.process.is_named or entry.only_track is not None):
            entry.name = name
            self.builder.update_thread(entry.index, name=name)
            self.builder.update_track(entry.track, title=thread_title(name, _known(entry.tid)))

    def sort_processes(self, keys: Mapping[str, int]) -> None:
        """Order processes by recorded keys (by recorded id); they stay above what else stands beside them."""
        if self.told.tracks:
            return
        ordered = sorted(self.processes.items(), key=lambda item: keys.get(item[0], item[1].index))
        for place, (_key_text, entry) in enumerate(ordered):
            self.builder.update_track(entry.track, sort_key=min(place, 999))

    def sort_thread(self, pid: Scalar, tid: Scalar, key: int) -> None:
        """Set where a thread stands among its siblings."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and abs(key) < 1 << 31 and not self.told.tracks:
            self.builder.update_track(entry.track, sort_key=key)


def _known(number: int) -> int | None:
    return None if number == UNKNOWN_ID else number


def _key(value: Scalar) -> str:
    """``25738`` and ``"25738"`` are one id."""
    return "" if value is None else str(value)
