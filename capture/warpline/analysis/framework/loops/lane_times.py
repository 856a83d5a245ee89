"""Names and times of the events of a kind, with columns read in place: only what a range cuts off is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import BATCH_EVENTS, View

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
Places = slice | Int64Array
"""Places in the table of a kind."""
Keys = Callable[[Places], UInt32Array]
"""String ids by which events at places of the table of a kind are put together."""
Part = tuple[UInt32Array, Int64Array]

_SMALL = 1 << 16
"""Parts with fewer events are put together."""


def times_by_name(view: View, kind: str, keys: Keys | None = None) -> Iterator[Part]:
    """(string id, time inside the range in ns) of the selected events of a kind, in batches.

    The ids are those of the names, or other ``keys``. Where events of a lane overlap, in a damaged file, only the first
    and the last of it in the range are cut off at its ends.
    """
    return _gathered(_parts(view, kind, keys or named(view, kind)))


def name_counts(view: View, kind: str, tracks: frozenset[int] | None = None) -> Int64Array:
    """How many selected events of a kind on some tracks (all) have each name: int64 [string ids]."""
    counts = np.zeros(max(len(view.capture.strings), 1), np.int64)
    for first, stop, _ in view.kind_ranges(kind, tracks):
        for begin in range(first, stop, BATCH_EVENTS):
            view.check_cancelled()
            names = view.names(view.places(kind, begin, min(begin + BATCH_EVENTS, stop)))
            here = np.bincount(names)
            counts[: len(here)] += here
    wanted = view.selection.names
    if wanted is not None:
        others = np.ones(len(counts), bool)
        others[[name for name in wanted if name < len(counts)]] = False
        counts[others] = 0
    return counts


def named(view: View, kind: str) -> Keys:
    """The names of the events themselves."""
    return lambda places: view.names(event_rows(view, kind, places))


def event_rows(view: View, kind: str, places: Places) -> Places:
    """Event rows of places of the table of a kind, as an index into columns."""
    if isinstance(places, slice):
        return view.places(kind, places.start, places.stop)
    return view.capture.kinds[kind].rows_at(places)


def _parts(view: View, kind: str, keys: Keys) -> Iterator[Part]:
    if kind not in view.capture.kinds:
        return
    if view.is_whole:
        for first, stop, _ in view.kind_ranges(kind):
            yield from _inside(view, kind, keys, first, stop)
        return
    cut: list[tuple[int, int]] = []
    for first, stop, offset in view.lane_places(kind):
        cut += [(place, offset) for place in sorted({first, stop - 1})]
        yield from _inside(view, kind, keys, first + 1, stop - 1)
    if cut:
        yield times_of_cut(view, kind, keys, np.array(cut, np.int64))


def _inside(view: View, kind: str, keys: Keys, first: int, stop: int) -> Iterator[Part]:
    """Parts of places [first, stop), all of which lie in the range; there may be none."""
    for begin in range(first, stop, BATCH_EVENTS):
        view.check_cancelled()
        places = slice(begin, min(begin + BATCH_EVENTS, stop))
        rows = event_rows(view, kind, places)
        yield _wanted(view, view.names(rows), keys(places), view.durations(rows))


def times_of_cut(view: View, kind: str, keys: Keys, cut: Int64Array) -> Part:
    """Events that may reach out of the range: ``cut`` has a place in the kind's table and a clock offset each."""
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


def _gathered(parts: Iterable[Part]) -> Iterator[Part]:
    """The same with small neighbours put together."""
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
