"""Processes, threads and their tracks, made when a trace first mentions them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.trace_json.events import Scalar

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

UNKNOWN_ID = -1
"""Number of a process or thread whose recorded id is a text without a number."""

SORT_KEYS = {
    "phases": 0,
    "ranges": 10,
    "operators": 20,
    "api": 40,
    "python": 50,
    "osrt": 60,
    "memory": 70,
    "async": 80,
}
TITLES = {
    "phases": "Phases",
    "ranges": "Ranges",
    "operators": "Operators",
    "api": "CUDA API",
    "python": "Python",
    "osrt": "OS runtime",
    "memory": "Memory events",
    "async": "Asynchronous",
}
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
    """A thread of the trace, with the sub-tracks it has so far by role."""

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
        self._group = f"rank/{options.rank}" if options.rank is not None and options.prefix else None

    def add_track(self, uri: str, **fields: object) -> int:
        """A track of this file: prefix, clock and rank are added; without a parent it belongs to the rank's group."""
        fields.setdefault("parent", self._group)
        return self.builder.track(
            uri,
            clock=self.options.clock,
            rank=self.options.rank,
            **fields,  # type: ignore[arg-type]  # passed on
        )

    def process(self, pid: Scalar) -> ProcessEntry:
        """The process with this recorded id."""
        key = _key(pid)
        entry = self.processes.get(key)
        if entry is None:
            number = number_of(pid)
            uri = f"{self.options.prefix}process/{_path(key)}.1"
            name = "" if number != UNKNOWN_ID else clean_text(key)
            index = self.builder.add_process(number, name=name, rank=self.options.rank)
            track = self.add_track(
                uri,
                title=self._process_title(number, name),
                role="process",
                process=index,
                sort_key=len(self.processes),
            )
            entry = self.processes[key] = ProcessEntry(index, number, uri, track, name)
        return entry

    def thread(self, pid: Scalar, tid: Scalar) -> ThreadEntry:
        """The thread with these recorded ids."""
        key = (_key(pid), _key(tid))
        entry = self.threads.get(key)
        if entry is None:
            process = self.process(pid)
            number = number_of(tid)
            uri = f"{process.uri}/thread/{_path(key[1])}.1"
            name = "" if number != UNKNOWN_ID else clean_text(key[1])
            index = self.builder.add_thread(process.index, number, name=name)
            track = self.add_track(
                uri,
                title=self._thread_title(number, name),
                role="thread",
                parent=process.track,
                process=process.index,
                thread=index,
                sort_key=10 + len(self.threads),
            )
            entry = self.threads[key] = ThreadEntry(index, number, process, uri, track, name)
        return entry

    def sub_track(self, thread: ThreadEntry, role: str) -> int:
        """The thread's track for one sort of events (a key of `TITLES`)."""
        track = thread.tracks.get(role)
        if track is None:
            track = thread.tracks[role] = self.add_track(
                f"{thread.uri}/{role}",
                title=TITLES[role],
                role="ranges" if role == "async" else role,
                parent=thread.track,
                process=thread.process.index,
                thread=thread.index,
                sort_key=SORT_KEYS[role],
            )
        return track

    def counter_track(self, process: ProcessEntry, name: str) -> int:
        """The process's track for a counter."""
        track = process.counters.get(name)
        if track is None:
            track = process.counters[name] = self.add_track(
                f"{process.uri}/counters/{_path(name)}",
                title=clean_text(name),
                role="counter",
                parent=process.track,
                process=process.index,
                sort_key=5,
            )
        return track

    def name_process(self, pid: Scalar, name: str) -> None:
        """Give a process its name; processes that nothing else mentions are not made for it."""
        entry = self.processes.get(_key(pid))
        if entry is not None and name:
            entry.name = name
            self.builder.update_process(entry.index, name=name)
            self.builder.update_track(entry.track, title=self._process_title(entry.pid, name))

    def name_thread(self, pid: Scalar, tid: Scalar, name: str) -> None:
        """Give a thread its name."""
        entry = self.threads.get((_key(pid), _key(tid)))
        if entry is not None and name:
            entry.name = name
            self.builder.update_thread(entry.index, name=name)
            self.builder.update_track(entry.track, title=self._thread_title(entry.tid, name))

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

    @staticmethod
    def _process_title(pid: int, name: str) -> str:
        if pid == UNKNOWN_ID:
            return name or "Process"
        return f"{name} [{pid}]" if name else f"Process {pid}"

    @staticmethod
    def _thread_title(tid: int, name: str) -> str:
        if tid == UNKNOWN_ID:
            return name or "Thread"
        return f"{name}  {tid}" if name else f"Thread {tid}"


def _key(value: Scalar) -> str:
    """``25738`` and ``"25738"`` are one id."""
    return "" if value is None else str(value)


def _path(text: str) -> str:
    return quote(text, safe="()+-_ #:")[:200] or "none"
