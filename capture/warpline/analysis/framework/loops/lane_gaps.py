"""When nothing ran on some lanes: one compiled merge of them, whose columns are read in place."""

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
    """(start, stop, row) int64 of each stretch of the selected range in which no event of these kinds runs on some
    tracks, by time; the row is that of the event that ends it, the first of those that begin together, or −1 where the
    range ends. None where that is not compiled, and where a lane is not sorted, in a damaged file.
    """
    found = library()
    events = view.capture.events
    columns: tuple[npt.NDArray[Any], ...] = (events.start, events.duration, events.name, events.kind)
    if found is None or not all(column.dtype.isnative and column.flags.c_contiguous for column in columns):
        return None
    view.check_cancelled()
    spans = [span for _, span in view.lane_spans(tracks & view.tracks)]
    lanes = [
        np.array([getattr(span, name) for span in spans], np.int64) for name in ("first", "stop", "offset_ns")
    ]
    is_kind = np.zeros(256, np.uint8)
    is_kind[[view.capture.kinds[kind].code for kind in kinds if kind in view.capture.kinds]] = 1
    ids = max(len(view.capture.strings), 1)
    is_name = None
    if view.selection.names is not None:
        is_name = np.zeros(ids, np.uint8)
        is_name[[name for name in view.selection.names if name < ids]] = 1
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
    count = found.warpline_gaps(ctypes.byref(merge), ctypes.byref(_Gaps(*map(address, gaps), room)))
    if count < 0:
        return None
    start, stop, row = (column[:count] for column in gaps)
    return start, stop, row
