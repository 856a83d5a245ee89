"""The columns of a name index: made from events, and checked when read from the cache."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.memory_room import require_memory
from warpline.model.flags import NOT_BUSY
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.platform.systems import library_file, usable_cores
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.schema import NAME_INDEX_COLUMNS
from warpline.storage.index.lane_columns import LaneColumns

if TYPE_CHECKING:
    from concurrent.futures import Future

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
Make = Callable[[str, int], Array]
"""Room for a column of an index, by its name and length."""

PIECE = 1 << 21
"""Events of a lane that are sorted at once."""

LIBRARY = Path(__file__).parent / library_file("strip")
SIGNATURES: Signatures = {
    "warpline_sort_names": (
        INTEGER,
        [INTEGER, *[POINTER] * 3, ctypes.c_uint8, INTEGER, *[POINTER] * 5],
    ),
}
_MOST_THREADS = 8
_HALF, _LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)
_IDS_PER_EVENT = 16
"""Counting passes over all ids up to the highest, so for few events with high ids sorting is cheaper."""


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled sort, None where it is not compiled."""
    return load(LIBRARY, SIGNATURES)


def build_columns(
    columns: LaneColumns,
    make: Make,
    progress: Progress | None,
    cancelled: IsCancelled | None,
    lanes: Sequence[int] | None = None,
) -> dict[str, Array]:
    """The columns of an index of some lanes (all), sorted on all cores. Raises Cancelled.

    ``make`` allocates the two long ones, ``row`` and ``busy``, which are filled in place.
    """
    parts = list(_parts(columns, lanes))
    n = sum(part.stop - part.start for _, part in parts)
    row, busy = (make(name, size) for name, size in (("row", n), ("busy", n + 1)))
    busy[0] = 0
    names, counts = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    at = 0
    for (_, part), (name, count) in zip(
        parts, _sorted(columns.events, parts, row, busy, cancelled), strict=True
    ):
        if progress is not None:
            progress(part.start / max(1, len(columns.events)), "indexing names")
        # Sums of damaged durations may exceed 64 bits: arrays wrap around, where Python integers would not fit.
        busy[at + 1 : at + 1 + part.stop - part.start] += busy[at]
        at += part.stop - part.start
        names.append(name)
        counts.append(count)
    distinct = np.array([0, *(len(name) for name in names[1:])], np.int64)
    index: dict[str, Array] = {
        "piece_lane": np.array([lane for lane, _ in parts], np.int64),
        "piece_base": np.array([part.start for _, part in parts], np.int64),
        "piece_first": np.cumsum(distinct),
        "name": np.concatenate(names),
        "first": np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
        "row": row,
        "busy": busy,
    }
    return {name: index[name].astype(dtype, copy=False) for name, dtype in NAME_INDEX_COLUMNS.items()}


def _parts(columns: LaneColumns, lanes: Sequence[int] | None) -> Iterator[tuple[int, slice]]:
    """Lane and rows of each piece."""
    for lane in range(len(columns.lanes)) if lanes is None else lanes:
        rows = columns.lanes.rows(lane)
        for base in range(rows.start, rows.stop, PIECE):
            yield lane, slice(base, min(base + PIECE, rows.stop))


def _sorted(
    events: Events, parts: Sequence[tuple[int, slice]], row: Array, busy: Array, cancelled: IsCancelled | None
) -> Iterator[tuple[UInt32Array, Int64Array]]:
    """Names and counts of each piece, in order; a few pieces are under way at a time."""
    at = 0
    if sum(part.stop - part.start for _, part in parts) <= PIECE:
        # One piece finishes before the others start, so rows of kernels come with the first frame.
        for _, part in parts:
            check_cancelled(cancelled, "indexing names was cancelled")
            stop = at + part.stop - part.start
            yield sort_names(events, part, row[at:stop], busy[at + 1 : stop + 1])
            at = stop
        return
    from concurrent.futures import ThreadPoolExecutor

    threads = min(_MOST_THREADS, usable_cores())
    waiting: deque[Future[tuple[UInt32Array, Int64Array]]] = deque()
    require_memory(threads)
    with ThreadPoolExecutor(threads, "names") as pool:
        try:
            for _, part in parts:
                check_cancelled(cancelled, "indexing names was cancelled")
                stop = at + part.stop - part.start
                places = row[at:stop], busy[at + 1 : stop + 1]
                waiting.append(pool.submit(sort_names, events, part, *places))
                at = stop
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def sort_names(
    events: Events, part: slice, row: UInt32Array, busy: Int64Array, compiled: bool = True
) -> tuple[UInt32Array, Int64Array]:
    """Return the names of consecutive events of a lane, and the count of each.

    Fills ``row`` with the rows by name, relative to the first, and ``busy`` with the running total of their busy time
    (int64 ns; wraps around when damaged durations overflow).
    """
    loop = library() if compiled else None
    if loop is not None:
        columns = tuple(
            np.ascontiguousarray(column[part]) for column in (events.name, events.duration, events.flags)
        )
        ids = int(columns[0].max()) + 1
        is_native = all(column.dtype.isnative and column.flags.aligned for column in (*columns, row, busy))
        if is_native and ids <= _IDS_PER_EVENT * len(row) + 1024:
            made = _compiled_sort(loop, columns, ids, row, busy)
            if made is not None:
                return made
    # Packed with its position, a name sorts stably and faster than any indirect sort.
    key = events.name[part].astype(np.uint64) << _HALF | np.arange(part.stop - part.start, dtype=np.uint64)
    key.sort()
    row[:] = key & _LOWER
    key >>= _HALF
    heads = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    np.cumsum(np.where(events.flags[part] & int(NOT_BUSY), 0, events.duration[part])[row], out=busy)
    return key[heads].astype(np.uint32), np.diff(np.concatenate([heads, [len(key)]]))


def _compiled_sort(
    loop: ctypes.CDLL, columns: tuple[Array, ...], ids: int, row: UInt32Array, busy: Int64Array
) -> tuple[UInt32Array, Int64Array] | None:
    """See `sort_names`; None when the file is rewritten underneath meanwhile. (numpy reads each column once.)"""
    most = min(len(row), ids)
    at, names, counts = np.zeros(ids, np.uint32), np.empty(most, np.uint32), np.empty(most, np.int64)
    filled: tuple[Array, ...] = (at, row, busy, names, counts)
    distinct = loop.warpline_sort_names(
        len(row), *map(address, columns), int(NOT_BUSY), ids, *map(address, filled)
    )
    return (names[:distinct].copy(), counts[:distinct].copy()) if distinct >= 0 else None


def names_in_memory(
    columns: LaneColumns,
    progress: Progress | None,
    cancelled: IsCancelled | None,
    lanes: Sequence[int] | None = None,
) -> dict[str, Array]:
    """The columns of an index of some lanes (all): 12 bytes an event. Raises Cancelled."""
    return build_columns(
        columns, lambda name, n: np.empty(n, NAME_INDEX_COLUMNS[name]), progress, cancelled, lanes
    )


def fits(index: Mapping[str, Array], lanes: Lanes, n_events: int) -> bool:
    """Whether the columns index all events in these lanes, judged by the directory."""
    base, lane = index["piece_base"], index["piece_lane"]
    first, piece_first = index["first"], index["piece_first"]
    if not (
        len(index["row"]) == n_events
        and len(index["busy"]) == n_events + 1
        and len(base) == len(lane)
        and len(piece_first) == len(lane) + 1
        and len(first) == len(index["name"]) + 1
        and _ascends(piece_first, len(index["name"]))
        and _ascends(first, n_events)
    ):
        return False
    # A piece has one entry per event, and the pieces cover all lanes in order.
    borders = first[piece_first]
    if not (np.array_equal(base, borders[:-1]) and np.all(borders[1:] > borders[:-1])):
        return False
    owner, last = (np.searchsorted(lanes.first, rows, "right") - 1 for rows in (base, borders[1:] - 1))
    return np.array_equal(owner, lane) and np.array_equal(last, lane)


def _ascends(offsets: Array, last: int) -> bool:
    return bool(offsets[0] == 0 and offsets[-1] == last and np.all(offsets[1:] >= offsets[:-1]))
