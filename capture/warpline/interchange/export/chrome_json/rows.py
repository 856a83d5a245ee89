"""Assigns the tracks of a capture to rows of a Chrome trace, which are pairs of process and thread numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpline.untrusted import number_in

if TYPE_CHECKING:
    from warpline.model import Track
    from warpline.storage import Capture

_CALLS = frozenset({"api", "ranges", "operators", "phases", "python"})
"""Roles that share a thread's row, because their events nest on its stack."""
_ON_THREAD = _CALLS | {"thread", "memory", "samples", "cpu_samples"}
"""Roles that share a thread's row; instants do not disturb nesting."""

FIRST_MADE_UP = 10_000_000
"""Made-up numbers start here; Linux ids go up to 4,194,304."""


@dataclass(frozen=True)
class TraceRow:
    """A row of the trace. ``is_async``: no row; events are written as asynchronous events of the process."""

    pid: int
    tid: int
    is_async: bool = False
    is_shared: bool = False
    """A thread's row, shared by its tracks; events show by their kind which track they belong to."""


@dataclass(kw_only=True)
class Rows:
    """Assigns rows: threads keep their ids, streams get (device, stream), other tracks made-up numbers."""

    capture: Capture
    names: dict[tuple[int, int | None], str] = field(default_factory=dict)
    """Names of processes (tid None) and threads."""
    labels: dict[int, str] = field(default_factory=dict)
    sort_keys: dict[tuple[int, int | None], int] = field(default_factory=dict)
    _device_pids: dict[tuple[int | None, int], int] = field(default_factory=dict)
    _process_pids: dict[int, int] = field(default_factory=dict)
    _taken: dict[tuple[int, int], str] = field(default_factory=dict)
    _made_up: int = FIRST_MADE_UP
    _thread_tids: dict[int, int] = field(default_factory=dict)
    _group_pids: dict[int, int] = field(default_factory=dict)
    _on_thread: dict[tuple[int, str], int] = field(default_factory=dict)
    """The track of each role on its thread's row."""

    def __post_init__(self) -> None:
        used: set[int] = set()
        for index, process in enumerate(self.capture.processes):
            # A pid may repeat (ranks, reuse), and 0 is for events without a process.
            pid = process.pid if process.pid not in used and process.pid > 0 else self._next()
            used.add(pid)
            self._process_pids[index] = pid
            if process.name:
                self.names[pid, None] = process.name
        for device in self.capture.devices:
            pid = device.index if device.index not in used else self._next()
            used.add(pid)
            self._device_pids[device.rank, device.index] = pid

    def _next(self) -> int:
        self._made_up += 1
        return self._made_up

    def row(self, track: Track) -> TraceRow:
        """The row for the events of a track."""
        if track.role == "stream" and track.device is not None:
            pid = self._device_pid(track)
            return TraceRow(pid, self._free_tid(pid, track.stream or 0, track.uri, track.title))
        if track.device is not None and track.process is not None and track.thread is None:
            pid = self._device_pid(track)
            return TraceRow(pid, self._free_tid(pid, self._next(), track.uri, track.title))
        if track.thread is not None:
            thread = self.capture.threads[track.thread]
            pid = self._process_pids.get(thread.process, thread.process)
            parent = self.capture.tracks[track.parent] if track.parent >= 0 else track
            own = self._on_thread.setdefault((track.thread, track.role), track.index) == track.index
            if track.role in _ON_THREAD and own:
                return TraceRow(pid, self.tid_of(track.thread), is_shared=track.role != "thread")
            return TraceRow(
                pid, self._free_tid(pid, self._next(), track.uri, f"{parent.title} · {track.title}")
            )
        if track.process is not None:
            pid = self._process_pids.get(track.process, track.process)
            # A row with a name of its own would lose it: asynchronous events only have a category.
            is_async = track.role in _CALLS and any(part in track.uri for part in ("/async/", "/nvtx/"))
            return TraceRow(
                pid, 0 if is_async else self._free_tid(pid, self._next(), track.uri, track.title), is_async
            )
        return self._group_row(track)

    def pid_of(self, process: int) -> int:
        """The pid of a process in the trace."""
        return self._process_pids[process]

    def tid_of(self, thread: int) -> int:
        """The tid of a thread in the trace: its own, or a made-up one for a thread without a number."""
        entry = self.capture.threads[thread]
        pid = self._process_pids.get(entry.process, entry.process)
        if thread not in self._thread_tids:
            tid = entry.tid if entry.tid >= 0 else self._next()
            self._thread_tids[thread] = self._free_tid(pid, tid, f"thread {thread}", entry.name)
        return self._thread_tids[thread]

    def counter_pid(self, track: Track) -> int:
        """The pid of a counter."""
        if track.process is not None:
            return self._process_pids.get(track.process, track.process)
        if track.device is not None:
            return self._device_pid(track)
        return self._group_row(track).pid

    def _device_pid(self, track: Track) -> int:
        device = track.device or 0
        key = (track.rank, device)
        if key not in self._device_pids:
            self._device_pids[key] = self._device_pids.get((None, device), self._next())
        pid = self._device_pids[key]
        self.labels.setdefault(pid, f"GPU {device}")
        if (pid, None) not in self.names:
            known = next((d.name for d in self.capture.devices if (d.rank, d.index) == key), "")
            self.names[pid, None] = (
                known if known.startswith(f"GPU {device}") else f"GPU {device} {known}".strip()
            )
            self.sort_keys[pid, None] = 5_000_000 + device
        return pid

    def _free_tid(self, pid: int, tid: int, owner: str, name: str) -> int:
        """``tid``, or another number if a different owner has it (two contexts with a stream 7)."""
        while self._taken.setdefault((pid, tid), owner) != owner:
            tid = (
                next((t for (p, t), o in self._taken.items() if p == pid and o == owner), None)
                or self._next()
            )
        if name:
            self.names.setdefault((pid, tid), name)
        return tid

    def _group_row(self, track: Track) -> TraceRow:
        """A row for a track without a process (cores, messages), in a made-up process named after its top track."""
        top = track
        while top.parent >= 0:
            top = self.capture.tracks[top.parent]
        pid = self._group_pids.get(top.index)
        if pid is None:
            pid = self._group_pids[top.index] = self._next()
            self.names[pid, None] = top.title
            self.sort_keys[pid, None] = top.sort_key
        core = number_in(track.uri.rpartition("/")[2]) if track.role == "core" else -1
        tid = core if core >= 0 else self._next()
        return TraceRow(pid, self._free_tid(pid, tid, track.uri, track.title))
