"""What a finding rests on, while it is lit up in the timeline: its stretches, its events, its chain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warpline.frozen import frozen

if TYPE_CHECKING:
    # The window starts without it.
    import numpy as np
    import numpy.typing as npt

    Int64Array = npt.NDArray[np.int64]


@frozen
class LitHop:
    """A link of the chain: the event one goes to (−1: none) and what is said of it, in the user's language."""

    row: int
    text: str


@dataclass(frozen=True, eq=False)
class Lit:
    """What keeps its colour while everything else is quieter.

    ``key`` tells findings apart. ``ranges`` int64 [n, 2] are the instances, start and stop in capture ns, by start;
    ``row_of_range`` int64 [n] the event of each, −1 for none; ``rows`` the events that stay as they are, ascending;
    ``tracks`` where the instances are marked. ``at`` is the instance one is at, −1 before the first step.
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
        """At the next (1) or previous (−1) instance; the first step goes to what is nearest to the view's start."""
        last = len(self.ranges) - 1
        if last < 0:
            return self
        if self.at < 0:
            next_one = int(self.ranges[:, 1].searchsorted(view_start_ns, "right"))
            place = next_one if direction > 0 else next_one - 1
        else:
            place = self.at + direction
        return replace(self, at=min(max(place, 0), last))

    @property
    def instance(self) -> tuple[int, int] | None:
        """The stretch one is at (capture ns)."""
        return None if self.at < 0 else (int(self.ranges[self.at, 0]), int(self.ranges[self.at, 1]))
