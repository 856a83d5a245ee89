"""The source ``perf``: context switches from the kernel's perf events."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.choices import CPU
from warpline.recording.sources.facts import THREAD_STATES
from warpline.recording.sources.source import RecordingSource

if TYPE_CHECKING:
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


class PerfSource(RecordingSource):
    """Exact thread states and cores."""

    name = "perf"
    choice = CPU
    title = english("Thread states and cores, exact (perf events)")
    short_title = english("Thread states and cores")
    position = 10
    provides = frozenset({THREAD_STATES})
    without = english("thread states are estimated")
    record_types = frozenset({100, 101, 102, 103, 104})
    timed_records = ((100, 16), (101, 0), (102, 0), (103, 0), (104, 0))
    passing_records = ((100, 16, 16),)
    life_records = ((102, 12), (103, 12), (104, 12))

    def probe(self) -> str:
        """Open and close the events for our own process."""
        from warpline.recording.perf_events.rings import open_rings, paranoid_level

        for ring in open_rings(os.getpid(), enable_on_exec=True):
            ring.close()
        return f"kernel.perf_event_paranoid = {paranoid_level()}"

    def open(self, watched: Watched) -> Collector:
        from warpline.recording.sources.perf.collect import PerfCollector

        return PerfCollector(watched)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.perf.translate import translate

        translate(translation, spools, builder)


source = PerfSource()
