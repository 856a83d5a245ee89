"""Reports when another profiler in the program had taken over CUPTI, so that Warpline got no records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpline.i18n import english, joined
from warpline.model.times import format_time
from warpline.recording.sources.cuda import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation

_RESOLUTION_NS = 100_000_000
"""How exactly the periods are known: the agent looks four times a second."""


def takeovers_reason(translation: Translation, spools: Sequence[SpoolFile]) -> str:
    """The periods of all processes, in times of the capture, with the cause and the remedy; empty if there are none."""
    gaps = [spool.records(records.CUPTI_GAP, records.cupti_gap).values for spool in spools]
    values = np.unique(np.concatenate([np.zeros(0, np.dtype(records.cupti_gap)), *gaps]))
    starts = np.maximum(translation.capture_time(values["start_ns"].astype(np.int64)), 0)
    stops = translation.capture_time(values["stop_ns"].astype(np.int64))
    return joined(
        "; ",
        (
            english(
                "GPU work from {start} to {stop} was not recorded, because another profiler in the program took CUPTI "
                "over. `warpline record` shares CUPTI with it",
                start=format_time(start, _RESOLUTION_NS),
                stop=format_time(stop, _RESOLUTION_NS),
            )
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ),
    )
