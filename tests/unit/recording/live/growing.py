"""A recording that grows while a test looks at it: ranges of one process, written as the agent writes them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from warpline.recording.live.snapshots import SnapshotMaker
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.nvtx import records as nvtx
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


class Growing:
    """A spool directory. Times are ns since the recording's start."""

    def __init__(self, parent: Path) -> None:
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
            options=RecordingOptions(trace=("nvtx",)),
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

    def finish(self, stop_ms: int) -> None:
        """End the recording."""
        self._writer.close()
        replace(self._session, stop_monotonic_ns=START + stop_ms * MS).save()
