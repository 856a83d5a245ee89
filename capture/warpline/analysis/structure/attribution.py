"""For GPU work: the operator, phase or range around its launching call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import enclosing_rows
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.launches import Launches, threads_of_tracks

Int64Array = npt.NDArray[np.int64]


def enclosing_of_launches(view: View, launches: Launches, kinds: Sequence[str]) -> Int64Array:
    """Row of the innermost event of these kinds around each launching call, on its thread; −1 for none."""
    return enclosing_of_calls(view, launches.thread, launches.call_start, kinds)


def enclosing_of_calls(view: View, thread: Int64Array, times: Int64Array, kinds: Sequence[str]) -> Int64Array:
    """Row of the innermost event of these kinds around moments (capture ns) on threads; −1 for none."""
    rows = np.full(len(times), -1, np.int64)
    if not len(times):
        return rows
    # Calls may lie before the selected range, so lanes are cut to the calls and not to the selection.
    around = view.other(Selection(int(times.min()), int(times.max()) + 1))
    threads = threads_of_tracks(view)
    present = [kind for kind in kinds if kind in view.capture.kinds]
    for number in np.unique(thread).tolist():
        tracks = np.flatnonzero(threads == number).tolist()
        lanes = around.lane_events(tracks, present)
        here = np.flatnonzero(thread == number)
        rows[here] = enclosing_rows(lanes, times[here])
    return rows
