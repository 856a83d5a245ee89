"""The compiled inner loop of `query` (``native/strip.c``): the same strips, many times faster.

Without the library, and for columns that C cannot read in place (unaligned, or of another byte order), `query` draws
with numpy.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.memory_room import require_memory
from warpline.model.flags import NOT_BUSY
from warpline.platform.systems import library_file, usable_cores
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.index.pyramid import Pyramid

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]
Rects = tuple[Int64Array, Int64Array, Int64Array, Int64Array, UInt8Array, UInt8Array]
"""Lane, row, start, stop, kind, flags."""
Pixels = tuple[npt.NDArray[np.float32], Int64Array, UInt8Array, UInt8Array]
"""Busy fraction; row, kind and flags of the mark."""

SPLIT_ENTRIES = 1 << 17
"""From this many entries on (about a millisecond), two threads draw."""

_CORES = usable_cores()

LIBRARY = Path(__file__).parent / library_file("strip")
SIGNATURES: Signatures = {"warpline_strip_choose": (None, None), "warpline_strip_draw": (INTEGER, None)}

RUN = np.dtype([(name, np.int64) for name in ("lane", "index", "low", "high")])
"""One lane at the level chosen for a view (an index into the directory, or `RAW`), and its part that can be seen."""


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loop, None where it is not compiled."""
    return load(LIBRARY, SIGNATURES)


class _Columns(ctypes.Structure):
    """``Capture`` of strip.c."""

    _fields_ = [
        *((name, POINTER) for name in ("start", "duration", "kind", "flags")),
        ("events", INTEGER),
        *((name, POINTER) for name in ("entry_start", "longest", "rest", "row")),
        *((name, POINTER) for name in ("lane_first", "lane_count", "levels_of_lane")),
        *((name, POINTER) for name in ("level", "level_first", "level_count")),
        *((name, POINTER) for name in ("skip_events", "skip_events_at", "skip_entries", "skip_entries_at")),
        ("not_busy", INTEGER),
    ]


class _View(ctypes.Structure):
    """``View`` of strip.c."""

    _fields_ = [
        *((name, INTEGER) for name in ("start_ns", "stop_ns", "width_px", "rect_ns")),
        ("pixels_per_ns", ctypes.c_double),
        ("pixel_ns", ctypes.c_double),
        ("busy_per_ns", ctypes.c_float),
    ]


class _Rects(ctypes.Structure):
    """``Rects`` of strip.c."""

    _fields_ = [
        *((name, POINTER) for name in ("lane", "row", "start", "stop", "kind", "flags")),
        ("capacity", INTEGER),
        ("count", INTEGER),
    ]


class _Line(ctypes.Structure):
    """``Line`` of strip.c."""

    _fields_ = [(name, POINTER) for name in ("busy", "mark_row", "mark_kind", "mark_flags", "sum", "longest")]


class StripLoop:
    """The compiled loop over the columns of one capture."""

    def __init__(self, lib: ctypes.CDLL, columns: dict[str, Array], events: int) -> None:
        self._lib = lib
        # Keeps alive the arrays that the pointers refer to.
        self._arrays = columns
        self._columns = _Columns(**{name: address(array) for name, array in columns.items()})
        self._columns.events = events
        self._columns.not_busy = int(NOT_BUSY)

    def choose(self, view: _View, lanes: Int64Array, offset_ns: Int64Array) -> npt.NDArray[Any]:
        """A `RUN` for each lane, found without touching the file."""
        runs = np.empty(len(lanes), RUN)
        self._lib.warpline_strip_choose(
            ctypes.byref(self._columns), ctypes.byref(view), POINTER(address(lanes)), POINTER(address(offset_ns)),
            INTEGER(len(lanes)), POINTER(address(runs)),
        )  # fmt: skip
        return runs

    def draw(self, view: _View, runs: npt.NDArray[Any], offset_ns: Int64Array) -> tuple[Rects, Pixels, int]:
        """Rectangles and pixels in the order of `Strip`, and the number of entries read."""
        shape = len(runs), int(view.width_px)
        pixels = (
            np.zeros(shape, np.float32),
            np.full(shape, -1, np.int64),
            np.zeros(shape, np.uint8),
            np.zeros(shape, np.uint8),
        )
        middle = _middle(runs)
        if not middle:
            rects, touched = self._draw_part(view, runs, offset_ns, pixels)
            return rects, pixels, touched
        behind: list[tuple[Rects, int]] = []
        failed: list[Exception] = []

        def draw_behind() -> None:
            try:
                behind.append(self._draw_part(view, runs[middle:], offset_ns, _below(pixels, middle)))
            except Exception as error:  # e.g. out of memory: raised in the calling thread
                failed.append(error)

        # The loop runs without the GIL, so two cores halve the time.
        require_memory()
        helper = threading.Thread(target=draw_behind)
        helper.start()
        try:
            rects, touched = self._draw_part(view, runs[:middle], offset_ns, pixels)
        finally:
            helper.join()
        if failed:
            raise failed[0]
        more, more_touched = behind[0]
        more[0][:] += middle
        return _joined(rects, more), pixels, touched + more_touched

    def _draw_part(
        self, view: _View, runs: npt.NDArray[Any], offset_ns: Int64Array, pixels: Pixels
    ) -> tuple[Rects, int]:
        """Fill the first lines of ``pixels``, one for each run; rectangles refer to lines by the index of their run."""
        lanes, width = len(runs), int(view.width_px)
        sums, longest = np.zeros(width), np.full(width, -1, np.int64)
        line = _Line(*(address(array) for array in pixels), address(sums), address(longest))
        # At most this many non-overlapping events are a pixel long; damaged ones may exceed it.
        capacity = min(lanes * (width + 2), _entries_of(runs))
        while True:
            lane, row, start, stop = (np.empty(capacity, np.int64) for _ in range(4))
            kind, flags = (np.empty(capacity, np.uint8) for _ in range(2))
            rects = _Rects(*(address(array) for array in (lane, row, start, stop, kind, flags)), capacity, 0)
            touched = self._lib.warpline_strip_draw(
                ctypes.byref(self._columns), ctypes.byref(view), POINTER(address(runs)), POINTER(address(offset_ns)),
                INTEGER(lanes), ctypes.byref(line), ctypes.byref(rects),
            )  # fmt: skip
            n = int(rects.count)
            if n <= capacity:
                return (lane[:n], row[:n], start[:n], stop[:n], kind[:n], flags[:n]), int(touched)
            capacity = n


def _entries_of(runs: npt.NDArray[Any]) -> int:
    """Upper bound of the runs' entries in the view."""
    return int(np.maximum(runs["high"] - runs["low"] + 1, 0).sum())


def _joined(first: Rects, second: Rects) -> Rects:
    return (
        np.concatenate((first[0], second[0])),
        np.concatenate((first[1], second[1])),
        np.concatenate((first[2], second[2])),
        np.concatenate((first[3], second[3])),
        np.concatenate((first[4], second[4])),
        np.concatenate((first[5], second[5])),
    )


def _below(pixels: Pixels, first: int) -> Pixels:
    """The lines from ``first`` on."""
    busy, row, kind, flags = pixels
    return busy[first:], row[first:], kind[first:], flags[first:]


def _middle(runs: npt.NDArray[Any]) -> int:
    """The lane where the second half of the entries begins; 0 when a second thread would not pay."""
    if len(runs) < 2 or _CORES < 2:
        return 0
    before = np.cumsum(np.maximum(runs["high"] - runs["low"] + 1, 0))
    if before[-1] < SPLIT_ENTRIES:
        return 0
    return min(max(1, int(before.searchsorted(before[-1] // 2)) + 1), len(runs) - 1)


def make_view(start_ns: int, stop_ns: int, width_px: int, rect_ns: int) -> _View:
    """Convert a view to the loop's struct."""
    pixel_ns = (stop_ns - start_ns) / width_px
    return _View(start_ns, stop_ns, width_px, rect_ns, 1 / pixel_ns, pixel_ns, np.float32(1 / pixel_ns))


def strip_loop(events: Events, lanes: Lanes, pyramid: Pyramid) -> StripLoop | None:
    """Return the compiled loop over these columns, or None when it cannot be used."""
    lib = library()
    if lib is None:
        return None
    columns = dict(_columns_of(events, lanes, pyramid))
    if not all(
        array.dtype.isnative and array.flags.aligned and array.flags.c_contiguous
        for array in columns.values()
    ):
        return None
    return StripLoop(lib, columns, len(events))


def _columns_of(events: Events, lanes: Lanes, pyramid: Pyramid) -> Iterator[tuple[str, Array]]:
    yield from (
        ("start", events.start),
        ("duration", events.duration),
        ("kind", events.kind),
        ("flags", events.flags),
    )
    yield from (
        ("entry_start", pyramid.start),
        ("longest", pyramid.longest),
        ("rest", pyramid.rest),
        ("row", pyramid.row),
    )
    yield from (("lane_first", lanes.first), ("lane_count", lanes.count))
    yield from pyramid.directories().items()
