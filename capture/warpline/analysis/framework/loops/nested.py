"""Sums over events that nest on a thread: one compiled pass in the order of time, whose columns are read in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.entries import ENTRY, EntryTable, copied
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import Span, View
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
_FARTHEST_NS = 1 << 61
_SOME, _NO_KIND = 254, 255
FELT = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("row", "index", "place", "start", "level", "children"),
            *("works", "work_start", "work_stop"),
        )
    ]
)
"""``Felt`` of nested.h: an event inside of which work was launched; ``place`` is in the order of lanes, ``index`` in
the table of its kind, ``works`` how many there are, from the start of the first to the end of the last of them.
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


class _Found(ctypes.Structure):
    """``Found`` of nested.h."""

    _fields_ = [
        *(("entries", POINTER), ("count", INTEGER), ("levels", INTEGER), ("complete", INTEGER)),
        *(("felt", POINTER), ("felt_count", INTEGER)),
    ]


@dataclass(frozen=True, eq=False)
class Types:
    """Types of the events of a kind, uint8: by name, or where ``by_place`` by their place in the kind's table."""

    kind: str
    codes: npt.NDArray[np.uint8]
    by_place: bool


@dataclass(frozen=True, eq=False)
class Work:
    """GPU work that a thread launched (int64 ns and rows), ordered by ``time`` of the call."""

    time: Int64Array
    work_ns: Int64Array
    start: Int64Array
    row: Int64Array


WITH_PARTS, BY_NAME, BY_CALL = range(3)
"""How events of a type are added up: by name, part and kernel, by name alone, or by name and call in a step."""


@dataclass(frozen=True, eq=False)
class Typed:
    """``types`` of the events, those of which are of interest, and in which of three ways they are added up.

    By call: ``steps`` are starts and stops in the order of time, in which the calls of each name are numbered from 0;
    from ``last`` on they have one number.
    """

    types: Sequence[Types]
    code: int
    way: int = WITH_PARTS
    steps: tuple[Int64Array, Int64Array] = (_NONE, _NONE)
    last: int = 0


@dataclass(frozen=True, eq=False)
class NestedSums:
    """``entries`` (`ENTRY`) and ``felt`` (`FELT`) in no order; of the ``complete`` outer of ``levels`` levels all."""

    entries: npt.NDArray[Any]
    levels: int
    complete: int
    felt: npt.NDArray[Any]


def nested_sums(
    view: View,
    spans: Sequence[Span],
    kinds: Sequence[str],
    work: Work | None = None,
    calls: Span | None = None,
    typed: Typed | None = None,
    paths: tuple[int, int, Int64Array] | None = None,
    bounds: tuple[int, int] | None = None,
    into: tuple[EntryTable, int] | None = None,
) -> NestedSums | None:
    """Sums over the events of some kinds in the lanes of a thread (``spans``, the outermost first); None where that is
    not compiled, and where events of a lane overlap, in a damaged file.

    With ``typed`` those of a type: but by name alone what contains itself directly is one, and of ``calls`` the
    innermost event around each has that much less to itself.
    By path with ``paths``: they (how many are enough, how many there may be) cut levels as in `path_tree.thread_tree`,
    which are no more than the third ([1], which passes at the same time lower for each other). Without either, events
    in which work was launched stand by themselves. Times count inside ``bounds`` (capture ns), by default whole.
    Entries go ``into`` a table, as those of the thread of that number, where there is one.
    """
    found = library()
    events = view.capture.events
    columns: tuple[npt.NDArray[Any], ...] = (events.start, events.duration, events.name, events.kind)
    if found is None or not all(column.dtype.isnative and column.flags.c_contiguous for column in columns):
        return None
    view.check_cancelled()
    lanes = [
        np.array([getattr(span, name) for span in spans], np.int64) for name in ("first", "stop", "offset_ns")
    ]
    typed = typed or Typed((), _BY_PATH if paths else _BY_ITSELF)
    types = typed.types
    if typed.code == _BY_ITSELF:
        types = [Types(kind, np.empty(0, np.uint8), by_place=True) for kind in kinds]
    table_of_kind = np.full(256, _NO_KIND, np.uint8)
    for kind in kinds:
        if kind in view.capture.kinds:
            table_of_kind[view.capture.kinds[kind].code] = _SOME
    place = np.full((len(spans), len(types)), -1, np.int64)
    for number, of in enumerate(types):
        table = view.capture.kinds[of.kind]
        table_of_kind[table.code] = number
        if of.by_place:
            place[:, number] = table.places_of(lanes[0])
    tables = np.array([address(of.codes) for of in types], np.uintp)
    sizes = np.array([len(of.codes) for of in types], np.int64)
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
    result = _Found()
    if not found.warpline_nested(ctypes.byref(nest), ctypes.byref(result)):
        return None
    try:
        if into is None:
            entries = copied(result.entries, result.count, ENTRY)
        else:
            joined, order = into
            joined.add(result.entries, result.count, order, is_tree=paths is not None)
            entries = np.empty(0, ENTRY)
        felt = copied(result.felt, result.felt_count, FELT)
    finally:
        found.warpline_nested_free(ctypes.byref(result))
    return NestedSums(entries, result.levels, result.complete, felt)
