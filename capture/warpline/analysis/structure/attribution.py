"""Finds the operator, phase or range around the calls that launched GPU work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import enclosing_rows, places_by_value
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.launches import calls_of_rows, threads_of_tracks

Int64Array = npt.NDArray[np.int64]


def enclosing_of_calls(view: View, thread: Int64Array, times: Int64Array, kinds: Sequence[str]) -> Int64Array:
    """Row of the innermost event of these kinds around moments (capture ns) on threads, −1 for none."""
    rows = np.full(len(times), -1, np.int64)
    if not len(times):
        return rows
    tracks_of = places_by_value(threads_of_tracks(view))
    # Calls may lie before the selected range, so lanes are cut to the calls and not to the selection.
    around = view.other(Selection(int(times.min()), int(times.max()) + 1))
    present = [kind for kind in kinds if kind in view.capture.kinds]
    for number, here in places_by_value(thread).items():
        events = nested_events(around, tracks_of.get(number, ()), present)
        rows[here] = enclosing_rows(events, times[here])
    return rows


def operators_around(view: View, rows: Int64Array) -> npt.NDArray[np.uint32]:
    """Name (string id) of the innermost operator around the launch of each GPU event (rows, ascending).

    The number of the capture's strings stands for none.
    """
    names = np.full(len(rows), len(view.capture.strings), np.uint32)
    work, thread, start, _ = calls_of_rows(view, rows)
    operators = enclosing_of_calls(view, thread, start, ("operator",))
    is_known = operators >= 0
    names[np.searchsorted(rows, work[is_known])] = view.names(operators[is_known])
    return names
