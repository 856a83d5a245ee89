"""From the spool file to a counter in the capture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpline.recording.spool.gaps import with_gaps
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import CaptureBuilder
from warpline_load_source import SAMPLE

_LAYOUT = np.dtype([("time_ns", "<u8"), ("load", "<f8")])


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Adds the counter; nothing when it was not asked for."""
    for spool in spools:
        # Numbers of record types are ours in our own files only: somebody else's source may have the same.
        if spool.header.producer != "load":
            continue
        samples = spool.records(SAMPLE, _LAYOUT).values
        if len(samples):
            times = translation.capture_time(samples["time_ns"])
            times, loads = with_gaps(times, samples["load"], translation.pauses)
            track = builder.track("load", title="Load average", role="counter")
            builder.add_counter(track, "Load average", "threads", times, loads)
