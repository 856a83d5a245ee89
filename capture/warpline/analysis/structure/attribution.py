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
_AT_ONCE = 1 << 18
"""How many events are looked at together."""


def enclosing_of_calls(view: View, thread: Int64Array, times: Int64Array, kinds: Sequence[str]) -> Int64Array:
    """Row of the innermost event of these kinds around moments (capture ns) on threads, −1 for none."""
    rows = np.full(len(times), -1, np.int64)
    present = [kind for kind in kinds if kind in view.capture.kinds]
    if not len(times) or not present:
        return rows
    tracks_of = places_by_value(threads_of_tracks(view))
    for number, here in places_by_value(thread).items():
        tracks = tracks_of.get(number, ())
        for part in _in_parts(view, here, times, present, frozenset(np.asarray(tracks, np.int64).tolist())):
            # Calls may lie before the selected range, so lanes are cut to the calls and not to the selection.
            around = view.other(Selection(int(times[part].min()), int(times[part].max()) + 1))
            rows[part] = enclosing_rows(nested_events(around, tracks, present), times[part])
    return rows


def _in_parts(
    view: View, here: Int64Array, times: Int64Array, kinds: Sequence[str], tracks: frozenset[int]
) -> list[Int64Array]:
    """The moments ``here`` in parts whose events, all of which are read, are not too many at once."""
    around = view.other(Selection(int(times[here].min()), int(times[here].max()) + 1))
    parts = sum(around.count(kind, tracks) for kind in kinds) // _AT_ONCE + 1
    if parts == 1:
        return [here]
    ordered = here[np.argsort(times[here], kind="stable")]
    borders = np.linspace(int(times[ordered[0]]), int(times[ordered[-1]]) + 1, parts + 1)[1:-1]
    return [part for part in np.split(ordered, np.searchsorted(times[ordered], borders)) if len(part)]


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
