"""Finds events and names of one capture in another one of the same recording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpline.storage import Capture


def event_in(after: Capture, before: Capture, row: int | None) -> int | None:
    """The row in ``after`` of an event of ``before``: on the same track, with its start, name and kind.

    Times of both count from the same moment. None when there is no such event.
    """
    if row is None:
        return None
    track = before.tracks[int(before.track_of_row(row))]
    try:
        lanes = after.track_lanes(after.track(track.uri).index)
    except KeyError:
        return None
    start = before.event_span(row)[0]
    wanted = _identity(before, row)
    for lane in lanes:
        rows = after.lane_slice(lane, start, start + 1)
        for candidate in range(rows.start, rows.stop):
            if after.event_span(candidate)[0] == start and _identity(after, candidate) == wanted:
                return candidate
    return None


def names_in(after: Capture, before: Capture, names: Iterable[int]) -> frozenset[int]:
    """The name ids in ``after`` of names of ``before``."""
    found = (after.strings.id(before.strings[name]) for name in names)
    return frozenset(name for name in found if name is not None)


def _identity(capture: Capture, row: int) -> tuple[str, str]:
    events = capture.events
    kind = capture.kind_of_code.get(int(events.kind[row]), "")
    return capture.strings[int(events.name[row])], kind
