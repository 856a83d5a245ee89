"""Finds the operator that launched most of the time of the kernels of a name."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.lane_times import Keys, Places, event_rows, times_by_name
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys, group_sums
from warpline.analysis.structure.attribution import operators_around
from warpline.analysis.structure.kernels import kernel_keys
from warpline.analysis.structure.launches import has_launches

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]

_BATCH = 1 << 18
_MAX_CACHED = 1 << 25
"""Kernels of a capture whose operators are cached, 4 bytes each."""
_CACHED_FROM = 4
"""A selection of at least one kernel in this many looks up all kernels and caches their operators."""
_OPERATORS: WeakKeyDictionary[Capture, UInt32Array] = WeakKeyDictionary()
_LOCK = Lock()


def launching_operators(view: View, names: Int64Array) -> Int64Array | None:
    """For each full kernel name (string id), the operator that launched most of its time in the range.

    Operators are string ids, −1 for none. None when operators or launches were not recorded.
    """
    if not (view.has("operator") and has_launches(view)):
        return None
    n_strings = len(view.capture.strings)
    operators = _operators_of_kernels(view)
    empty = np.empty(0, np.int64)
    parts: list[tuple[Int64Array, Int64Array, Int64Array]] = [(empty, empty, empty)]
    by_name, by_operator = (times_by_name(view, "kernel", keys) for keys in (kernel_keys(view), operators))
    for (name, time), (operator, _) in zip(by_name, by_operator, strict=True):
        known = np.flatnonzero(operator < n_strings)
        parts.append(_pair_totals(name[known], operator[known], time[known]))
    kernel, launcher, total = _pair_totals(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    # The last assignment of a name remains: its largest total, and of equal ones the highest id.
    order = np.argsort(total, kind="stable")
    best = np.full(max(n_strings, 1), -1, np.int64)
    best[kernel[order]] = launcher[order]
    return best[names]


def _pair_totals(
    name: npt.NDArray[np.integer], operator: npt.NDArray[np.integer], time: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The distinct pairs of name and operator, and the sum of their times."""
    key, first = combine_keys(name, operator)
    [total] = group_sums(key, len(first), [time])
    return name[first].astype(np.int64), operator[first].astype(np.int64), total


def _operators_of_kernels(view: View) -> Keys:
    """The operator around the launch of each kernel, by index in the table of kernels.

    A large selection looks up all kernels at once, so that later ones find them cached.
    """
    capture = view.capture
    count = len(capture.kinds["kernel"])
    with _LOCK:
        cached = _OPERATORS.get(capture)
    if cached is None and count <= _MAX_CACHED and view.count("kernel") * _CACHED_FROM >= count:
        parts = (_around(view, slice(at, min(at + _BATCH, count))) for at in range(0, count, _BATCH))
        cached = np.concatenate([np.empty(0, np.uint32), *parts])
        with _LOCK:
            _OPERATORS[capture] = cached
    if cached is not None:
        operators = cached
        return lambda places: operators[places]
    return lambda places: _around(view, places)


def _around(view: View, places: Places) -> UInt32Array:
    view.check_cancelled()
    rows = event_rows(view, "kernel", places)
    rows = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    if (rows[1:] > rows[:-1]).all():
        return operators_around(view, rows)
    distinct, inverse = np.unique(rows, return_inverse=True)
    return operators_around(view, distinct)[inverse]
