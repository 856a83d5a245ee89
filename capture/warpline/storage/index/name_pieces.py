"""The columns of an index of names: made from events, and checked when they come from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.schema import NAME_INDEX_COLUMNS
from warpline.storage.index.lane_columns import LaneColumns

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
NamePiece = tuple[int, int, UInt32Array, Int64Array, UInt32Array, Int64Array]
"""Lane, base, names, counts of entries of each name, rows less base by name, busy time of each entry."""

PIECE = 1 << 21
"""Events of a lane that are sorted at once."""


def name_pieces(
    columns: LaneColumns,
    progress: Progress | None,
    cancelled: IsCancelled | None,
    lanes: Sequence[int] | None = None,
) -> Iterator[NamePiece]:
    """The pieces of some lanes (all), in their order. Raises Cancelled."""
    events = columns.events
    total = max(1, len(events))
    for lane in range(len(columns.lanes)) if lanes is None else lanes:
        rows = columns.lanes.rows(lane)
        for base in range(rows.start, rows.stop, PIECE):
            check_cancelled(cancelled, "indexing names was cancelled")
            if progress is not None:
                progress(base / total, "indexing names")
            yield lane, base, *sort_names(events, slice(base, min(base + PIECE, rows.stop)))


def sort_names(events: Events, part: slice) -> tuple[UInt32Array, Int64Array, UInt32Array, Int64Array]:
    """Names of some neighbours on a lane, how many have each, their rows less the first by name, their busy times."""
    # Packed with its position a name sorts stably, and faster than any indirect sort.
    key = events.name[part].astype(np.int64) << 32 | np.arange(part.stop - part.start)
    key.sort()
    row = (key & 0xFFFFFFFF).astype(np.uint32)
    key >>= 32
    heads = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    counts = np.diff(np.concatenate([heads, [len(key)]]))
    duration = np.where(events.flags[part] & int(NOT_BUSY), 0, events.duration[part])[row]
    return key[heads].astype(np.uint32), counts, row, duration


def names_in_memory(
    columns: LaneColumns,
    progress: Progress | None,
    cancelled: IsCancelled | None,
    lanes: Sequence[int] | None = None,
) -> dict[str, Array]:
    """The columns of an index of some lanes (all): 12 bytes and about 0.1 us an event. Raises Cancelled."""
    collected: dict[str, list[Array]] = {name: [] for name in NAME_INDEX_COLUMNS}
    collect(
        name_pieces(columns, progress, cancelled, lanes), lambda name, values: collected[name].append(values)
    )
    return {
        name: np.concatenate([np.empty(0, dtype), *collected[name]]).astype(dtype)
        for name, dtype in NAME_INDEX_COLUMNS.items()
    }


def collect(
    pieces: Iterator[NamePiece],
    put: Callable[[str, Array], object],
) -> None:
    """Hands the columns of an index to ``put``, part after part."""
    entries = directory = 0
    # Damaged durations may add up to more than 64 bits: arrays wrap around, Python's numbers would not fit.
    busy = np.zeros(1, np.int64)
    put("busy", busy)
    for lane, base, name, counts, row, duration in pieces:
        put("piece_lane", np.array([lane]))
        put("piece_base", np.array([base]))
        put("piece_first", np.array([directory]))
        put("name", name)
        put("first", entries + np.cumsum(counts) - counts)
        put("row", row)
        until = busy + np.cumsum(duration)
        put("busy", until)
        busy = until[-1:]
        directory += len(name)
        entries += len(row)
    put("piece_first", np.array([directory]))
    put("first", np.array([entries]))


def fits(index: Mapping[str, Array], lanes: Lanes, n_events: int) -> bool:
    """Whether columns are an index of all events in these lanes, as far as can be told from its directories."""
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
    # The entries of a piece are its events, and the pieces are all lanes, one behind the other.
    borders = first[piece_first]
    if not (np.array_equal(base, borders[:-1]) and np.all(borders[1:] > borders[:-1])):
        return False
    owner, last = (np.searchsorted(lanes.first, rows, "right") - 1 for rows in (base, borders[1:] - 1))
    return np.array_equal(owner, lane) and np.array_equal(last, lane)


def _ascends(offsets: Array, last: int) -> bool:
    return bool(offsets[0] == 0 and offsets[-1] == last and np.all(offsets[1:] >= offsets[:-1]))
