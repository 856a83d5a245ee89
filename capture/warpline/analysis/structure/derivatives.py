"""Which operator of the backward pass is the derivative of which of the forward pass: links of a capture as columns."""

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
class Derivatives:
    """Linked pairs as columns [n] in the order of ``start``: when the forward operator began (capture ns) and on which
    thread (its index, −2 − track where the track names none), and how long its derivative took (ns).
    """

    start: Int64Array
    thread: Int64Array
    backward_ns: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    def inside(self, thread: int, start: Int64Array, stop: Int64Array) -> Int64Array:
        """Time of the derivatives of the operators that began in stretches [start, stop) of a thread, ns [k]."""
        own = self.thread == thread
        return window_sums(self.backward_ns[own], *windows(self.start[own], start, stop))


def derivatives(view: View) -> Derivatives:
    """All pairs of the capture: backward counts whole, whenever and on whichever thread it ran."""
    links = view.capture.links
    none = np.empty(0, np.int64)
    if FORWARD_BACKWARD not in links.kinds:
        return Derivatives(none, none, none)
    index = np.flatnonzero(links.kind == links.kinds.index(FORWARD_BACKWARD))
    forward, backward = links.from_row[index], links.to_row[index]
    n_events = len(view.capture.events)
    inside = (forward >= 0) & (backward >= 0) & (forward < n_events) & (backward < n_events)
    # An operator that several arrows lead to ran once.
    backward, first = np.unique(backward[inside], return_index=True)
    forward = forward[inside][first]
    start, _stop = view.times_of(forward)
    began, ended = view.times_of(backward)
    order = np.argsort(start, kind="stable")
    thread = threads_of_tracks(view)[view.track_of(forward)]
    return Derivatives(start[order], thread[order], (ended - began)[order])
