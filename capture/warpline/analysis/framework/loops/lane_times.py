"""Names and times of the events of a kind, read in place; only events cut by the range are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selected.spans import LaneSpans
from warpline.analysis.framework.selection import BATCH_EVENTS, View

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
Places = slice | Int64Array
"""Indices in the table of a kind."""
Keys = Callable[[Places], UInt32Array]
"""Gives the string ids that group the events at some places."""
Part = tuple[UInt32Array, Int64Array]

_SMALL = 1 << 16
"""Parts with fewer events are joined."""


def times_by_name(view: View, kind: str, keys: Keys | None = None) -> Iterator[Part]:
    """(string id, time inside the range in ns) of the selected events of a kind, in batches.

    Ids are names, or other ``keys``. If events of a lane overlap (in a damaged file), only its first and last event in
    the range are cut at its ends.
    """
    return _joined_parts(_parts(view, kind, keys or named(view, kind)))


def name_counts(view: View, kind: str, tracks: frozenset[int] | None = None) -> Int64Array:
    """Number of selected events of a kind by name, on some tracks or all: int64 [string ids]."""
    counts = np.zeros(max(len(view.capture.strings), 1), np.int64)
    for first, stop in view.kind_places(kind, tracks).borders:
        for begin in range(first, stop, BATCH_EVENTS):
            view.check_cancelled()
            names = view.names(view.places(kind, begin, min(begin + BATCH_EVENTS, stop)))
            here = np.bincount(names)
            counts[: len(here)] += here
    if view.selection.names is not None:
        counts[~view.selected_names(len(counts))] = 0
    return counts


def named(view: View, kind: str) -> Keys:
    """Keys that are the events' names."""
    return lambda places: view.names(event_rows(view, kind, places))


def event_rows(view: View, kind: str, places: Places) -> Places:
    """Event rows of places in the table of a kind, as an index into columns."""
    if isinstance(places, slice):
        return view.places(kind, places.start, places.stop)
    return view.capture.kinds[kind].rows_at(places)


def _parts(view: View, kind: str, keys: Keys) -> Iterator[Part]:
    if kind not in view.capture.kinds:
        return
    if view.is_whole:
        for first, stop in view.kind_places(kind).borders:
            yield from _inside(view, kind, keys, first, stop)
        return
    lanes = view.lane_places(kind)
    for first, stop in lanes.take(lanes.counts > 2).borders:
        yield from _inside(view, kind, keys, first + 1, stop - 1)
    if len(lanes):
        yield times_of_cut(view, kind, keys, ends_of_lanes(lanes))


def _inside(view: View, kind: str, keys: Keys, first: int, stop: int) -> Iterator[Part]:
    """Parts of places [first, stop), which lie inside the range; may be empty."""
    for begin in range(first, stop, BATCH_EVENTS):
        view.check_cancelled()
        places = slice(begin, min(begin + BATCH_EVENTS, stop))
        rows = event_rows(view, kind, places)
        yield _wanted(view, view.names(rows), keys(places), view.durations(rows))


def ends_of_lanes(lanes: LaneSpans) -> Int64Array:
    """(place, clock offset) of the first and the last place of each lane, int64 [ends, 2]."""
    place = np.stack([lanes.first, lanes.stop - 1], 1).ravel()
    is_other = np.append(True, place[1:] != place[:-1])
    ends: Int64Array = np.stack([place, np.repeat(lanes.offset_ns, 2)], 1)[is_other]
    return ends


def times_of_cut(view: View, kind: str, keys: Keys, cut: Int64Array) -> Part:
    """Times of events that may reach beyond the range; ``cut`` holds (place in the table, clock offset) of each."""
    places, offsets = cut[:, 0], cut[:, 1]
    rows = event_rows(view, kind, places)
    start = view.starts(rows, 0) - offsets
    stop = np.minimum(start + view.durations(rows), view.stop_ns)
    inside = np.maximum(stop - np.maximum(start, view.start_ns), 0)
    return _wanted(view, view.names(rows), keys(places), inside)


def _wanted(view: View, name: UInt32Array, key: UInt32Array, time: Int64Array) -> Part:
    names = view.selection.names
    if names is None:
        return key, time
    keep = np.isin(name, np.fromiter(names, np.uint32, len(names)))
    return key[keep], time[keep]


def _joined_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, with small neighbours joined."""
    waiting: list[Part] = []
    filled = 0
    for part in parts:
        waiting.append(part)
        filled += len(part[0])
        if filled >= _SMALL:
            yield _joined(waiting)
            waiting, filled = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([key for key, _ in parts]), np.concatenate([time for _, time in parts])
