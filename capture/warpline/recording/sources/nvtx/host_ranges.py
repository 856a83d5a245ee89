"""Push/pop ranges of a process, for the source that projects them onto GPU streams."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.recording.sources.host_ranges import HostRangeReader, HostRanges
from warpline.recording.sources.nvtx.pairing import match_push_pop, push_pop_records, push_pop_serials
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation


class PushPopReader(HostRangeReader):
    """Reads the ranges that threads push and pop."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation

    def has_ranges(self, spool: SpoolFile) -> bool:
        return bool(push_pop_serials(spool))

    def read(self, spool: SpoolFile) -> tuple[HostRanges, npt.NDArray[np.int64]]:
        translation = self._translation
        since_ns = max(translation.start_ns, spool.header.monotonic_ns)
        resumes = translation.pauses[:, 1] + translation.start_ns
        ranges = match_push_pop(push_pop_records(spool), since_ns, translation.stop_ns, resumes)
        named = np.flatnonzero(ranges.name > 0)
        start_ns = ranges.start_ns[named]
        thread = translation.threads.lookup(spool.header.pid, ranges.tid[named], start_ns)
        return HostRanges(thread, start_ns, ranges.stop_ns[named]), ranges.name[named]
