"""Reads the events of nested lanes, all lanes at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import NestedEvents
from warpline.analysis.framework.selected.spans import LaneSpans, rows_of
from warpline.analysis.framework.selection import View

Int64Array = npt.NDArray[np.int64]
_LONG_RUN = 64
"""Events of a run from which slices are faster than an index of single rows."""


def nested_events(view: View, tracks: Iterable[int], kinds: Sequence[str] | None = None) -> NestedEvents:
    """The events of the lanes of ``tracks`` that overlap the range, outermost depth first; with ``kinds``, only those.

    Lanes without such events are left out. Raises Cancelled like the view.
    """
    spans = view.nested_spans(tracks)
    row = rows_of(spans.first, spans.stop)
    start, stop = times_of_spans(view, spans, row)
    events = NestedEvents(start, stop, row, np.append(0, np.cumsum(spans.counts)))
    if kinds is None:
        return events
    is_wanted = np.zeros(256, bool)
    is_wanted[[view.capture.kinds[kind].code for kind in kinds if kind in view.capture.kinds]] = True
    keep: npt.NDArray[np.bool_] = is_wanted[view.capture.events.kind[row]]
    return events if keep.all() else events.where(keep)


def times_of_spans(view: View, spans: LaneSpans, row: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(start, stop) in capture ns, int64, of the events of lanes; ``row`` are their rows, one lane after the other."""
    runs = spans.joined()
    if len(runs) * _LONG_RUN > len(row):
        start = view.starts(row, 0) - np.repeat(spans.offset_ns, spans.counts)
        return start, start + view.durations(row)
    start, stop, at = np.empty(len(row), np.int64), np.empty(len(row), np.int64), 0
    for run in runs:
        view.check_cancelled()
        place, end = slice(run.first, run.stop), at + run.stop - run.first
        start[at:end] = view.starts(place, run.offset_ns)
        np.add(start[at:end], view.durations(place), out=stop[at:end])
        at = end
    return start, stop
