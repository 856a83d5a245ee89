"""Some events of a track as columns for statistics and drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

BLOCK = 256
"""Events per entry of ``longest_of``. Same value as in lines.c."""


@dataclass(frozen=True, kw_only=True)
class GroupColumns:
    """Some events of a track, by start; int64, times in capture ns.

    ``before`` is the busy time before each event (one entry more), ``longest_of`` the longest duration in each `BLOCK`
    events, ``longest`` the overall maximum.
    """

    row: Int64Array
    start: Int64Array
    duration: Int64Array
    before: Int64Array
    longest_of: Int64Array
    longest: int

    @classmethod
    def of(cls, row: Int64Array, start: Int64Array, duration: Int64Array) -> GroupColumns:
        """Columns made from rows, starts and durations, which may be empty."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(duration)])
        blocks = np.arange(0, len(duration), BLOCK)
        return cls(
            row=row,
            start=start,
            duration=duration,
            before=before,
            longest_of=np.maximum.reduceat(duration, blocks) if len(duration) else duration,
            longest=int(duration.max(initial=0)),
        )
