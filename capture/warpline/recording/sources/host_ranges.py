"""Ranges of threads that one source records and another shows on a GPU's streams as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.spool.reader import SpoolFile

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HostRanges:
    """Ranges of one process: int64 [n]; times CLOCK_MONOTONIC ns, ``thread`` as in the translation's threads."""

    thread: Int64Array
    start_ns: Int64Array
    stop_ns: Int64Array


class HostRangeReader:
    """Reads named ranges from spool files; the source that records them passes it on with `Translation.give`."""

    def has_ranges(self, spool: SpoolFile) -> bool:
        """Whether a process's spool file holds any."""
        raise NotImplementedError

    def read(self, spool: SpoolFile) -> tuple[HostRanges, Int64Array]:
        """The ranges of a process's spool file, and the string id of each name in it, int64 [n]."""
        raise NotImplementedError
