"""A recording that grows while a test looks at it: ranges of one process, written as the agent writes them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from warpline.recording.live.snapshots import SnapshotMaker
from warpline.recording.live.ticks import Ticker
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.nvtx import records as nvtx
from warpline.recording.sources.steps import records as steps
from warpline.recording.spool.writer import SpoolWriter

MS = 1_000_000
PID = 7
START = 1_000_000_000


class Maker(SnapshotMaker):
    """Makes snapshots that end with the last range of a recording, not now."""

    def __init__(self, recording: Growing, folder: Path) -> None:
        super().__init__(recording.folder, folder)
        self._recording = recording

    def end_ns(self, session: Session) -> int:
        return self._recording.head_ns


class Ticks(Ticker):
    """Makes ticks that end with the last range of a recording, not now."""

    def __init__(self, recording: Growing, folder: Path) -> None:
        super().__init__(recording.folder, folder)
        self._recording = recording

    def now_ns(self) -> int:
        return self._recording.head_ns


class Growing:
    """A spool directory. Times are ns since the recording's start."""

    def __init__(self, parent: Path, ring_ns: int = 0) -> None:
        self.folder = parent / "x.h5.spool"
        self.folder.mkdir()
        self._session = Session(
            directory=self.folder,
            output=parent / "x.h5",
            command=("x",),
            working_directory="/",
            start_monotonic_ns=START,
            start_realtime_ns=START,
            recorder_pid=1,
            target_pid=PID,
            options=RecordingOptions(trace=("nvtx",), ring_ns=ring_ns),
        )
        self._session.save()
        path = self.folder / f"agent.{PID}.1.spool"
        self._writer = SpoolWriter(path, "agent")
        with path.open("r+b") as file:
            file.seek(12)
            file.write(struct.pack("<I", PID))
        self._number = 0
        self.head_ns = START

    def add(self, name: str, start_ms: int, stop_ms: int) -> None:
        """Add a range that has ended."""
        self._number += 1
        self.head_ns = max(self.head_ns, START + stop_ms * MS)
        start, end = np.zeros(1, nvtx.nvtx_start), np.zeros(1, nvtx.nvtx_end)
        start["range"] = end["range"] = self._number
        start["name"] = self._writer.string(name)
        start["time_ns"], end["time_ns"] = START + start_ms * MS, START + stop_ms * MS
        self._writer.append(nvtx.NVTX_START, start)
        self._writer.append(nvtx.NVTX_END, end)

    def push(self, name: str, time_ns: int, *, thread: int, level: int) -> None:
        """Begin a range of a thread inside those that are open there."""
        self._put(name, time_ns, thread, level)

    def pop(self, time_ns: int, *, thread: int, level: int) -> None:
        """End the innermost range of a thread, which is at this level."""
        self._put("", time_ns, thread, level)

    def mark(self, name: str, time_ns: int) -> None:
        """Add a moment, which may be long ago."""
        mark = np.zeros(1, nvtx.nvtx_range_attributes)
        mark["name"], mark["time_ns"] = self._writer.string(name), START + time_ns
        self._writer.append(nvtx.NVTX_MARK, mark)

    def forward(self, start_ns: int, stop_ns: int) -> None:
        """Add a forward pass, which is recorded when it has ended."""
        self.head_ns = max(self.head_ns, START + stop_ns)
        record = np.zeros(1, steps.framework_range)
        record["start_ns"], record["end_ns"] = START + start_ns, START + stop_ns
        record["kind"] = steps.RangeKind.FORWARD
        self._writer.append(steps.FRAMEWORK_RANGE, record)

    def _put(self, name: str, time_ns: int, thread: int, level: int) -> None:
        self.head_ns = max(self.head_ns, START + time_ns)
        record = np.zeros(1, nvtx.nvtx_range)
        record["time_ns"], record["level"] = START + time_ns, level
        record["name"] = self._writer.string(name) if name else nvtx.POP
        self._writer._tid = 1_000 + thread
        self._writer.append(nvtx.NVTX_RANGE, record, free=thread)

    def finish(self, stop_ms: int) -> None:
        """End the recording."""
        self._writer.close()
        replace(self._session, stop_monotonic_ns=START + stop_ms * MS).save()
