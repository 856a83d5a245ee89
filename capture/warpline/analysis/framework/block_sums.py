"""Totals by name of any time range, from sums over blocks of events.

A block holds consecutive events in the table of a kind, so that a range of a lane consists of whole blocks and two
remainders. The first drag of a range builds them in memory, reading 12 bytes of each event of the kind; they last as
long as the capture is open.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.lane_times import (
    Keys,
    ends_of_lanes,
    event_rows,
    named,
    times_of_cut,
)
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics, sums_as_statistics
from warpline.compiled import address
from warpline.memory_room import require_memory
from warpline.platform.systems import usable_cores

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
Sums = npt.NDArray[Any]

BLOCK = 1 << 13
"""Events in a fine block."""
_FINE_PER_COARSE = 16
"""Fine blocks in a coarse block."""
_FARTHEST_NS = 1 << 61
_MOST_THREADS = 4
_EVENTS_PER_ENTRY = 8
"""If names repeat less often than this, blocks save nothing."""
_SUM = np.dtype([(name, np.int64) for name in ("count", "total", "low", "high")])
"""``Sum`` of block_sums.c."""


@dataclass(frozen=True, eq=False)
class _Level:
    """Names and sums of blocks; those of block *i* are at ``begin[i]:begin[i + 1]``."""

    begin: Int64Array
    name: UInt32Array
    sums: Sums

    def add(self, loops: ctypes.CDLL, first: int, stop: int, sums: Sums) -> None:
        """Add the blocks [first, stop) to the sums of all names."""
        part = slice(int(self.begin[first]), int(self.begin[max(first, stop)]))
        if part.start < part.stop:
            name, entries = self.name[part], self.sums[part]
            loops.warpline_add_sums(len(name), address(name), address(entries), len(sums), address(sums))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """All whole blocks of a kind, fine and coarse."""

    fine: _Level
    coarse: _Level

    def add(self, loops: ctypes.CDLL, first: int, stop: int, sums: Sums) -> tuple[int, int]:
        """Add the whole blocks inside [first, stop) to the sums of all names; the range of indices they cover."""
        low, high = -(-first // BLOCK), stop // BLOCK
        if low >= high:
            return first, first
        upper, last = -(-low // _FINE_PER_COARSE), high // _FINE_PER_COARSE
        if upper < last:
            self.fine.add(loops, low, upper * _FINE_PER_COARSE, sums)
            self.coarse.add(loops, upper, last, sums)
            self.fine.add(loops, last * _FINE_PER_COARSE, high, sums)
        else:
            self.fine.add(loops, low, high, sums)
        return low * BLOCK, high * BLOCK


class _Known:
    """The blocks of a capture by kind, with a lock for building them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.blocks: dict[str, _Blocks | None] = {}


_KNOWN: WeakKeyDictionary[Capture, _Known] = WeakKeyDictionary()
_LOCK = Lock()


def sums_by_name(view: View, kind: str, keys: Keys | None = None) -> GroupStatistics | None:
    """`quick_statistics` of the time inside the range of a kind's events by name, or by other ``keys``.

    Callers must always pass the same keys for a kind. None if the loops are not compiled, if names hardly repeat, or
    for other keys together with a name filter. If events of a lane overlap (in a damaged file), only the first and the
    last in the range are cut at its ends.
    """
    loops = library()
    if loops is None or kind not in view.capture.kinds:
        return None
    if keys is not None and view.selection.names is not None:
        return None
    ids = keys or named(view, kind)
    with _LOCK:
        known = _KNOWN.setdefault(view.capture, _Known())
    with known.lock:
        if kind not in known.blocks:
            known.blocks[kind] = _build(loops, view, kind, ids)
        blocks = known.blocks[kind]
    if blocks is None:
        return None
    sums = np.zeros(max(len(view.capture.strings), 1), _SUM)
    lanes = view.lane_places(kind)
    # Neighbouring lanes are one part where none of their events is cut.
    parts = lanes.joined() if view.is_whole else lanes.take(lanes.counts > 2)
    ends = 0 if view.is_whole else 1
    for first, stop in parts.borders:
        view.check_cancelled()
        first, stop = first + ends, stop - ends
        low, high = blocks.add(loops, first, stop, sums)
        for remainder in (slice(first, low), slice(high, stop)):
            if remainder.start < remainder.stop:
                durations = view.durations(event_rows(view, kind, remainder))
                _add(loops, ids(remainder), durations, sums)
    if len(lanes) and not view.is_whole:
        _add(loops, *times_of_cut(view, kind, ids, ends_of_lanes(lanes)), sums)
    return _statistics(view, sums)


def _statistics(view: View, sums: Sums) -> GroupStatistics:
    key = np.flatnonzero(sums["count"])
    if view.selection.names is not None:
        key = key[np.isin(key, list(view.selection.names))]
    return sums_as_statistics(key, *(sums[name][key] for name in ("count", "total", "low", "high")))


def _add(loops: ctypes.CDLL, name: UInt32Array, duration: Int64Array, sums: Sums) -> None:
    name, duration = np.ascontiguousarray(name, np.uint32), np.ascontiguousarray(duration, np.int64)
    loops.warpline_add_rows(
        len(name), address(name), address(duration), len(sums), _FARTHEST_NS, address(sums)
    )


def _build(loops: ctypes.CDLL, view: View, kind: str, keys: Keys) -> _Blocks | None:
    """The blocks of all events of a kind, built on all cores; None if they would be as large as the events."""
    count = len(view.capture.kinds[kind]) // BLOCK
    runs = [range(first, min(first + _FINE_PER_COARSE, count)) for first in range(0, count, _FINE_PER_COARSE)]
    ids = max(len(view.capture.strings), 1)

    def make(run: range) -> tuple[list[tuple[UInt32Array, Sums]], tuple[UInt32Array, Sums]]:
        view.check_cancelled()
        first, stop = run.start * BLOCK, run.stop * BLOCK
        places = slice(first, stop)
        name = np.ascontiguousarray(keys(places), np.uint32)
        duration = np.ascontiguousarray(view.durations(event_rows(view, kind, places)), np.int64)
        every = np.zeros(ids, _SUM)
        return [
            _block(loops, name[at : at + BLOCK], duration[at : at + BLOCK], every)
            for at in range(0, len(name), BLOCK)
        ], _block(loops, name, duration, every)

    from concurrent.futures import ThreadPoolExecutor  # slow to import; not needed for the first frame

    threads = min(_MOST_THREADS, usable_cores())
    fine: list[tuple[UInt32Array, Sums]] = []
    coarse: list[tuple[UInt32Array, Sums]] = []
    entries = 0
    require_memory(threads)
    with ThreadPoolExecutor(threads, "sums") as pool:
        try:
            for begin in range(0, len(runs), 4 * threads):
                for parts, whole in pool.map(make, runs[begin : begin + 4 * threads]):
                    fine += parts
                    coarse.append(whole)
                    entries += sum(len(name) for name, _ in parts) + len(whole[0])
                if entries * _EVENTS_PER_ENTRY > len(fine) * BLOCK:
                    return None
        finally:
            pool.shutdown(cancel_futures=True)
    return _Blocks(_level(fine), _level(coarse))


def _block(
    loops: ctypes.CDLL, name: UInt32Array, duration: Int64Array, every: Sums
) -> tuple[UInt32Array, Sums]:
    """Names and sums of some events; ``every`` is scratch memory for all names, zero before and after."""
    room = min(len(name), len(every))
    names, sums = np.empty(room, np.uint32), np.empty(room, _SUM)
    distinct = loops.warpline_block(
        len(name),
        address(name),
        address(duration),
        len(every),
        _FARTHEST_NS,
        *map(address, (every, names, sums)),
    )
    return names[:distinct].copy(), sums[:distinct].copy()


def _level(blocks: Sequence[tuple[UInt32Array, Sums]]) -> _Level:
    return _Level(
        np.cumsum([0, *(len(name) for name, _ in blocks)]),
        np.concatenate([np.empty(0, np.uint32), *(name for name, _ in blocks)]),
        np.concatenate([np.empty(0, _SUM), *(sums for _, sums in blocks)]),
    )
