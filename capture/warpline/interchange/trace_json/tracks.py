"""The processes, threads and tracks of a trace, added to the capture when an event first needs them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.framework.own_header import HeaderTrack, HeaderTracks
from warpline.interchange.trace_json.events import Scalar
from warpline.model.track_factory import TrackFactory, TrackSpec, process_title, thread_title
from warpline.model.track_style import TRACE

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

UNKNOWN_ID = -1
"""Number for a recorded id without a number."""

_LEADING_NUMBER = re.compile(r"-?\d{1,18}(?!\d)")


@dataclass(kw_only=True)
class ProcessEntry:
    """A process of the trace. ``uri`` is its track's."""

    index: int
    pid: int
    uri: str
    track: int
    name: str = ""
    labels: str = ""
    counters: dict[str, int] = field(default_factory=dict)
    recorded_pid: Scalar = None
    """The id in the trace."""
    is_named: bool = False
    """The header names it, so metadata events do not."""


@dataclass(kw_only=True)
class ThreadEntry:
    """A thread of the trace. ``tracks`` are its sub-tracks by the last part of their URIs."""

    index: int
    tid: int
    process: ProcessEntry
    uri: str
    track: int
    name: str = ""
    tracks: dict[str, int] = field(default_factory=dict)
    recorded_tid: Scalar = None
    """The id in the trace."""
    only_track: int | None = None
    """The track, if the row is not a thread."""


def number_of(value: Scalar) -> int:
    """The number in a recorded id (``25738``, ``"25738"``, ``"21165(C++)"``), else `UNKNOWN_ID`."""
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else UNKNOWN_ID
    if isinstance(value, float):
        return int(value) if abs(value) < 1 << 62 else UNKNOWN_ID  # false for NaN as well
    match = _LEADING_NUMBER.match(value) if isinstance(value, str) else None
    return int(match[0]) if match else UNKNOWN_ID


_NOBODY = ProcessEntry(index=-1, pid=UNKNOWN_ID, uri="", track=-1, is_named=True)


class TraceTracks:
    """The processes, threads and tracks of one file during its conversion."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.builder = builder
        self.options = options
        self.processes: dict[str, ProcessEntry] = {}
        self.threads: dict[tuple[str, str], ThreadEntry] = {}
        self.specs = TrackFactory(TRACE, options.prefix)
        self.header = HeaderTracks()
        self.titles: dict[str, str] = {}
        """Titles of tracks below threads that differ from the usual ones, by the end of their URI."""
        self._header_tracks: dict[int, int] = {}
        """Tracks added from the header, by their index there."""

    def add_track(
        self,
        spec: TrackSpec,
        parent: int | str | None = None,
        process: ProcessEntry | None = None,
        thread: ThreadEntry | None = None,
    ) -> int:
        """Add a track with the clock and rank of this file.

        The default parent is the thread, else the process, else the rank's group.
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

    def header_track(self, place: int) -> int:
        """The header's track at an index, added with its parents."""
        if place not in self._header_tracks:
            entry = self.header.tracks[place]
            parent = self.header_track(entry.up) if entry.up >= 0 else self.options.group
            process = None if entry.process is None else self.process(entry.process)
            thread = (
                None if process is None or entry.thread is None else self.thread(entry.process, entry.thread)
            )
            if entry.role == "process" and process is not None:
                self._header_tracks[place] = process.track
            elif entry.role == "thread" and thread is not None:
                self._header_tracks[place] = thread.track
            else:
                self._header_tracks[place] = self.builder.add_track(
                    self._spec_of(entry),
                    parent=parent,
                    process=None if process is None else process.index,
                    thread=None if thread is None else thread.index,
                    clock=self.options.clock,
                    rank=self._rank_of(entry.rank),
                )
        return self._header_tracks[place]

    def _spec_of(self, entry: HeaderTrack) -> TrackSpec:
        # With several files, the rank comes from the file.
        uri = entry.uri if self.options.rank is None else re.sub(r"^rank/\d+/", "", entry.uri)
        return replace(entry.spec, uri=f"{self.options.prefix}{uri}")

    def _rank_of(self, rank: int | None) -> int | None:
        return rank if self.options.rank is None else self.options.rank

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
            exported = self.header.processes.get(pid) if isinstance(pid, int) else None
            if exported is not None:
                number, name, rank = exported.number, exported.name, self._rank_of(exported.rank)
                own_track = self.header.track_of_process.get(exported.pid)
                if own_track is not None:
                    spec = self._spec_of(own_track)
                    parent = self.header_track(own_track.up) if own_track.up >= 0 else parent
            index = self.builder.add_process(number, name=name, rank=rank)
            track = self.builder.add_track(
                spec,
                parent=parent,
                process=index,
                clock=self.options.clock,
                rank=rank,
            )
            entry = self.processes[key] = ProcessEntry(
                index=index,
                pid=number,
                uri=spec.uri,
                track=track,
                name=name,
                recorded_pid=pid,
                is_named=exported is not None,
            )
        return entry

    def thread(self, pid: Scalar, tid: Scalar) -> ThreadEntry:
        """The thread with these recorded ids."""
        key = (_key(pid), _key(tid))
        entry = self.threads.get(key)
        if entry is None:
            place = self.header.of_row(pid, tid)
            if place >= 0:
                entry = self.threads[key] = self._row_entry(place)
                return entry
            process = self.process(pid)
            number = number_of(tid)
            name = "" if number != UNKNOWN_ID else clean_text(key[1])
            title = thread_title(name, _known(number))
            spec = self.specs.thread(process.uri, key[1], title, place=len(self.threads))
            if isinstance(pid, int) and isinstance(tid, int):
                exported = self.header.threads.get((pid, tid))
                own_track = self.header.track_of_thread.get((pid, tid))
                if exported is not None:
                    name = exported.name
                    number = number if exported.recorded is None else exported.recorded
                spec = self._spec_of(own_track) if own_track is not None else spec
            index = self.builder.add_thread(process.index, number, name=name)
            track = self.builder.add_track(
                spec,
                parent=process.track,
                process=process.index,
                thread=index,
                clock=self.options.clock,
                rank=self.options.rank,
            )
            entry = self.threads[key] = ThreadEntry(
                index=index,
                tid=number,
                process=process,
                uri=spec.uri,
                track=track,
                name=name,
                recorded_tid=tid,
            )
        return entry

    def _row_entry(self, place: int) -> ThreadEntry:
        """An entry for a row that is not a thread; its number only has to be unique."""
        track = self.header_track(place)
        number = -1_000_000 - place
        return ThreadEntry(
            index=number, tid=UNKNOWN_ID, process=_NOBODY, uri="", track=track, only_track=track
        )

    def row_track(self, pid: Scalar, tid: Scalar) -> int | None:
        """The track of a row that is not a thread, by the header."""
        place = self.header.of_row(pid, tid)
        return self.header_track(place) if place >= 0 else None

    def gpu_track(self, role: str, device: int, context: int | None, stream: int | None) -> int | None:
        """The track of a GPU, by the header."""
        place = self.header.on_gpu(role, device, context, stream)
        return self.header_track(place) if place >= 0 else None

    def sub_track(self, thread: ThreadEntry, path: str) -> int:
        """A track below a thread, as in `TrackFactory.below_thread`."""
        if thread.only_track is not None:
            return thread.only_track
        track = thread.tracks.get(path)
        if track is None:
            place = self.header.on_thread(thread.process.recorded_pid, thread.recorded_tid, path)
            spec = self.specs.below_thread(thread.uri, path, title=self.titles.get(path, ""))
            track = self.header_track(place) if place >= 0 else self.add_track(spec, thread=thread)
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
        """Set the name of a process that has events."""
        entry = self.processes.get(_key(pid))
        if entry is not None and name and not entry.is_named:
            entry.name = name
            self.builder.update_process(entry.index, name=name)
            self.builder.update_track(entry.track, title=process_title(name, _known(entry.pid)))

    def name_thread(self, pid: Scalar, tid: Scalar, name: str) -> None:
        """Set the name of a thread that has events."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and name and not (entry.process.is_named or entry.only_track is not None):
            entry.name = name
            self.builder.update_thread(entry.index, name=name)
            self.builder.update_track(entry.track, title=thread_title(name, _known(entry.tid)))

    def sort_processes(self, keys: Mapping[str, int]) -> None:
        """Order processes by their recorded sort keys; they stay above other top-level tracks."""
        if self.header.tracks:
            return
        ordered = sorted(self.processes.items(), key=lambda item: keys.get(item[0], item[1].index))
        for index, (_key_text, entry) in enumerate(ordered):
            self.builder.update_track(entry.track, sort_key=min(index, 999))

    def sort_thread(self, pid: Scalar, tid: Scalar, key: int) -> None:
        """Set the sort key of a thread."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and abs(key) < 1 << 31 and not self.header.tracks:
            self.builder.update_track(entry.track, sort_key=key)


def _known(number: int) -> int | None:
    return None if number == UNKNOWN_ID else number


def _key(value: Scalar) -> str:
    """``25738`` and ``"25738"`` are one id."""
    return "" if value is None else str(value)
