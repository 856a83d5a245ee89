"""In the recorder: samples into a spool file."""

from __future__ import annotations

import os
import struct
import time

from warpline.model import Source
from warpline.recording.sources.collector import Collector, Watched
from warpline_load_source import SAMPLE

PERIOD_NS = 100_000_000
_SAMPLE = struct.Struct("<Qd")


class LoadCollector(Collector):
    """Takes a sample now and then, unless the recording is paused."""

    period_ns = PERIOD_NS

    def __init__(self, watched: Watched) -> None:
        self._writer = watched.writer("load")
        self._paused = watched.starts_paused
        self._due_ns = 0

    def tick(self) -> None:
        """Called at least every `period_ns`."""
        now = time.monotonic_ns()
        if not self._paused and now >= self._due_ns:
            self._due_ns = now + PERIOD_NS
            self._writer.append_packed(SAMPLE, _SAMPLE.pack(now, os.getloadavg()[0]))
            self.events += 1

    def pause(self) -> None:
        """Nothing until `resume`."""
        self._paused = True

    def resume(self) -> None:
        """Again."""
        self._paused = False

    def close(self) -> None:
        """The recording is over."""
        self._writer.close()

    def report(self) -> Source:
        """What the capture says of this source."""
        return Source("load", True, self._writer.trouble, self._writer.lost)
