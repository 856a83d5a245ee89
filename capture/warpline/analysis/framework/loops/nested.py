"""Sums over events that nest on a thread, by one compiled pass in time order."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.entries import ENTRY, EntryTable, copied
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selected.spans import LaneSpans, Span
from warpline.analysis.framework.selection import View
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
_FARTHEST_NS = 1 << 61
_SOME, _NO_KIND = 254, 255
MOST_LANES = 512
"""With more lanes, callers compute the same from parents: the pass looks at every lane for each event."""
LAUNCHERS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("row", "index", "place", "start", "level", "children"),
            *("works", "work_start", "work_stop"),
        )
    ]
)
"""``Launcher`` of nested.h: an event inside which GPU work was launched. ``place`` is its position in lane order,
``index`` that in the table of its kind; ``works`` is the number of operations, from the first start to the last end.
"""
_BY_PATH, _BY_ITSELF = -1, -2
_NONE = np.empty(0, np.int64)


class _Steps(ctypes.Structure):
    """``Steps`` of nested.h."""

    _fields_ = [("start", POINTER), ("stop", POINTER), ("count", INTEGER), ("last", INTEGER)]


class _Nest(ctypes.Structure):
    """``Nest`` of nested.h."""

    _fields_ = [
        *((name, POINTER) for name in ("start", "duration", "name", "kind", "first", "stop", "offset")),
        *((name, INTEGER) for name in ("lanes", "ids", "farthest", "low", "high")),
        *((name, POINTER) for name in ("table_of_kind", "tables", "sizes", "place")),
        *((name, INTEGER) for name in ("count_of_tables", "call", "call_stop", "call_offset", "call_kind")),
        ("launches", INTEGER),
        *((name, POINTER) for name in ("launch_time", "work_ns", "work_start", "work")),
        *((name, INTEGER) for name in ("type", "way")),
        ("steps", _Steps),
        *((name, INTEGER) for name in ("enough", "limit")),
        ("most_levels", POINTER),
    ]


class _Result(ctypes.Structure):
    """``Result`` of nested.h."""

    _fields_ = [
        *(("entries", POINTER), ("count", INTEGER), ("levels", INTEGER), ("complete", INTEGER)),
        *(("launchers", POINTER), ("launcher_count", INTEGER)),
    ]


@dataclass(frozen=True, eq=False)
class Types:
    """Types of the events of a kind, uint8: by string id, or with ``by_place`` by index in the kind's table."""

    kind: str
    codes: npt.NDArray[np.uint8]
    by_place: bool


@dataclass(frozen=True, eq=False)
class Work:
    """GPU work launched by a thread (int64 ns and rows), ordered by the ``time`` of the call."""

    time: Int64Array
    work_ns: Int64Array
    start: Int64Array
    row: Int64Array


WITH_PARTS, BY_NAME, BY_CALL = range(3)
"""How to group events of a type: by name, part and kernel; by name; by name and number of the call in its step."""


@dataclass(frozen=True, eq=False)
class Typed:
    """Groups events of type ``code`` in one of three ways, given the ``types`` of all events.

    By call: ``steps`` are starts and stops in time order. Calls of each name are numbered from 0 in each step; from
    ``last`` on they share one number.
    """

    types: Sequence[Types]
    code: int
    way: int = WITH_PARTS
    steps: tuple[Int64Array, Int64Array] = (_NONE, _NONE)
    last: int = 0


@dataclass(frozen=True, eq=False)
class NestedSums:
    """``entries`` (`ENTRY`), ``launchers`` (`LAUNCHERS`) in no order; ``complete`` of ``levels`` levels are whole."""

    entries: npt.NDArray[Any]
    levels: int
    complete: int
    launchers: npt.NDArray[Any]


def nested_sums(
    view: View,
    spans: LaneSpans,
    kinds: Sequence[str],
    work: Work | None = None,
    calls: Span | None = None,
    typed: Typed | None = None,
    paths: tuple[int, int, Int64Array] | None = None,
    bounds: tuple[int, int] | None = None,
    into: tuple[EntryTable, int] | None = None,
) -> NestedSums | None:
    """Sums over the events of some kinds in the lanes of a thread (``spans``, the outermost first).

    None where the pass is not compiled, where a thread has more than `MOST_LANES` lanes, or where events of a lane
    overlap (in a damaged file).

    With ``typed``, sums events of one type. An event that directly contains one of its name counts as one call (except
    by name alone), and the time of ``calls`` is subtracted from the innermost event around each.
    With ``paths``, sums by path of names: (paths that are enough, limit, maximum of levels [1]) cut levels as in
    `path_tree.thread_tree`; concurrent passes lower the maximum for each other.
    With neither, lists events inside which work was launched. Times are cut to ``bounds`` (capture ns) if given.
    ``into`` is a table for the entries and the number of their thread.
    """
    loops = library()
    events = view.capture.events
    columns: tuple[npt.NDArray[Any], ...] = (events.start, events.duration, events.name, events.kind)
    is_plain = all(column.dtype.isnative and column.flags.c_contiguous for column in columns)
    if loops is None or not is_plain or len(spans) > MOST_LANES:
        return None
    view.check_cancelled()
    lanes = [np.ascontiguousarray(column) for column in (spans.first, spans.stop, spans.offset_ns)]
    typed = typed or Typed((), _BY_PATH if paths else _BY_ITSELF)
    types = typed.types
    if typed.code == _BY_ITSELF:
        types = [Types(kind, np.empty(0, np.uint8), by_place=True) for kind in kinds]
    table_of_kind = np.full(256, _NO_KIND, np.uint8)
    for kind in kinds:
        if kind in view.capture.kinds:
            table_of_kind[view.capture.kinds[kind].code] = _SOME
    place = np.full((len(spans), len(types)), -1, np.int64)
    for number, kind_types in enumerate(types):
        table = view.capture.kinds[kind_types.kind]
        table_of_kind[table.code] = number
        if kind_types.by_place:
            place[:, number] = table.places_of(lanes[0])
    tables = np.array([address(kind_types.codes) for kind_types in types], np.uintp)
    sizes = np.array([len(kind_types.codes) for kind_types in types], np.int64)
    limits = paths or (0, 0, np.full(1, 1 << 30, np.int64))
    work = work or Work(_NONE, _NONE, _NONE, _NONE)
    launched = [
        np.require(column, np.int64, ["C", "A"]) for column in (work.time, work.work_ns, work.start, work.row)
    ]
    starts, stops = (np.require(column, np.int64, ["C", "A"]) for column in typed.steps)
    whole = np.iinfo(np.int64)
    arrays: tuple[npt.NDArray[Any], ...] = (table_of_kind, tables, sizes, place)
    nest = _Nest(
        *map(address, (*columns, *lanes)),
        len(spans),
        max(len(view.capture.strings), 1),
        _FARTHEST_NS,
        *(bounds or (whole.min, whole.max)),
        *map(address, arrays),
        len(types),
        *((calls.first, calls.stop, calls.offset_ns) if calls else (0, 0, 0)),
        view.capture.kinds["cuda_api"].code if calls else -1,
        len(work.time),
        *map(address, launched),
        typed.code,
        typed.way,
        _Steps(address(starts), address(stops), len(starts), typed.last),
        *(limits[:2]),
        address(limits[2]),
    )
    result = _Result()
    if not loops.warpline_nested(ctypes.byref(nest), ctypes.byref(result)):
        return None
    try:
        if into is None:
            entries = copied(result.entries, result.count, ENTRY)
        else:
            joined, order = into
            joined.add(result.entries, result.count, order, is_tree=paths is not None)
            entries = np.empty(0, ENTRY)
        launchers = copied(result.launchers, result.launcher_count, LAUNCHERS)
    finally:
        loops.warpline_nested_free(ctypes.byref(result))
    return NestedSums(entries, result.levels, result.complete, launchers)
