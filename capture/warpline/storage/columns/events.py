"""The columns of events and the directory of their lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """Columns of all events, ordered by track, lane and start; the index is the event's row.

    ``start`` and ``duration`` int64 ns (start in the clock of the event's track), ``name`` uint32 string ids, ``kind``
    uint8 codes, ``flags`` uint8 `warpline.model.Flag` bits.
    """

    start: Int64Array
    duration: Int64Array
    name: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Lanes:
    """Runs of rows that do not overlap: track, depth on the track, first row and count of each lane.

    Lanes of a track are neighbours, by depth; all lanes are ordered by their first row.
    """

    track: npt.NDArray[np.uint32]
    depth: npt.NDArray[np.uint32]
    first: Int64Array
    count: Int64Array

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, lane: int) -> slice:
        """Rows of a lane."""
        first = int(self.first[lane])
        return slice(first, first + int(self.count[lane]))
