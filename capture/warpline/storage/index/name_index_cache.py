"""Name indexes, made in memory or kept in the user's cache under the capture's UUID."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from warpline.model.progress import IsCancelled, Progress
from warpline.platform.files import reserve
from warpline.platform.folders import cache_folder
from warpline.storage.columns.schema import NAME_INDEX_COLUMNS
from warpline.storage.index.lane_columns import LaneColumns
from warpline.storage.index.name_index import NameIndex
from warpline.storage.index.name_pieces import build_columns, fits, names_in_memory

Array = npt.NDArray[Any]

_ZEROS = 1 << 20
ON_DISK_EVENTS = 2_000_000
"""For captures with more events than this, the index is kept in the user's cache."""

MAX_STORED = 8
"""Number of indexes kept in the cache; the least recently used are removed."""


def build_name_index(
    columns: LaneColumns,
    uuid: str,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
    *,
    folder: Path | None = None,
) -> NameIndex:
    """The index of all events of the capture with this UUID, from the user's cache when it is there.

    Meant for a worker thread: takes some 10 ns an event once (0.1 us where
    it is not compiled). ``folder`` replaces the cache. Raises Cancelled. A
    cache that cannot be written is skipped.
    """
    n_events = len(columns.events)
    if n_events <= ON_DISK_EVENTS and folder is None:
        return NameIndex(columns, names_in_memory(columns, progress, cancelled))
    place = (folder or cache_folder() / "names") / f"{uuid}-{n_events}"
    index = _load(place, columns)
    if index is None:
        try:
            _store(place, columns, progress, cancelled)
            index = _load(place, columns)
        except OSError:
            index = None
    return NameIndex(columns, index or names_in_memory(columns, progress, cancelled))


def index_lanes(
    columns: LaneColumns, lanes: Sequence[int], cancelled: IsCancelled | None = None
) -> NameIndex:
    """Index some lanes only, in memory: 12 bytes an event. Raises Cancelled."""
    return NameIndex(columns, names_in_memory(columns, None, cancelled, lanes))


def _store(
    place: Path, columns: LaneColumns, progress: Progress | None, cancelled: IsCancelled | None
) -> None:
    """Writes the columns into a folder that appears under its name when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    making = place.with_name(f".{place.name}.{uuid4().hex[:8]}")
    making.mkdir()
    try:
        index = build_columns(columns, lambda name, n: _room(making / name, n, name), progress, cancelled)
        for name, values in index.items():
            if not isinstance(values, np.memmap):
                (making / name).write_bytes(np.ascontiguousarray(values).data)
        # Some systems cannot rename a mapped file.
        del index, values
        with contextlib.suppress(OSError):
            # Another process may have been faster; its index is the same.
            os.rename(making, place)
        _forget_old(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _room(path: Path, n: int, name: str) -> Array:
    """Map a column in a new file. Raises OSError when the disk lacks room; writing to it would raise SIGBUS."""
    dtype = np.dtype(NAME_INDEX_COLUMNS[name])
    if not n:
        return np.empty(0, dtype)
    with path.open("xb") as file:
        if not reserve(file.fileno(), 0, n * dtype.itemsize):
            for done in range(0, n * dtype.itemsize, _ZEROS):
                file.write(bytes(min(_ZEROS, n * dtype.itemsize - done)))
    return np.memmap(path, dtype, "r+")


def _load(place: Path, columns: LaneColumns) -> dict[str, Array] | None:
    """Columns from a folder, mapped; None when it is not there or does not fit the events."""
    index = {}
    try:
        for name, dtype in NAME_INDEX_COLUMNS.items():
            size = (place / name).stat().st_size
            index[name] = (
                np.memmap(place / name, np.dtype(dtype), "r") if size else np.empty(0, np.dtype(dtype))
            )
        os.utime(place)
    except (OSError, ValueError):
        return None
    if not fits(index, columns.lanes, len(columns.events)):
        shutil.rmtree(place, ignore_errors=True)
        return None
    return index


def stored_indexes() -> dict[Path, int]:
    """The indexes in the user's cache, with the bytes each takes on disk."""
    sizes: dict[Path, int] = {}
    with contextlib.suppress(OSError):
        for place in (cache_folder() / "names").iterdir():
            with contextlib.suppress(OSError):
                sizes[place] = sum(file.stat().st_size for file in place.iterdir())
    return sizes


def forget_indexes() -> int:
    """Removes all indexes from the user's cache and returns the bytes freed; those in use stay usable on Linux."""
    stored = stored_indexes()
    for place in stored:
        shutil.rmtree(place, ignore_errors=True)
    return sum(stored.values())


def _forget_old(newest: Path) -> None:
    """Removes the least recently used indexes."""
    with contextlib.suppress(OSError):
        stored = [path for path in newest.parent.iterdir() if path != newest]
        by_use: Sequence[Path] = sorted(stored, key=lambda path: path.stat().st_mtime, reverse=True)
        for path in by_use[MAX_STORED - 1 :]:
            shutil.rmtree(path, ignore_errors=True)
