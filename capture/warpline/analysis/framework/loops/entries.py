"""Sums by key that compiled passes made of each thread, put together as threads are done."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.compiled import INTEGER, POINTER, address

Int64Array = npt.NDArray[np.int64]
FIGURES = ("count", "cpu", "cpu_min", "cpu_max", "gpu", "gpu_min", "gpu_max", "self_cpu", "self_gpu")
ENTRY = np.dtype([("key", np.int64, 3), *((name, np.int64) for name in (*FIGURES, "place", "kind"))])
"""``Entry`` of nested.c: ``key`` is (operator, part, kernel), −1 where there is none and (operator, kernel, −2) for
what an operator launched itself; or (entry above, name, level). ``kind`` is that of the first event in the order of
lanes.
"""


class _Table(ctypes.Structure):
    """``Table`` of entries.h."""

    _fields_ = [
        *((name, POINTER) for name in ("entries", "slots")),
        ("slot_mask", ctypes.c_uint64),
        *((name, INTEGER) for name in ("count", "room")),
    ]


class EntryTable:
    """`ENTRY` of several threads, each key once; the kind is that of the thread that was added first."""

    def __init__(self) -> None:
        self._table = _Table()
        self._library = library()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._library is not None:
            self._library.warpline_entries_free(ctypes.byref(self._table))
        self._table = _Table()

    def __len__(self) -> int:
        return int(self._table.count)

    def add(self, entries: npt.NDArray[Any], *, is_tree: bool = False) -> None:
        """Add those of a thread. In a tree the first of a key is the place of the entry above, which comes before.

        Raises MemoryError.
        """
        assert self._library is not None, "it made the entries"
        entries = np.require(entries, ENTRY, ["C", "A"])
        place = np.empty(len(entries) if is_tree else 0, np.int64)
        columns = len(entries), address(entries), address(place) if is_tree else None
        if not self._library.warpline_entries_add(ctypes.byref(self._table), *columns):
            raise MemoryError

    def entries(self) -> npt.NDArray[Any]:
        """A copy of all (`ENTRY`), in the order in which their keys came."""
        return copied(self._table.entries, self._table.count, ENTRY)


def copied(place: int | None, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """What lies at a place, before that is given back."""
    return np.frombuffer(ctypes.string_at(place, count * dtype.itemsize) if place and count else b"", dtype)
