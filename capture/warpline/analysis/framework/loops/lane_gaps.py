"""Finds gaps in which nothing ran on some lanes, by one compiled merge."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
_FARTHEST_NS = 1 << 61


class _Merge(ctypes.Structure):
    """``Merge`` of gaps.c."""

    _fields_ = [
        *((name, POINTER) for name in ("start", "duration", "name", "kind", "is_kind", "is_name")),
        ("ids", INTEGER),
        *((name, POINTER) for name in ("first", "stop", "offset")),
        *((name, INTEGER) for name in ("lanes", "low", "high", "farthest")),
    ]


class _Gaps(ctypes.Structure):
    """``Gaps`` of gaps.c."""

    _fields_ = [*((name, POINTER) for name in ("start", "stop", "row")), ("room", INTEGER)]


def lane_gaps(
    view: View, tracks: frozenset[int], kinds: Sequence[str]
) -> tuple[Int64Array, Int64Array, Int64Array] | None:
    """(start, stop, row), int64, of each gap in the selected range between events of these kinds on some tracks, by
    time.

    ``row`` is the event that ends the gap (the first of several), or −1 at the end of the range. None where the merge
    is not compiled, or where a lane is not sorted (in a damaged file).
    """
    loops = library()
    events = view.capture.events
    columns: tuple[npt.NDArray[Any], ...] = (events.start, events.duration, events.name, events.kind)
    if loops is None or not all(column.dtype.isnative and column.flags.c_contiguous for column in columns):
        return None
    view.check_cancelled()
    spans = view.lane_spans(tracks & view.tracks)
    lanes = [np.ascontiguousarray(column) for column in (spans.first, spans.stop, spans.offset_ns)]
    is_kind = np.zeros(256, np.uint8)
    is_kind[[view.capture.kinds[kind].code for kind in kinds if kind in view.capture.kinds]] = 1
    ids = max(len(view.capture.strings), 1)
    is_name = None
    if view.selection.names is not None:
        is_name = view.selected_names(ids).astype(np.uint8)
    room = sum(view.count(kind, tracks) for kind in kinds) + 1
    gaps = [np.empty(room, np.int64) for _ in range(3)]
    merge = _Merge(
        *map(address, (*columns, is_kind)),
        None if is_name is None else address(is_name),
        ids,
        *map(address, lanes),
        len(spans),
        view.start_ns,
        view.stop_ns,
        _FARTHEST_NS,
    )
    count = loops.warpline_gaps(ctypes.byref(merge), ctypes.byref(_Gaps(*map(address, gaps), room)))
    if count < 0:
        return None
    start, stop, row = (column[:count] for column in gaps)
    return start, stop, row
