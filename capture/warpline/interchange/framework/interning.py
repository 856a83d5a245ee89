"""Memory for compiled loops that number pieces of text (``native/intern.h``), and what they leave in it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SHARED_SOURCES = Path(__file__).parent / "native"
"""C that the libraries of several formats are made from."""


def at(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    """The address of a contiguous array; valid while the array lives."""
    return ctypes.c_void_p(array.ctypes.data)


def slot_count(count: int) -> int:
    """How large the hash table for as many entries must be."""
    return max(16, 1 << (2 * count).bit_length())


def pieces(text: bytes | memoryview, spans: npt.NDArray[np.int64]) -> list[bytes]:
    """Pieces of a text by begin and length, int64 [n, 2]."""
    return [bytes(text[begin : begin + length]) for begin, length in spans.tolist()]
