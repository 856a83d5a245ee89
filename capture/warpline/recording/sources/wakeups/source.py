"""The source ``wakeups``: the kernel's tracepoint sched_waking, which refines the states that perf records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.choices import CPU
from warpline.recording.sources.facts import THREAD_STATES
from warpline.recording.sources.source import RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation


class WakeupSource(RecordingSource):
    """When a blocked thread could run again, and which thread woke it."""

    name = "wakeups"
    choice = CPU
    title = english(
        "Wake-ups: which thread woke which, and waits for a core separate from blocking (tracepoints)"
    )
    short_title = english("Who woke whom")
    position = 20
    record_types = frozenset({107})
    passing_records = ((107, 0, 0),)

    def probe(self) -> str:
        from warpline.recording.sources.collector import Watched
        from warpline.recording.sources.wakeups.collect import WakeupCollector

        with tempfile.TemporaryDirectory() as folder:
            WakeupCollector(Watched(directory=Path(folder), root_pid=os.getpid())).close()
        return ""

    def open(self, watched: Watched) -> Collector:
        from warpline.recording.sources.wakeups.collect import WakeupCollector

        if THREAD_STATES not in watched.provided:
            raise Unavailable(english("there are no exact thread states to refine"))
        collector = WakeupCollector(watched)
        if not watched.starts_paused:
            collector.resume()
        return collector

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        from warpline.recording.sources.wakeups.translate import WakeupRefinement

        translation.give(WakeupRefinement(translation, spools))


source = WakeupSource()
