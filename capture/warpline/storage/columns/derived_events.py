"""What a derived row shows: events of the capture, new events, or values over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.model.derived_rows import DerivedRow
from warpline.storage.columns.counters import Counter

Int64Array = npt.NDArray[np.int64]
COLOR_FAMILIES = frozenset(
    {"kernel", "communication", "copy_to_device", "copy_to_host", "copy_on_device", "set", "sync", "api", "running",
     "runnable", "blocked", "uninterruptible", "overhead", "neutral"}
)  # fmt: skip
"""Colours that a query can name; any other text gets a hue of its own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DerivedEvents:
    """Events by start: ``start`` and ``duration`` int64 capture ns, ``line`` int64 from 0 on.

    ``rows`` are those of the capture's events; None for new events. Of new events, the names are ``names[name]``, the
    colours ``colors[color]`` (a colour family, or any text: equal ones get equal hues); without ``colors`` the name
    gives the colour. Events with different ``tracks[track]`` are in rows of their own; without ``tracks`` in one.
    """

    start: Int64Array
    duration: Int64Array
    line: Int64Array
    rows: Int64Array | None
    name: Int64Array
    names: tuple[str, ...]
    family: str
    """Colour family of events too short for the colour of their name."""
    color: Int64Array | None = None
    colors: tuple[str, ...] = ()
    track: Int64Array | None = None
    tracks: tuple[str, ...] = ()

    def color_family(self, places: Int64Array) -> str:
        """The colour family of events that are too short for a colour of their own: the most frequent one."""
        if self.color is None or not len(places):
            return self.family
        most = self.colors[int(np.bincount(self.color[places]).argmax())]
        return most if most in COLOR_FAMILIES else self.family

    def lines_of(self, track: int | None) -> list[Int64Array]:
        """The places of the events in each line of a track, by start; of all events without one."""
        mine = np.ones(len(self.line), bool) if track is None or self.track is None else self.track == track
        lines = int(self.line[mine].max(initial=0)) + 1
        return [np.flatnonzero(mine & (self.line == line)) for line in range(lines)]


DerivedContent = DerivedEvents | Counter
ShownRow = tuple[DerivedRow, DerivedContent | str]
"""A derived row with what it shows, or why it shows nothing."""
