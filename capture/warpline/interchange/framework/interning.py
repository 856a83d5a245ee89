"""Memory for the compiled loops that number pieces of text (``native/intern.h``)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SHARED_SOURCES = Path(__file__).parent / "native"
"""C headers shared by the libraries of several formats."""


def at(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    """The address of a contiguous array; valid while the array lives."""
    return ctypes.c_void_p(array.ctypes.data)


def slot_count(count: int) -> int:
    """The size of a hash table for ``count`` entries."""
    return max(16, 1 << (2 * count).bit_length())


def pieces(text: bytes | memoryview, spans: npt.NDArray[np.int64]) -> list[bytes]:
    """The pieces of a text; ``spans`` holds their begins and lengths, int64 [n, 2]."""
    return [bytes(text[begin : begin + length]) for begin, length in spans.tolist()]
