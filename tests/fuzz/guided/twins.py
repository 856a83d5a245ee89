"""Compiled loops over columns, and the same by numpy: whatever the numbers, the same comes out."""

from __future__ import annotations

import zlib
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.fuzz.guided.target import Differs, Target

from warpline.storage.columns.events import Events
from warpline.storage.index import levels_native, levels_numpy, name_pieces
from warpline.storage.index.level_of_detail import LodLevel

_EVENT = np.dtype([("start", "<i8"), ("duration", "<i8"), ("name", "<u4"), ("flags", "u1"), ("kind", "u1")])


def _events(data: bytes) -> Any:
    """Columns of events in the bytes: starts ascend, as a writer leaves them and a reader checks."""
    rows = np.frombuffer(data[: len(data) // _EVENT.itemsize * _EVENT.itemsize], _EVENT)
    columns = {name: np.ascontiguousarray(rows[name]) for name in _EVENT.names or ()}
    return SimpleNamespace(**columns)


def run_names(data: bytes) -> None:
    """Rows by name."""
    events: Any = _events(data)
    n = len(events.name)
    if not n:
        return
    # Some that are few and near each other, as names are.
    events.name = events.name % np.uint32(1 + 16 * n) if zlib.crc32(data) % 3 else events.name
    made = []
    with np.errstate(over="ignore"):
        for compiled in (True, False):
            row, busy = np.empty(n, np.uint32), np.empty(n, np.int64)
            found: Events = events
            name, count = name_pieces.sort_names(found, slice(0, n), row, busy, compiled)
            made.append([one.tolist() for one in (row, busy, name, count)])
    if made[0] != made[1]:
        raise Differs("names")


def run_levels(data: bytes) -> None:
    """Levels of detail, fine and coarse."""
    lib = levels_native.library()
    events: Any = _events(data)
    if lib is None or not len(events.start):
        return
    columns = (events.start, np.maximum(events.duration, 0), events.flags, events.kind)
    if zlib.crc32(data) % 3:
        columns = (np.sort(columns[0]), *columns[1:])
    level = zlib.crc32(data) >> 8 & 31
    count = levels_native.bin_count(lib, columns[0], level)
    _same_counts(count, levels_numpy.bin_count(columns[0], level))
    with np.errstate(over="ignore"):
        native = levels_native.level_from_events(lib, *columns, level, count)
        plain = levels_numpy.level_from_events(*columns, level)
        _same(native, plain)
        coarse = levels_native.bin_count(lib, native.start, level + 2)
        _same(levels_native.coarser(lib, native, level + 2, coarse), levels_numpy.coarser(plain, level + 2))


def _same_counts(native: int, plain: int) -> None:
    if native != plain:
        raise Differs(f"bins: {native} and {plain}")


def _same(native: LodLevel, plain: LodLevel) -> None:
    for field in fields(LodLevel):
        if not np.array_equal(getattr(native, field.name), getattr(plain, field.name)):
            raise Differs(f"levels: {field.name}")


def _seeds(_data: Path | None) -> list[bytes]:
    rng = np.random.default_rng(3)
    found = []
    for n in (1, 7, 70):
        rows = np.zeros(n, _EVENT)
        rows["start"] = np.sort(rng.integers(0, 1 << 20, n))
        rows["duration"] = rng.integers(0, 1 << 12, n)
        rows["name"] = rng.integers(0, 9, n)
        rows["flags"] = rng.integers(0, 4, n)
        found.append(rows.tobytes())
    return found


TARGETS = (
    Target("names-twins", run_names, _seeds, most_bytes=22 * 200),
    Target("levels-twins", run_levels, _seeds, most_bytes=22 * 200),
)
