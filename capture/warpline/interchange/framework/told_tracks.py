"""What the header of a trace that Warpline itself has written says of its rows (`export.chrome_json.told`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from warpline.model.track_factory import TrackSpec

HEADER_KEY = "warpline"
_MAX_TIME = 1 << 62


class ToldTrack(msgspec.Struct, frozen=True):
    """A track; ``up`` is the place of the one above it. ``row`` are process and thread in the trace, if it has events.

    A shared row is a thread's own, on which the group of events tells which of its tracks is meant.
    """

    uri: str
    title: str
    role: str
    sort: int = 0
    up: int = -1
    device: int | None = None
    context: int | None = None
    stream: int | None = None
    rank: int | None = None
    process: int | None = None
    thread: int | None = None
    row: tuple[int, int] | None = None
    is_shared: bool = False

    @property
    def spec(self) -> TrackSpec:
        """What the builder wants to know of it."""
        return TrackSpec(self.uri, self.title, self.role, self.sort, self.device, self.context, self.stream)


class ToldProcess(msgspec.Struct, frozen=True):
    """A process by its number in the trace: its own number, its name."""

    pid: int
    number: int
    name: str
    rank: int | None = None


class ToldThread(msgspec.Struct, frozen=True):
    """A thread by the number of its process in the trace and its own."""

    process: int
    number: int
    name: str


class ToldCounter(msgspec.Struct, frozen=True):
    """A counter by process and name in the trace: the place of its track, its own name and unit."""

    pid: int
    name: str
    track: int
    title: str
    unit: str


class _Header(msgspec.Struct, frozen=True):
    span_ns: tuple[int, int]
    tracks: list[ToldTrack]
    processes: list[ToldProcess]
    threads: list[ToldThread]
    counters: list[ToldCounter]


class ToldTracks:
    """The tracks a header tells, by what is known of events when they are read; empty for traces of others."""

    def __init__(self, header: Mapping[str, Any] | None = None) -> None:
        """A header that says something impossible says nothing."""
        told = _checked((header or {}).get(HEADER_KEY))
        self.span_ns: tuple[int, int] | None = told.span_ns if told else None
        self.tracks: list[ToldTrack] = told.tracks if told else []
        self.processes = {entry.pid: entry for entry in told.processes} if told else {}
        self.threads = {(entry.process, entry.number): entry for entry in told.threads} if told else {}
        self.counters = {(entry.pid, entry.name): entry for entry in told.counters} if told else {}
        self.track_of_process: dict[int, ToldTrack] = {}
        self.track_of_thread: dict[tuple[int, int], ToldTrack] = {}
        self._by_row: dict[tuple[int, int], int] = {}
        self._shared: dict[tuple[int, int, str], int] = {}
        self._on_gpu: dict[tuple[str, int | None, int | None, int | None], int] = {}
        for place, track in enumerate(self.tracks):
            self._enter(place, track)

    def _enter(self, place: int, track: ToldTrack) -> None:
        if track.role == "process" and track.process is not None:
            self.track_of_process[track.process] = track
        elif track.role == "thread" and track.process is not None and track.thread is not None:
            self.track_of_thread[track.process, track.thread] = track
        if track.row is not None and track.is_shared:
            self._shared[(*track.row, track.role)] = place
        elif track.row is not None:
            self._by_row[track.row] = place
        if track.device is not None:
            key = (track.role, track.device, track.context, track.stream)
            # Two processes may have a stream of one number: their events do not tell which is meant.
            self._on_gpu[key] = -1 if key in self._on_gpu else place

    def of_row(self, pid: object, tid: object) -> int:
        """The place of the one track that a row is, -1 where it is a thread's or nothing is told."""
        return self._by_row.get((pid, tid), -1) if isinstance(pid, int) and isinstance(tid, int) else -1

    def on_thread(self, process: object, thread: int, role: str) -> int:
        """The place of a thread's track for a group of events, -1 where nothing is told."""
        return self._shared.get((process, thread, role), -1) if isinstance(process, int) else -1

    def on_gpu(self, role: str, device: int, context: int | None, stream: int | None) -> int:
        """The place of a track of a GPU, -1 where nothing or too much is told."""
        return self._on_gpu.get((role, device, context, stream), -1)


def _checked(value: Any) -> _Header | None:
    try:
        told = msgspec.convert(value, _Header)
    except msgspec.ValidationError:
        return None
    # What is above stands before; nothing is above itself.
    fits = all(-1 <= track.up < place for place, track in enumerate(told.tracks))
    fits &= all(0 <= counter.track < len(told.tracks) for counter in told.counters)
    fits &= all(abs(track.sort) < 1 << 62 for track in told.tracks)
    fits &= len({track.uri for track in told.tracks}) == len(told.tracks)
    fits &= -_MAX_TIME < told.span_ns[0] <= told.span_ns[1] < _MAX_TIME
    return told if fits else None
