"""Joins the sums by key that compiled passes compute for each thread."""

from __future__ import annotations

import ctypes
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
FIGURES = ("count", "cpu", "cpu_min", "cpu_max", "gpu", "gpu_min", "gpu_max", "self_cpu", "self_gpu")
ENTRY = np.dtype([("key", np.int64, 3), *((name, np.int64) for name in (*FIGURES, "place", "kind"))])
"""``Entry`` of entries.h. ``key`` is (operator, part, kernel) with −1 for none, or (operator, kernel, −2) for work
that the operator itself launched; in a tree it is (entry above, name, level). ``kind`` is that of the first event in
lane order.
"""


class _Table(ctypes.Structure):
    """``Table`` of entries.h."""

    _fields_ = [
        *((name, POINTER) for name in ("entries", "slots")),
        ("slot_mask", ctypes.c_uint64),
        *((name, INTEGER) for name in ("count", "room")),
    ]


class EntryTable:
    """The `ENTRY` records of several threads, each key once; the kind comes from the first thread in their order."""

    def __init__(self) -> None:
        self._table = _Table()
        self._library = library()
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._library is not None:
                self._library.warpline_entries_free(ctypes.byref(self._table))
            self._library = None

    def add(self, place: int | None, count: int, order: int, *, is_tree: bool = False) -> None:
        """Add ``count`` entries at an address; callable from any thread. ``order`` is the number of their thread.

        In a tree, the first part of a key is the index of an entry before it. Raises MemoryError, and ValueError if the
        table is closed.
        """
        indices = np.empty(count if is_tree else 0, np.int64)
        new_index = address(indices) if is_tree else None
        with self._lock:
            if self._library is None:
                raise ValueError("the table of entries is closed")
            table = ctypes.byref(self._table)
            if not self._library.warpline_entries_add(table, count, place, new_index, order):
                raise MemoryError

    def entries(self) -> npt.NDArray[Any]:
        """A copy of all entries (`ENTRY`), in no order; in a tree, parents come first."""
        return copied(self._table.entries, self._table.count, ENTRY)


def copied(place: int | None, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A copy of ``count`` records at an address."""
    return np.frombuffer(ctypes.string_at(place, count * dtype.itemsize) if place and count else b"", dtype)
