"""Compiled loops that build levels of detail (``native/levels.c``), many times faster than `levels_numpy`."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.model.flags import NOT_BUSY
from warpline.storage.index.level_of_detail import LodLevel
from warpline.storage.index.strip_native import LIBRARY

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]

SIGNATURES: Signatures = {
    "warpline_levels_count": (INTEGER, [POINTER, INTEGER, INTEGER]),
    "warpline_levels_first": (INTEGER, [*[POINTER] * 4, *[INTEGER] * 4, POINTER]),
    "warpline_levels_next": (INTEGER, [POINTER, INTEGER, INTEGER, INTEGER, POINTER]),
}
_NOT_BUSY = INTEGER(int(NOT_BUSY))


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loops, None where they are not compiled."""
    return load(LIBRARY, SIGNATURES)


class _Level(ctypes.Structure):
    """``Level`` of levels.c."""

    _fields_ = [(name, POINTER) for name in ("start", "longest", "rest", "row")]


def are_readable(*columns: Array) -> bool:
    """Whether C can read these columns in place: contiguous, aligned, in native byte order."""
    return all(
        column.dtype.isnative and column.flags.aligned and column.flags.c_contiguous for column in columns
    )


def bin_count(lib: ctypes.CDLL, start: Int64Array, level: int) -> int:
    """Bins of a level in which something starts."""
    return int(lib.warpline_levels_count(address(start), len(start), level))


def level_from_events(
    lib: ctypes.CDLL,
    start: Int64Array,
    duration: Int64Array,
    flags: UInt8Array,
    kind: UInt8Array,
    level: int,
    entries: int,
) -> LodLevel:
    """A level from the columns of a lane; ``entries`` is its `bin_count`.

    It has fewer when the file was rewritten underneath since the bins were counted.
    """
    level_columns = _empty(level, entries)
    filled = lib.warpline_levels_first(
        address(start), address(duration), address(flags), address(kind), len(start), level, _NOT_BUSY, entries,
        ctypes.byref(_pointers(level_columns)),
    )  # fmt: skip
    if filled == entries:
        return level_columns
    return LodLevel(
        level,
        level_columns.start[:filled],
        level_columns.longest[:filled],
        level_columns.rest[:filled],
        level_columns.row[:filled],
    )


def coarser(lib: ctypes.CDLL, finer: LodLevel, level: int, entries: int) -> LodLevel:
    """A level from a finer one; ``entries`` is the `bin_count` of its starts."""
    level_columns = _empty(level, entries)
    lib.warpline_levels_next(
        ctypes.byref(_pointers(finer)),
        len(finer.start),
        level,
        _NOT_BUSY,
        ctypes.byref(_pointers(level_columns)),
    )
    return level_columns


def _empty(level: int, entries: int) -> LodLevel:
    return LodLevel(
        level,
        np.empty(entries, np.int64),
        np.empty(entries, np.uint64),
        np.empty(entries, np.uint32),
        np.empty(entries, np.uint32),
    )


def _pointers(level: LodLevel) -> _Level:
    return _Level(*(address(column) for column in (level.start, level.longest, level.rest, level.row)))
