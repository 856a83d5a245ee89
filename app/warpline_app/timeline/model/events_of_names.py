"""All events with certain names in time order, such as those of a highlighted table row."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_CHUNK = 1 << 22
_LATEST: WeakKeyDictionary[Capture, tuple[frozenset[int], Int64Array, Int64Array]] = WeakKeyDictionary()


def instances(capture: Capture, names: frozenset[int]) -> tuple[Int64Array, Int64Array]:
    """(rows, starts in capture ns) of the events with these name ids, by start. The last result is cached."""
    latest = _LATEST.get(capture)
    if latest is not None and latest[0] == names:
        return latest[1], latest[2]
    wanted = np.fromiter(names, np.uint32, len(names))
    column = capture.events.name
    parts = [
        begin + np.flatnonzero(np.isin(column[begin : begin + _CHUNK], wanted))
        for begin in range(0, len(column), _CHUNK)
    ]
    rows = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
    starts = capture.event_times(rows)[0] if len(rows) else np.empty(0, np.int64)
    order = np.argsort(starts, kind="stable")
    _LATEST[capture] = (names, rows[order], starts[order])
    return rows[order], starts[order]


def neighbour(
    capture: Capture, names: frozenset[int], selected: int | None, direction: int, time_ns: int
) -> int | None:
    """The next (1) or previous (−1) event of these names, from the selected one or else from a time; wraps around."""
    rows, starts = instances(capture, names)
    if not len(rows):
        return None
    here = np.flatnonzero(rows == selected) if selected is not None else np.empty(0, np.int64)
    if len(here):
        return int(rows[(int(here[0]) + direction) % len(rows)])
    place = int(np.searchsorted(starts, time_ns, "left"))
    return int(rows[(place if direction > 0 else place - 1) % len(rows)])


def place_among(capture: Capture, names: frozenset[int], row: int) -> tuple[int, int]:
    """The position of an event among those of these names, from 1, and their number."""
    rows, _starts = instances(capture, names)
    return int(np.flatnonzero(rows == row)[0]) + 1, len(rows)


def longest(
    capture: Capture, names: frozenset[int] | None, kind: int, within: tuple[int, int] | None
) -> int | None:
    """The longest event in a time range, of these names (None: any) and of the kind with this code (−1: any)."""
    if names is not None:
        rows, starts = instances(capture, names)
        if kind >= 0 and len(rows):
            keep = capture.events.kind[rows] == kind
            rows, starts = rows[keep], starts[keep]
    elif kind in capture.kind_of_code:
        rows = capture.kinds[capture.kind_of_code[kind]].rows
        starts = capture.event_times(rows)[0]
    else:
        return None
    duration = capture.events.duration[rows]
    if within is not None:
        keep = (starts < within[1]) & (starts + duration > within[0])
        rows, duration = rows[keep], duration[keep]
    return int(rows[int(np.argmax(duration))]) if len(rows) else None
