"""Events of a selection as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectedEvents:
    """Events as columns of equal length, ordered by row.

    ``row`` int64, ``index`` int64 (index in the table of their kind, −1 if unknown), ``start`` int64 capture ns,
    ``duration`` int64 ns as recorded, ``inside`` int64 ns of it within the selected range, ``name`` uint32 string id.
    """

    row: Int64Array
    index: Int64Array
    start: Int64Array
    duration: Int64Array
    inside: Int64Array
    name: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def stop(self) -> Int64Array:
        """Ends in capture ns."""
        return self.start + self.duration

    def take(self, index: npt.NDArray[Any]) -> SelectedEvents:
        """The events at an index or mask."""
        return SelectedEvents(**{item.name: getattr(self, item.name)[index] for item in fields(self)})


def join_events(parts: Sequence[SelectedEvents]) -> SelectedEvents:
    """The sets of events concatenated."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        empty = np.empty(0, np.int64)
        return SelectedEvents(
            row=empty, index=empty, start=empty, duration=empty, inside=empty, name=np.empty(0, np.uint32)
        )
    names = [item.name for item in fields(SelectedEvents)]
    return SelectedEvents(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
