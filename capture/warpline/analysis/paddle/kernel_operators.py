"""Which operator launched most of the time of the kernels of a name."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.lane_times import Keys, Places, event_rows, times_by_name
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys
from warpline.analysis.structure.attribution import enclosing_of_launches, operators_around
from warpline.analysis.structure.kernels import full_names, kernel_keys
from warpline.analysis.structure.launches import has_launches, launch_of_each
from warpline.compiled import address

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]

_PIECE = 1 << 18
_MOST_KEPT = 1 << 25
"""Kernels of a capture whose operators are kept in memory, 4 bytes for each."""
_WORTH_KEEPING = 4
"""A selection of one kernel in so many looks up all of them, and those that follow find them."""
_MOST_PAIRS = 1 << 23
_KNOWN: WeakKeyDictionary[Capture, UInt32Array] = WeakKeyDictionary()
_LOCK = Lock()


def launching_operators(view: View, names: Int64Array, compiled: bool = True) -> Int64Array | None:
    """For each full name of kernels (string ids) the operator that launched most of their time in the range: a string
    id, −1 for none. None when operators or launches were not recorded.
    """
    if not (view.has("operator") and has_launches(view)):
        return None
    best = _in_place(view, names) if compiled else None
    return _by_launches(view, names) if best is None else best


def _in_place(view: View, names: Int64Array) -> Int64Array | None:
    found = library()
    if found is None:
        return None
    operators = _operators_of_places(view)
    size = len(view.capture.strings) + 1
    row_of, column_of = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    row_of[names] = np.arange(len(names))
    used = np.zeros(size, bool)
    for owner, _ in times_by_name(view, "kernel", operators):
        used[owner] = True
    used[-1] = False
    known = np.flatnonzero(used)
    column_of[known] = np.arange(len(known))
    best = np.full(len(names), -1, np.int64)
    if len(names) * len(known) > _MOST_PAIRS:
        return None
    if not len(known) or not len(names):
        return best
    table = np.full((len(names), len(known)), -1, np.int64)
    by_name, by_operator = (times_by_name(view, "kernel", keys) for keys in (kernel_keys(view), operators))
    for (name, time), (owner, _) in zip(by_name, by_operator, strict=True):
        columns = (
            np.ascontiguousarray(name, np.uint32),
            np.ascontiguousarray(owner, np.uint32),
            np.ascontiguousarray(time, np.int64),
            row_of,
            column_of,
        )
        places = [address(column) for column in columns]
        found.warpline_pair_totals(len(name), *places, len(row_of), len(known), address(table))
    # Of equal ones the last: as sorting leaves them.
    last = len(known) - 1 - np.argmax(table[:, ::-1], axis=1)
    is_launched = table[np.arange(len(names)), last] >= 0
    best[is_launched] = known[last[is_launched]]
    return best


def _operators_of_places(view: View) -> Keys:
    """The operators around the launches of kernels by their places in the table of kernels: those of all at once where
    many are selected, so that the next selection finds them.
    """
    capture = view.capture
    count = len(capture.kinds["kernel"])
    with _LOCK:
        known = _KNOWN.get(capture)
    if known is None and count <= _MOST_KEPT and view.count("kernel") * _WORTH_KEEPING >= count:
        known = np.concatenate(
            [
                np.empty(0, np.uint32),
                *(_around(view, slice(at, min(at + _PIECE, count))) for at in range(0, count, _PIECE)),
            ]
        )
        with _LOCK:
            _KNOWN[capture] = known
    if known is not None:
        kept = known
        return lambda places: kept[places]
    return lambda places: _around(view, places)


def _around(view: View, places: Places) -> UInt32Array:
    view.check_cancelled()
    rows = event_rows(view, "kernel", places)
    rows = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    order = None if (rows[1:] > rows[:-1]).all() else np.unique(rows, return_inverse=True)
    if order is None:
        return operators_around(view, rows)
    return operators_around(view, order[0])[order[1]]


def _by_launches(view: View, names: Int64Array) -> Int64Array:
    """The same from columns of launches."""
    owner = _operator_of_kernels(view)
    name, operator, time = owner
    key, first = combine_keys(name, operator)
    total = np.bincount(key, weights=time, minlength=len(first))
    order = np.argsort(total, kind="stable")
    best = np.full(max(len(view.capture.strings), 1), -1, np.int64)
    best[name[first[order]]] = operator[first[order]]
    return best[names]


def _operator_of_kernels(view: View) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(kernel name, name of the innermost operator around its launch, time in the range) of each launched kernel."""
    names, operators, times = [], [], []
    for events in view.batches("kernel"):
        launches, place = launch_of_each(view, events)
        linked = place >= 0
        if not linked.any():
            continue
        picked = events.take(linked)
        rows = enclosing_of_launches(view, launches.take(place[linked]), ("operator",))
        found = rows >= 0
        names.append(full_names(view, picked)[found].astype(np.int64))
        operators.append(view.names(rows[found]).astype(np.int64))
        times.append(picked.inside[found])
    if not names:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    return np.concatenate(names), np.concatenate(operators), np.concatenate(times)
