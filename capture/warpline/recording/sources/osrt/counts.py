"""Turns counts of short calls into events of the kind ``call_count`` below each thread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpline.model import Flag
from warpline.model.waits import FUNCTION_NAMES
from warpline.recording.agent import records
from warpline.recording.agent.waits import stacks_or_callers
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.symbols.callers import CallerNames
from warpline.storage import NO_STACK, CaptureBuilder


def add_counts(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add an instant for each record of calls that have no stack of their own: how many, and their bytes."""
    callers = CallerNames()
    names = builder.strings([FUNCTION_NAMES.get(code, f"call {code}") for code in range(256)])
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        counts = spool.records(records.OSRT_COUNT, records.osrt_count)
        moment = counts.values["time_ns"].astype(np.int64)
        kept = np.flatnonzero((moment >= translation.start_ns) & (moment < translation.stop_ns))
        if not len(kept):
            continue
        values, moment = counts.values[kept], moment[kept]
        stack, place = stacks_or_callers(spool, builder, values["stack"], values["caller"], callers)
        thread = translation.threads.lookup(spool.header.pid, counts.tid[kept], moment)
        for index in np.unique(thread[thread >= 0]).tolist():
            own = np.flatnonzero(thread == index)
            builder.add_events(
                translation.below_thread(index, "osrt"),
                "call_count",
                translation.capture_time(moment[own]),
                np.zeros(len(own), np.int64),
                names[np.minimum(values["function"][own], 255)],
                flags=np.full(len(own), Flag.INSTANT, np.uint8),
                attributes={
                    "count": values["count"][own].astype(np.int64),
                    "bytes": values["bytes"][own].astype(np.int64),
                    "place": np.ma.MaskedArray(place[own], place[own] == 0),
                    "stack": np.ma.MaskedArray(stack[own], stack[own] == NO_STACK),
                },
            )
