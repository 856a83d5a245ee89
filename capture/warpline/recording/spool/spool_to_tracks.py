"""What the translations of all sources share: threads, tracks and times of the capture that is being written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from warpline.model.track_factory import TrackFactory, TrackSpec, thread_title
from warpline.model.track_titles import OTHER_THREAD
from warpline.recording.session import Session
from warpline.recording.spool.threads import ThreadTable, command_title
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

_Given = TypeVar("_Given")
AGENT_THREAD = "warpline-agent"
"""Name of the agent's own thread in programs that use CUDA; it is recorded like any other, but marked."""


@dataclass(kw_only=True)
class Translation:
    """The translation of a recording into a capture.

    ``start_ns`` and ``stop_ns`` are CLOCK_MONOTONIC; capture time is CLOCK_MONOTONIC − ``start_ns``. ``pauses`` are
    capture times int64 [n, 2], sorted and disjoint. ``threads`` knows every thread and process.
    """

    session: Session
    threads: ThreadTable
    builder: CaptureBuilder
    start_ns: int
    stop_ns: int
    pauses: Int64Array = field(default_factory=lambda: np.empty((0, 2), np.int64))
    provided: set[str] = field(default_factory=set)
    """Facts that sources translated so far have recorded exactly (`warpline.recording.sources.facts`)."""
    _given: list[object] = field(default_factory=list)
    tracks: TrackFactory = field(default_factory=TrackFactory)
    _processes: dict[int, int] = field(default_factory=dict)
    _threads: dict[int, int] = field(default_factory=dict)
    _devices: dict[int, tuple[int, str, dict[str, str | int | float]]] = field(default_factory=dict)

    def give(self, value: object) -> None:
        """Pass a value to sources that are translated later."""
        self._given.append(value)

    def given(self, kind: type[_Given]) -> list[_Given]:
        """The passed values of a type, in order."""
        return [value for value in self._given if isinstance(value, kind)]

    def capture_time(self, monotonic_ns: npt.ArrayLike) -> Int64Array:
        """CLOCK_MONOTONIC ns as capture times, int64."""
        return np.asarray(monotonic_ns).astype(np.int64) - self.start_ns

    def process_index(self, process: int) -> int:
        """The capture's index of a process of ``threads``."""
        index = self._processes.get(process)
        if index is None:
            life = self.threads.processes[process]
            is_target = life.pid == self.session.target_pid and life.generation == 1
            command = life.command.replace("\0", " ").strip()
            index = self._processes[process] = self.builder.add_process(
                life.pid,
                name=life.name,
                command=command,
                parent_pid=life.parent_pid,
                start_ns=self._inside(life.start_ns),
                stop_ns=self._inside(life.stop_ns),
                exit_status=self.session.exit_status if is_target else None,
            )
        return index

    def thread_index(self, thread: int) -> int:
        """The capture's index of a thread of ``threads``."""
        index = self._threads.get(thread)
        if index is None:
            life = self.threads.threads[thread]
            index = self._threads[thread] = self.builder.add_thread(
                self.process_index(life.process),
                life.tid,
                name=life.name,
                start_ns=self._inside(life.birth_ns),
                stop_ns=self._inside(life.death_ns),
            )
        return index

    def device_index(self, number: int, name: str, properties: Mapping[str, str | int | float]) -> int:
        """The capture's index of the machine's GPU ``number``.

        Properties from several sources are merged; the first value of each counts.
        """
        known = self._devices.get(number)
        index = self.builder.add_device(number, name) if known is None else known[0]
        name = known[1] if known is not None and known[1] else name
        together = {**properties, **(known[2] if known is not None else {})}
        if known != (index, name, together):
            self._devices[number] = (index, name, together)
            self.builder.update_device(index, name=name, properties=tuple(together.items()))
        return index

    def device_numbers(self) -> dict[str, int]:
        """The machine's numbers of all GPUs known so far, by UUID."""
        return {
            str(properties["uuid"]): number
            for number, (_index, _name, properties) in self._devices.items()
            if properties.get("uuid")
        }

    def process_track(self, process: int) -> int:
        """The track of a process of ``threads``; tracks are sorted by the start of processes."""
        return self.builder.add_track(self._process_spec(process), process=self.process_index(process))

    def process_uri(self, process: int) -> str:
        """The URI of a process's track."""
        return self._process_spec(process).uri

    def thread_uri(self, thread: int) -> str:
        """The URI of a thread's track."""
        return self._thread_spec(thread).uri

    def thread_track(self, thread: int) -> int:
        """The track of a thread of ``threads``, below its process; the main thread comes first."""
        life = self.threads.threads[thread]
        return self.builder.add_track(
            self._thread_spec(thread),
            parent=self.process_track(life.process),
            process=self.process_index(life.process),
            thread=self.thread_index(thread),
        )

    def thread_child(self, thread: int, spec: TrackSpec) -> int:
        """A track below a thread's; its URI continues `thread_uri`."""
        return self.builder.add_track(
            spec,
            parent=self.thread_track(thread),
            process=self.process_index(self.threads.threads[thread].process),
            thread=self.thread_index(thread),
        )

    def below_thread(self, thread: int, path: str, *, role: str = "", title: str = "") -> int:
        """A track below a thread's, as `TrackFactory.below_thread` names it (``state``)."""
        spec = self.tracks.below_thread(self.thread_uri(thread), path, role=role, title=title)
        return self.thread_child(thread, spec)

    def core_track(self, cpu: int) -> int:
        """The track of a core."""
        return self.builder.add_track(
            self.tracks.core(cpu), parent=self.builder.add_track(self.tracks.cores())
        )

    def _process_spec(self, process: int) -> TrackSpec:
        life = self.threads.processes[process]
        title = command_title(life.command, life.name, life.pid)
        return self.tracks.process(life.pid, title, generation=life.generation, place=process)

    def _thread_spec(self, thread: int) -> TrackSpec:
        life = self.threads.threads[thread]
        is_own = life.name == AGENT_THREAD
        return self.tracks.thread(
            self.process_uri(life.process),
            life.tid,
            thread_title(life.name or OTHER_THREAD, life.tid, is_own=is_own),
            generation=life.generation,
            is_first=life.tid == self.threads.processes[life.process].pid,
            is_own=is_own,
            place=thread,
        )

    def _inside(self, monotonic_ns: int | None) -> int | None:
        """Capture time of a birth or death; None when unknown or before the recording."""
        if monotonic_ns is None or monotonic_ns < self.start_ns:
            return None
        return monotonic_ns - self.start_ns
