"""Sums over the operators that began in a time range: time of their derivatives, floating-point operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import window_sums, windows
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.model.links import FORWARD_BACKWARD

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OperatorSums:
    """Operators as columns [n] by ``start`` (capture ns): thread index (−2 − track for none) and a quantity."""

    start: Int64Array
    thread: Int64Array
    value: Int64Array

    def inside(self, thread: int, start: Int64Array, stop: Int64Array) -> Int64Array:
        """The sum over the operators of a thread that began in each range [start, stop): int64 [k]."""
        own = self.thread == thread
        return window_sums(self.value[own], *windows(self.start[own], start, stop))


def derivatives(view: View) -> OperatorSums:
    """Forward operators with the whole time of their derivatives (ns), on whichever thread it ran."""
    links = view.capture.links
    none = np.empty(0, np.int64)
    if FORWARD_BACKWARD not in links.kinds:
        return OperatorSums(none, none, none)
    index = np.flatnonzero(links.kind == links.kinds.index(FORWARD_BACKWARD))
    forward, backward = links.from_row[index], links.to_row[index]
    n_events = len(view.capture.events)
    inside = (forward >= 0) & (backward >= 0) & (forward < n_events) & (backward < n_events)
    # Several links may lead to one operator; it ran once.
    backward, first = np.unique(backward[inside], return_index=True)
    forward = forward[inside][first]
    start, _stop = view.times_of(forward)
    backward_start, backward_stop = view.times_of(backward)
    order = np.argsort(start, kind="stable")
    thread = threads_of_tracks(view)[view.track_of(forward)]
    return OperatorSums(start[order], thread[order], (backward_stop - backward_start)[order])


def operator_flops(view: View) -> OperatorSums:
    """Operators with their recorded floating-point operations."""
    none = np.empty(0, np.int64)
    if "operator" not in view.capture.kinds or "flops" not in view.capture.kinds["operator"].attributes:
        return OperatorSums(none, none, none)
    events = view.events("operator")
    flops = np.ma.filled(view.column("operator", "flops", events.index), 0).astype(np.int64)
    events, flops = events.take(flops > 0), flops[flops > 0]
    order = np.argsort(events.start, kind="stable")
    thread = threads_of_tracks(view)[view.track_of(events.row)]
    return OperatorSums(events.start[order], thread[order], flops[order])
