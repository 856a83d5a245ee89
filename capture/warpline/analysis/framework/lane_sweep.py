"""Measures how long classes of events ran together, in one compiled sweep over sorted lanes.

Where it is not compiled, callers sort interval borders instead (`warpline.analysis.structure.overlap`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]

NONE = 255
"""Class of ignored events."""
_MAX_CLASSES_OF_SETS = 16
_FARTHEST_NS = 1 << 61


@dataclass(frozen=True, eq=False)
class TimesTogether:
    """Times in int64 ns.

    ``sets`` splits the range by the set of running classes (2^classes entries, bit *i* for class *i*; empty for more
    than 16 classes; with cuts, one row for each part between them), ``numbers`` by the number of running classes.
    ``busy`` is the time of each class.
    """

    sets: Int64Array
    numbers: Int64Array
    busy: Int64Array


class _Cuts(ctypes.Structure):
    """``Cuts`` of sweep.c."""

    _fields_ = [("count", INTEGER), ("time", POINTER)]


class _Sweep(ctypes.Structure):
    """``Sweep`` of sweep.c."""

    _fields_ = [
        *((name, POINTER) for name in ("start", "duration", "name", "kind", "table_of_kind", "tables")),
        ("ids", INTEGER),
        *((name, POINTER) for name in ("first", "stop", "offset", "lane_class")),
        *((name, INTEGER) for name in ("lanes", "low", "high", "farthest")),
    ]


def times_together(
    view: View,
    tracks: frozenset[int],
    tables: Mapping[str, UInt8Array],
    classes: int,
    class_of_track: Mapping[int, int] | None = None,
    cuts: Int64Array | None = None,
    compiled: bool = True,
) -> TimesTogether | None:
    """Exact times of classes of events on some tracks in the selected range.

    None where the sweep is not compiled, or where events of a lane overlap (in a damaged file).

    ``tables`` maps each kind to the class (below ``classes``, or `NONE`) of each string id. With ``class_of_track``,
    events have the class of their track, unless ignored, and other tracks are skipped. ``cuts`` are ascending times
    that split the range.
    """
    loops = library() if compiled else None
    events = view.capture.events
    columns = (events.start, events.duration, events.name, events.kind)
    if loops is None or not all(column.dtype.isnative and column.flags.c_contiguous for column in columns):
        return None
    view.check_cancelled()
    wanted = tracks if class_of_track is None else tracks & class_of_track.keys()
    spans = view.lane_spans(wanted)
    first, stop, offset = (
        np.ascontiguousarray(column) for column in (spans.first, spans.stop, spans.offset_ns)
    )
    ids = max(len(view.capture.strings), 1)
    table_of_kind = np.full(256, NONE, np.uint8)
    joined = np.full((len(tables) + 1, ids), NONE, np.uint8)
    for number, (kind, table) in enumerate(tables.items()):
        if kind in view.capture.kinds:
            table_of_kind[view.capture.kinds[kind].code] = number
            joined[number, : len(table)] = table
    joined[:, ~view.selected_names(ids)] = NONE
    lane_class = None
    if class_of_track is not None:
        lane_class = np.array([class_of_track[track] for track in spans.track.tolist()], np.int32)
    times = np.empty(0, np.int64) if cuts is None else np.ascontiguousarray(cuts, np.int64)
    sets = np.zeros((len(times) + 1, 1 << classes if classes <= _MAX_CLASSES_OF_SETS else 0), np.int64)
    numbers, busy = np.zeros(classes + 1, np.int64), np.zeros(classes, np.int64)
    sweep = _Sweep(
        *(address(column) for column in (*columns, table_of_kind, joined)),
        ids,
        *(address(column) for column in (first, stop, offset)),
        None if lane_class is None else address(lane_class),
        len(spans),
        view.start_ns,
        view.stop_ns,
        _FARTHEST_NS,
    )
    is_done = loops.warpline_sweep(
        ctypes.byref(sweep),
        classes,
        ctypes.byref(_Cuts(len(times), address(times))),
        address(sets) if sets.size else None,
        address(numbers),
        address(busy),
    )
    return TimesTogether(sets[0] if cuts is None else sets, numbers, busy) if is_done else None
