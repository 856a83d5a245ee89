"""Joins the lanes of consecutive parts of a recording: which rows follow each other, which go on across a border."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warpline.model.flags import Flag
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.live.tables import Places

Int64Array = npt.NDArray[np.int64]

_CUT_START, _CUT_END = int(Flag.CUT_START), int(Flag.CUT_END)


@dataclass(frozen=True)
class LivePart:
    """A capture of the recording from ``base_ns`` to ``head_ns``, times that count from the recording's start.

    What starts at ``stop_ns`` or later is left to the next part, which begins there. The capture's own times count
    from ``zero_ns``.
    """

    places: Places
    base_ns: int
    head_ns: int
    stop_ns: int
    zero_ns: int

    @property
    def events(self) -> int:
        """Number of its events."""
        return int(self.places.capture.lanes.count.sum())


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
        own = part.places.capture.lanes
        for lane, (track, depth) in enumerate(
            zip(part.places.track[own.track].tolist(), own.depth.tolist(), strict=True)
        ):
            lanes.setdefault((track, depth), []).append((number, lane))
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
        capture = part.places.capture
        rows, shift = capture.lanes.rows(lane), part.zero_ns - int(capture.lane_offset_ns[lane])
        starts = capture.events.start[rows]
        stop = rows.start + int(starts.searchsorted(part.stop_ns - shift))
        first = rows.start
        if last is not None and _goes_on(last, part, first, shift):
            first += 1
        if last is not None and first == rows.start and last.stop_ns > int(starts[0]) + shift:
            last.stop_ns, last.is_changed = int(starts[0]) + shift, True
        if stop <= first:
            continue
        joint.pieces.append(LanePiece(number, first, stop, joint.count))
        joint.count += stop - first
        if last is not None:
            yield last
        last = _event(part, stop - 1, shift, joint.count - 1)
    if last is not None:
        yield last


def _goes_on(last: _Last, part: LivePart, row: int, shift: int) -> bool:
    """Whether the first event of a part's lane is the rest of the last one before; lengthens that."""
    here = _event(part, row, shift, 0)
    if here.start_ns != part.base_ns or here.kind != last.kind or last.stop_ns < part.base_ns:
        return False
    crosses, is_open = last.stop_ns > part.base_ns, bool(last.flags & _CUT_END)
    if here.name != last.name:
        # A state that was cut at the border is guessed there; the part before knows it.
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


def _event(part: LivePart, row: int, shift: int, joint_row: int) -> _Last:
    events: Events = part.places.capture.events
    start = int(events.start[row]) + shift
    return _Last(
        joint_row,
        start,
        start + int(events.duration[row]),
        int(part.places.kind[events.kind[row]]),
        int(part.places.name[events.name[row]]),
        int(events.flags[row]),
    )


def joint_events(parts: Sequence[LivePart], joint: Joint) -> Events:
    """The columns of the joint lanes; times count from the recording's start."""
    n = joint.count
    start, duration = np.empty(n, np.int64), np.empty(n, np.int64)
    name, kind, flags = np.empty(n, np.uint32), np.empty(n, np.uint8), np.empty(n, np.uint8)
    for piece in joint.pieces:
        places, zero = parts[piece.part].places, parts[piece.part].zero_ns
        capture, own = places.capture, slice(piece.first, piece.stop)
        mine = slice(piece.row, piece.row + piece.stop - piece.first)
        shift = zero - int(capture.lane_offset_ns[capture.lane_of_row(piece.first)])
        np.add(capture.events.start[own], shift, out=start[mine])
        duration[mine] = capture.events.duration[own]
        np.take(places.name, capture.events.name[own], out=name[mine], mode="clip")
        np.take(places.kind, capture.events.kind[own], out=kind[mine])
        flags[mine] = capture.events.flags[own]
    for last in joint.changed:
        duration[last.row], flags[last.row] = last.stop_ns - last.start_ns, last.flags
    return Events(start, duration, name, kind, flags)
