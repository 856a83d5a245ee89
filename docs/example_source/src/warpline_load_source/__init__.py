"""Records the machine's load average: how many threads ran or waited for a core, averaged over a minute."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

SAMPLE = 1000
"""Type of our records. Below 1000 they are Warpline's own."""


class LoadSource(RecordingSource):
    """What `warpline.recording.sources.source.RecordingSource` asks for."""

    name = "load"
    choice = Choice("load", "Load average", "Threads that ran or waited for a core, over a minute")
    title = "Load average of the machine (getloadavg)"
    record_types = frozenset({SAMPLE})
    timed_records = ((SAMPLE, 0),)

    def probe(self) -> str:
        """What ``warpline doctor`` tells."""
        try:
            return f"{os.getloadavg()[0]:.2f} now"
        except OSError as error:
            raise Unavailable("the system does not tell its load", "mount /proc") from error

    def open(self, watched: Watched) -> Collector:
        """In the recorder, before the program begins."""
        from warpline_load_source.collect import LoadCollector

        return LoadCollector(watched)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        """After the recording, or after a crash."""
        from warpline_load_source.translate import translate

        translate(translation, spools, builder)


source = LoadSource()
