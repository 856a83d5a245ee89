"""The links of several parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.links import Links
from warpline.storage.columns.schema import NO_ROW
from warpline.storage.live.pieces import Joint, LivePart

Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]


class JointLinks(Links):
    """Links of all parts, joined when they are first wanted.

    An end that a part left to the next one is found there: the event in the same lane with the same start.
    """

    def __init__(
        self, parts: Sequence[LivePart], joint: Joint, lanes: Lanes, events: Events, kinds: Sequence[str]
    ) -> None:
        self._parts, self._joint, self._lanes, self._events = parts, joint, lanes, events
        self.kinds = tuple(kinds)
        self._n_events = len(events)

    def make_all(self) -> None:
        """Join them now, and release the parts."""
        _ = self._sorted, self._by_to
        self._parts, self._joint = (), Joint()

    def __len__(self) -> int:
        return len(self._from_row)

    @cached_property
    def _sorted(self) -> tuple[Int64Array, Int64Array, UInt8Array]:
        tables = [self._of_part(number) for number in range(len(self._parts))]
        empty = np.empty((0, 3), np.int64)
        links = np.unique(np.concatenate([empty, *tables]), axis=0)
        known_from, known_to = (set(links[links[:, 1 - end] >= 0][:, end].tolist()) for end in (0, 1))
        # Prefer a part that has both ends of a link to one that has only one.
        lone = [
            (source < 0 and target in known_to) or (target < 0 and source in known_from)
            for source, target, _kind in links.tolist()
        ]
        links = links[~np.array(lone, bool)]
        return links[:, 0].copy(), links[:, 1].copy(), links[:, 2].astype(np.uint8)

    @property
    def _from_row(self) -> Int64Array:  # type: ignore[override]
        return self._sorted[0]

    @property
    def _to_row(self) -> Int64Array:  # type: ignore[override]
        return self._sorted[1]

    @property
    def kind(self) -> UInt8Array:  # type: ignore[override]
        return self._sorted[2]

    @cached_property
    def _by_to(self) -> Int64Array:  # type: ignore[override]
        return np.argsort(self._to_row, kind="stable").astype(np.int64)

    def _of_part(self, number: int) -> Int64Array:
        part = self._parts[number]
        links = part.places.capture.links
        if not len(links):
            return np.empty((0, 3), np.int64)
        ends = [self._rows(number, rows) for rows in (links.from_row, links.to_row)]
        table = np.stack([*ends, part.places.link_kind[links.kind].astype(np.int64)], axis=1)
        return table[(table[:, 0] >= 0) | (table[:, 1] >= 0)]

    def _rows(self, number: int, rows: Int64Array) -> Int64Array:
        """The joint rows of a part's rows; −1 outside."""
        own = sorted((piece for piece in self._joint.pieces if piece.part == number), key=lambda p: p.first)
        first, stop, row = (
            np.array([getattr(piece, name) for piece in own], np.int64) for name in ("first", "stop", "row")
        )
        result = np.full(len(rows), NO_ROW, np.int64)
        if own:
            index = np.maximum(first.searchsorted(rows, "right") - 1, 0)
            inside = (rows >= first[index]) & (rows < stop[index])
            result[inside] = (rows + row[index] - first[index])[inside]
        for place in np.flatnonzero((result < 0) & (rows >= 0)).tolist():
            result[place] = self._elsewhere(number, int(rows[place]))
        return result

    def _elsewhere(self, number: int, row: int) -> int:
        """The joint row of an event that another part has."""
        part = self._parts[number]
        capture = part.places.capture
        lane = capture.lane_of_row(row)
        start = int(capture.events.start[row]) - int(capture.lane_offset_ns[lane]) + part.zero_ns
        track, depth = int(part.places.track[capture.lanes.track[lane]]), int(capture.lanes.depth[lane])
        mine = np.flatnonzero((self._lanes.track == track) & (self._lanes.depth == depth))
        if not len(mine):
            return NO_ROW
        run = self._lanes.rows(int(mine[0]))
        starts: Any = self._events.start[run]
        place = int(starts.searchsorted(start, "right")) - 1
        if place < 0:
            return NO_ROW
        found = run.start + place
        is_it = int(starts[place]) == start or start == part.base_ns  # cut where the part begins
        return found if is_it and int(starts[place] + self._events.duration[found]) >= start else NO_ROW
