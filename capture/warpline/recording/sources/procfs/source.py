"""The source ``procfs``: samples of /proc, for facts without an exact source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.choices import CPU
from warpline.recording.sources.source import RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


class ProcfsSource(RecordingSource):
    """Utilization of cores, CPU time and memory of processes; estimated thread states if no other source has them."""

    name = "procfs"
    choice = CPU
    title = english("Utilization, CPU time, memory; thread states estimated where perf is refused (/proc)")
    short_title = english("CPU load and memory")
    position = 30
    record_types = frozenset({105, 106, 120, 121, 122, 123, 124, 125, 126, 127})
    timed_records = ((105, 0), (106, 0), (120, 0), (121, 0), (122, 0), (123, 8), (125, 0), (126, 0), (127, 0))
    passing_records = ((120, 0, 0), (121, 0, 0), (122, 0, 0), (123, 0, 8), (126, 0, 0))
    life_records = ((105, 16), (106, 20), (125, 24), (127, 8))

    def probe(self) -> str:
        if not os.access(f"/proc/self/task/{os.getpid()}/schedstat", os.R_OK):
            raise Unavailable(english("/proc has no schedstat"), english("mount /proc"))
        return ""

    def open(self, watched: Watched) -> Collector:
        from warpline.recording.sources.procfs.procfs_sampler import ProcfsSampler

        return ProcfsSampler(watched)

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        from warpline.recording.sources.procfs.refinements import CoreWaits, StandstillReasons

        translation.give(StandstillReasons(translation, spools))
        translation.give(CoreWaits(translation, spools))

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.procfs.translate import translate

        translate(translation, spools, builder)


source = ProcfsSource()
