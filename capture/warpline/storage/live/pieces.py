"""Joins the lanes of consecutive parts of a recording: which rows follow others, which continue across a border."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model.flags import Flag
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.live.tables import Places

Int64Array = npt.NDArray[np.int64]

_Values = tuple[int, int, int, int, int]
_CUT_START, _CUT_END = int(Flag.CUT_START), int(Flag.CUT_END)


@dataclass(frozen=True)
class PartEvents:
    """The events of a part in the form of the joint capture: times since the recording's start, shared ids.

    ``keys`` has track and depth of each lane.
    """

    events: Events
    keys: list[tuple[int, int]]

    @staticmethod
    def of(places: Places, zero_ns: int) -> PartEvents:
        """The events of a capture whose own times count from ``zero_ns``."""
        capture, own = places.capture, places.capture.events
        lanes, shifts = capture.lanes, zero_ns - capture.lane_offset_ns
        start = own.start
        if shifts.any():
            start = start + np.repeat(shifts, lanes.count)
        name, kind = own.name, own.kind
        if not places.is_shared:
            name, kind = places.name.take(name, mode="clip"), places.kind.take(kind)
        keys = list(zip(places.track[lanes.track].tolist(), lanes.depth.tolist(), strict=True))
        return PartEvents(Events(start, own.duration, name, kind, own.flags), keys)


@dataclass(frozen=True)
class LivePart:
    """A capture of the recording from ``base_ns`` to ``head_ns``, times that count from the recording's start.

    What starts at ``stop_ns`` or later is left to the next part, which begins there. The capture's own times count
    from ``zero_ns``.
    """

    places: Places
    mine: PartEvents
    base_ns: int
    head_ns: int
    stop_ns: int
    zero_ns: int

    @cached_property
    def count(self) -> int:
        """Number of its events."""
        return int(self.places.capture.lanes.count.sum())

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """First row of each lane, and the end of the rows that are not left to the next part."""
        lanes, start = self.places.capture.lanes, self.mine.events.start
        first, stop = lanes.first, lanes.first + lanes.count
        for lane in np.flatnonzero(start[stop - 1] >= self.stop_ns).tolist():
            stop[lane] = first[lane] + start[first[lane] : stop[lane]].searchsorted(self.stop_ns)
        return list(zip(first.tolist(), stop.tolist(), strict=True))

    @cached_property
    def first_events(self) -> list[_Values]:
        """Start, stop, kind, name and flags of the first event of each lane."""
        return self._events_at([first for first, _stop in self.runs])

    @cached_property
    def last_events(self) -> list[_Values]:
        """The same of the last event before the next part; of the first one in a lane that has none."""
        return self._events_at([max(first, stop - 1) for first, stop in self.runs])

    def _events_at(self, rows: list[int]) -> list[_Values]:
        events = self.mine.events
        start = events.start[rows]
        columns = (
            start,
            start + events.duration[rows],
            events.kind[rows],
            events.name[rows],
            events.flags[rows],
        )
        return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True)
class LanePiece:
    """Rows [first, stop) of a part, which have the rows from ``row`` on."""

    part: int
    first: int
    stop: int
    row: int


@dataclass
class _Last:
    """The last event of a lane so far."""

    row: int
    start_ns: int
    stop_ns: int
    kind: int
    name: int
    flags: int
    is_changed: bool = False


@dataclass
class Joint:
    """The lanes of all parts."""

    pieces: list[LanePiece] = field(default_factory=list)
    track: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    changed: list[_Last] = field(default_factory=list)
    """Events that are longer than in their piece, or end elsewhere"""
    count: int = 0

    @property
    def lanes(self) -> Lanes:
        """The directory of the lanes."""
        first = np.array(self.first, np.int64)
        return Lanes(
            np.array(self.track, np.uint32),
            np.array(self.depth, np.uint32),
            first,
            np.diff(np.append(first, self.count)),
        )


def join_lanes(parts: Sequence[LivePart]) -> Joint:
    """Where each part's rows are in the joint lanes."""
    joint = Joint()
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, part in enumerate(parts):
        for lane, key in enumerate(part.mine.keys):
            lanes.setdefault(key, []).append((number, lane))
    for (track, _depth), members in sorted(lanes.items()):
        before = joint.count
        for last in _join_lane(parts, dict(members), joint):
            if last.is_changed:
                joint.changed.append(last)
        if joint.count > before:
            # A lane whose upper neighbour has gone moves up.
            above = joint.track[-1:] == [track]
            joint.depth.append(joint.depth[-1] + 1 if above else 0)
            joint.track.append(track)
            joint.first.append(before)
    return joint


def _join_lane(parts: Sequence[LivePart], lane_of: dict[int, int], joint: Joint) -> Iterator[_Last]:
    last: _Last | None = None
    for number, part in enumerate(parts):
        lane = lane_of.get(number)
        if lane is None:
            if last is not None and last.flags & _CUT_END and last.stop_ns >= part.base_ns:
                last.stop_ns, last.is_changed = part.head_ns, True
            continue
        first, stop = part.runs[lane]
        here = _Last(0, *part.first_events[lane])
        if last is not None and _goes_on(last, here, part.base_ns):
            first += 1
        elif last is not None and last.stop_ns > here.start_ns:
            last.stop_ns, last.is_changed = here.start_ns, True
        if stop <= first:
            continue
        joint.pieces.append(LanePiece(number, first, stop, joint.count))
        joint.count += stop - first
        if last is not None:
            yield last
        last = _Last(joint.count - 1, *part.last_events[lane])
    if last is not None:
        yield last


def _goes_on(last: _Last, here: _Last, base_ns: int) -> bool:
    """Whether the first event of a part's lane is the rest of the last one before; lengthens that."""
    if here.start_ns != base_ns or here.kind != last.kind or last.stop_ns < base_ns:
        return False
    crosses, is_open = last.stop_ns > base_ns, bool(last.flags & _CUT_END)
    if here.name != last.name:
        # A state that was cut at the border is only a guess there; the part before knows it.
        is_same = bool(here.flags & _CUT_START) and (is_open or (crosses and here.stop_ns == last.stop_ns))
    else:
        is_same = crosses or is_open or bool(here.flags & _CUT_START)
    if is_same:
        last.flags = _flags(last, here)
        last.stop_ns, last.is_changed = here.stop_ns, True
    return is_same


def _flags(last: _Last, here: _Last) -> int:
    """The flags of an event of which one part has the beginning and the next one the rest."""
    kept = last.flags if here.name != last.name else here.flags & ~_CUT_START | last.flags & _CUT_START
    return kept & ~_CUT_END | here.flags & _CUT_END


def joint_events(parts: Sequence[LivePart], joint: Joint) -> Events:
    """The columns of the joint lanes; times count from the recording's start."""

    def joined(name: str, dtype: npt.DTypeLike) -> Any:
        columns = [getattr(part.mine.events, name) for part in parts]
        pieces = [columns[piece.part][piece.first : piece.stop] for piece in joint.pieces]
        return np.concatenate([np.empty(0, dtype), *pieces])

    duration, flags = joined("duration", np.int64), joined("flags", np.uint8)
    for last in joint.changed:
        duration[last.row], flags[last.row] = last.stop_ns - last.start_ns, last.flags
    return Events(
        joined("start", np.int64), duration, joined("name", np.uint32), joined("kind", np.uint8), flags
    )
