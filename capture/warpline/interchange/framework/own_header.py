"""Reads the header that Warpline's own Chrome JSON export writes (`export.chrome_json.header`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from warpline.model.track_factory import TrackSpec

HEADER_KEY = "warpline"
_MAX_TIME = 1 << 62


class HeaderTrack(msgspec.Struct, frozen=True, kw_only=True):
    """A track. ``up`` is the index of its parent; ``row`` is its (pid, tid) in the trace, if it has events.

    A shared row belongs to a thread; the kind of an event selects one of the thread's tracks.
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
        """The track in the form that the builder takes."""
        return TrackSpec(
            uri=self.uri,
            title=self.title,
            role=self.role,
            sort_key=self.sort,
            device=self.device,
            context=self.context,
            stream=self.stream,
        )


class HeaderProcess(msgspec.Struct, frozen=True):
    """A process: pid in the trace, original pid, name."""

    pid: int
    number: int
    name: str
    rank: int | None = None


class HeaderThread(msgspec.Struct, frozen=True):
    """A thread: pid and tid in the trace, name, the tid that was recorded (None: the same)."""

    process: int
    number: int
    name: str
    recorded: int | None = None


class HeaderCounter(msgspec.Struct, frozen=True):
    """A counter: pid and name in the trace, index of its track, original name and unit."""

    pid: int
    name: str
    track: int
    title: str
    unit: str


class _Header(msgspec.Struct, frozen=True):
    span_ns: tuple[int, int]
    tracks: list[HeaderTrack]
    processes: list[HeaderProcess]
    threads: list[HeaderThread]
    counters: list[HeaderCounter]
    launches_are_arrows: bool = False


class HeaderTracks:
    """The tracks of a header, found by what an event in the trace says; empty for traces of other tools."""

    def __init__(self, header: Mapping[str, Any] | None = None) -> None:
        """An invalid header counts as none."""
        content = _checked((header or {}).get(HEADER_KEY))
        self.span_ns: tuple[int, int] | None = content.span_ns if content else None
        self.has_arrows = content is not None and content.launches_are_arrows
        """Launches are flows; correlation ids do not give them."""
        self.tracks: list[HeaderTrack] = content.tracks if content else []
        self.processes = {entry.pid: entry for entry in content.processes} if content else {}
        self.threads = {(entry.process, entry.number): entry for entry in content.threads} if content else {}
        self.counters = {(entry.pid, entry.name): entry for entry in content.counters} if content else {}
        self.track_of_process: dict[int, HeaderTrack] = {}
        self.track_of_thread: dict[tuple[int, int], HeaderTrack] = {}
        self._by_row: dict[tuple[int, int], int] = {}
        self._shared: dict[tuple[int, int, str], int] = {}
        self._on_gpu: dict[tuple[str, int | None, int | None, int | None], int] = {}
        for index, track in enumerate(self.tracks):
            self._enter(index, track)

    def _enter(self, place: int, track: HeaderTrack) -> None:
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
            # Two processes may have the same stream number; their events do not say which one is meant.
            self._on_gpu[key] = -1 if key in self._on_gpu else place

    def of_row(self, pid: object, tid: object) -> int:
        """Index of the track with this row, -1 if unknown or shared."""
        return self._by_row.get((pid, tid), -1) if isinstance(pid, int) and isinstance(tid, int) else -1

    def on_thread(self, process: object, thread: object, role: str) -> int:
        """Index of a thread's track for one role, -1 if unknown."""
        if not isinstance(process, int) or not isinstance(thread, int):
            return -1
        return self._shared.get((process, thread, role), -1)

    def on_gpu(self, role: str, device: int, context: int | None, stream: int | None) -> int:
        """Index of a GPU track, -1 if unknown or ambiguous."""
        return self._on_gpu.get((role, device, context, stream), -1)


def _checked(value: Any) -> _Header | None:
    try:
        content = msgspec.convert(value, _Header)
    except msgspec.ValidationError:
        return None
    # A parent precedes its children.
    fits = all(-1 <= track.up < index for index, track in enumerate(content.tracks))
    fits &= all(0 <= counter.track < len(content.tracks) for counter in content.counters)
    fits &= all(abs(track.sort) < 1 << 62 for track in content.tracks)
    fits &= len({track.uri for track in content.tracks}) == len(content.tracks)
    fits &= -_MAX_TIME < content.span_ns[0] <= content.span_ns[1] < _MAX_TIME
    return content if fits else None
