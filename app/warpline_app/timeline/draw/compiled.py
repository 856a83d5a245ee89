"""The compiled inner loops of lines and pixels (``native/lines.c``): same results as numpy, several times faster.

Each loop has a numpy twin in `lines` or `compositor`, used where the library is missing. Arrays must be C-contiguous
with exactly the named types; the caller checks indices.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.compiled import Signatures, load
from warpline.platform.systems import library_file

Array = npt.NDArray[Any]

LIBRARY = Path(__file__).parent / library_file("lines")

BAR = np.dtype(
    [
        *((name, np.int64) for name in ("top", "height", "clip")),
        ("looks", np.uintp),
        *((name, np.int64) for name in ("columns", "room")),
    ]
)
"""``Bar`` of lines.c."""
BAND = np.dtype([("first", np.int64), ("last", np.int64), ("rgb", np.int64)])
"""``Band`` of lines.c."""

GROUP = np.dtype(
    [
        *((name, np.uintp) for name in ("start", "duration", "row", "before", "longest_of")),
        *((name, np.int64) for name in ("count", "longest", "code")),
    ]
)
"""``Group`` of lines.c."""

_Pointer = ctypes.c_void_p
_Integer = ctypes.c_int64
_Real = ctypes.c_double


class CBoxes(ctypes.Structure):
    """``Boxes`` of lines.c."""

    _fields_ = [
        *((name, _Pointer) for name in ("line", "start", "stop", "color", "dim", "flags")),
        ("count", _Integer),
        ("hatched", _Pointer),
        ("start_ns", _Integer),
        ("px_per_ns", _Real),
        ("hair", _Real),
        ("phase", _Integer),
    ]


class CFound(ctypes.Structure):
    """``Found`` of lines.c."""

    _fields_ = [
        *((name, _Pointer) for name in ("line", "row", "start", "stop")),
        ("capacity", _Integer),
        ("count", _Integer),
    ]


class Area(ctypes.Structure):
    """``Area`` of lines.c."""

    _fields_ = [
        ("values", _Pointer),
        *((name, _Integer) for name in ("top", "height", "clip", "step", "fill", "outline")),
    ]


class CFrame(ctypes.Structure):
    """``Frame`` of lines.c."""

    _fields_ = [
        ("pixels", _Pointer),
        *((name, _Integer) for name in ("stride", "height", "first", "stop")),
    ]


SIGNATURES: Signatures = {
    "warpline_density": (
        None,
        [_Integer, _Integer, *[_Pointer] * 6, _Integer, _Integer, _Pointer],
    ),
    "warpline_boxes": (None, [_Pointer, _Pointer, _Integer]),
    "warpline_groups": (
        None,
        [_Pointer, *[_Integer] * 3, _Real, _Integer, *[_Pointer] * 4],
    ),
    "warpline_bars": (None, [_Pointer, _Pointer, _Integer, _Pointer, _Integer, *[_Pointer] * 3]),
    "warpline_bands": (None, [_Pointer, _Pointer, _Integer, _Pointer, _Integer, ctypes.c_uint32]),
    "warpline_area": (None, [_Pointer, _Pointer]),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loops, or None."""
    return load(LIBRARY, SIGNATURES)


def fits(array: Array, dtype: npt.DTypeLike) -> bool:
    """Whether compiled code can read a column in place."""
    return array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned
