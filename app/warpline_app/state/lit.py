"""The highlighted evidence of a finding: its occurrences, their events, and the chain that links them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # numpy is not imported at window start.
    import numpy as np
    import numpy.typing as npt

    Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LitHop:
    """A step of a finding's chain: the event it leads to (−1: none) and its description in the user's language."""

    row: int
    text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Lit:
    """Evidence that keeps its colour while everything else is dimmed.

    ``key`` identifies the finding. ``ranges`` int64 [n, 2] holds the instances (start and stop in capture ns) by start;
    ``row_of_range`` int64 [n] the event of each, −1 for none; ``rows`` the events kept in colour, ascending; ``tracks``
    the tracks whose instances are marked. ``at`` is the current instance, −1 before the first step.
    """

    key: str
    title: str
    ranges: Int64Array
    row_of_range: Int64Array
    rows: Int64Array
    tracks: tuple[int, ...]
    hops: tuple[LitHop, ...] = field(default=())
    at: int = -1

    def __len__(self) -> int:
        return len(self.ranges)

    def stepped(self, direction: int, view_start_ns: int) -> Lit:
        """Move to the next (1) or previous (−1) instance; the first step goes to the one nearest the view's start."""
        last = len(self.ranges) - 1
        if last < 0:
            return self
        if self.at < 0:
            next_index = int(self.ranges[:, 1].searchsorted(view_start_ns, "right"))
            index = next_index if direction > 0 else next_index - 1
        else:
            index = self.at + direction
        return replace(self, at=min(max(index, 0), last))

    @property
    def instance(self) -> tuple[int, int] | None:
        """Start and stop of the current instance (capture ns)."""
        return None if self.at < 0 else (int(self.ranges[self.at, 0]), int(self.ranges[self.at, 1]))
