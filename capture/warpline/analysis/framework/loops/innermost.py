"""The innermost event around moments on threads: a compiled search in lanes, whose columns are read in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
_FARTHEST_NS = 1 << 61


class _Threads(ctypes.Structure):
    """``Threads`` of innermost.c."""

    _fields_ = [
        *((name, POINTER) for name in ("start", "duration", "kind", "wanted")),
        *((name, POINTER) for name in ("lane_of", "first", "stop", "offset", "cursor")),
        ("farthest", INTEGER),
    ]


def innermost_rows(
    view: View, group_of_track: Int64Array, group: Int64Array, times: Int64Array, kinds: Sequence[str]
) -> Int64Array | None:
    """Row of the innermost event of these kinds around each moment (capture ns), −1 for none; None where that is not
    compiled. ``group_of_track`` says for each track of the capture to which of the groups from 0 on it belongs (−1: to
    none), and ``group`` for each moment on which of them it lies.
    """
    found = library()
    events, lanes = view.capture.events, view.capture.lanes
    columns = (events.start, events.duration, events.kind)
    if found is None or not all(column.dtype.isnative and column.flags.c_contiguous for column in columns):
        return None
    view.check_cancelled()
    codes = [view.capture.kinds[kind].code for kind in kinds if kind in view.capture.kinds]
    wanted = np.zeros(256, np.uint8)
    wanted[codes] = 1
    groups = max(int(group_of_track.max(initial=0)), int(group.max(initial=0))) + 1
    owner = group_of_track[np.asarray(lanes.track)] if len(group_of_track) else np.empty(0, np.int64)
    counts = np.asarray(lanes.count).astype(np.int64)
    used = np.flatnonzero((owner >= 0) & (counts > 0))
    used = used[np.lexsort((used, np.asarray(lanes.depth)[used], owner[used]))]
    used = used[[_holds(view, int(lane), kinds) for lane in used]] if len(used) else used
    first = np.asarray(lanes.first).astype(np.int64)[used]
    stop = first + counts[used]
    offset = np.array(
        [view.capture.clock_offset_of_track(int(lanes.track[lane])) for lane in used.tolist()], np.int64
    )
    lane_of = np.searchsorted(owner[used], np.arange(groups + 1)).astype(np.int64)
    cursor = first.copy()
    threads = _Threads(
        *(address(column) for column in (*columns, wanted, lane_of, first, stop, offset, cursor)),
        _FARTHEST_NS,
    )
    of, moments = (np.require(column, np.int64, ["C", "A"]) for column in (group, times))
    rows = np.empty(len(moments), np.int64)
    found.warpline_innermost(
        ctypes.byref(threads), len(moments), address(of), address(moments), address(rows)
    )
    return rows


def _holds(view: View, lane: int, kinds: Sequence[str]) -> bool:
    """Whether a lane has events of these kinds at all."""
    first = int(view.capture.lanes.first[lane])
    stop = first + int(view.capture.lanes.count[lane])
    tables = view.capture.kinds
    return any(kind in tables and tables[kind].count_between(first, stop) > 0 for kind in kinds)
