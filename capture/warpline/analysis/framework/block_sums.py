"""Sums by name over blocks of events, made once: totals of any range cost its blocks and what is cut off at its ends.

Blocks are neighbours in the table of one kind, so that a range of a lane is whole blocks and two rests. They are made
in memory when a hand first drags a range, and are gone with the capture: that reads 12 bytes of each event of one kind.
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

from warpline.analysis.framework.loops.lane_times import Keys, event_rows, named, times_of_cut
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics
from warpline.compiled import address, usable_cores
from warpline.memory_room import require_memory

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
Sums = npt.NDArray[Any]

BLOCK = 1 << 13
"""Events of a block."""
_HIGHER = 16
"""Blocks of one level in a block of the next, of which there is one."""
_FARTHEST_NS = 1 << 61
_MOST_THREADS = 4
_EVENTS_PER_ENTRY = 8
"""Where names repeat less, blocks save nothing."""
_SUM = np.dtype([(name, np.int64) for name in ("count", "total", "low", "high")])
"""``Sum`` of block_sums.c."""


@dataclass(frozen=True, eq=False)
class _Level:
    """Block *i* has the names and sums ``begin[i]:begin[i + 1]``."""

    begin: Int64Array
    name: UInt32Array
    sums: Sums

    def add(self, found: ctypes.CDLL, first: int, stop: int, sums: Sums) -> None:
        """Adds some blocks to the sums of all names."""
        part = slice(int(self.begin[first]), int(self.begin[max(first, stop)]))
        if part.start < part.stop:
            name, entries = self.name[part], self.sums[part]
            found.warpline_add_sums(len(name), address(name), address(entries), len(sums), address(sums))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """All whole blocks of a kind, fine ones and what `_HIGHER` of them come to."""

    fine: _Level
    coarse: _Level

    def add(self, found: ctypes.CDLL, first: int, stop: int, sums: Sums) -> tuple[int, int]:
        """Adds the whole blocks between places to the sums of all names, and says which places those are."""
        low, high = -(-first // BLOCK), stop // BLOCK
        if low >= high:
            return first, first
        upper, last = -(-low // _HIGHER), high // _HIGHER
        if upper < last:
            self.fine.add(found, low, upper * _HIGHER, sums)
            self.coarse.add(found, upper, last, sums)
            self.fine.add(found, last * _HIGHER, high, sums)
        else:
            self.fine.add(found, low, high, sums)
        return low * BLOCK, high * BLOCK


class _Known:
    """The blocks of a capture by kind. Whoever asks while they are made waits for them, but for nobody else's."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.blocks: dict[str, _Blocks | None] = {}


_KNOWN: WeakKeyDictionary[Capture, _Known] = WeakKeyDictionary()
_LOCK = Lock()


def sums_by_name(view: View, kind: str, keys: Keys | None = None) -> GroupStatistics | None:
    """`quick_statistics` of the time inside the range of the events of a kind by name, or by other ``keys``.

    A kind is always asked with the same keys. None where nothing is compiled, where names hardly repeat, and where
    other keys are added up of events that a filter chose by their names, which sums do not tell apart. Where
    events of a lane overlap, in a damaged file, only the first and the last in the range are cut off at its ends.
    """
    found = library()
    if found is None or kind not in view.capture.kinds:
        return None
    if keys is not None and view.selection.names is not None:
        return None
    ids = keys or named(view, kind)
    with _LOCK:
        known = _KNOWN.setdefault(view.capture, _Known())
    with known.lock:
        if kind not in known.blocks:
            known.blocks[kind] = _built(found, view, kind, ids)
        blocks = known.blocks[kind]
    if blocks is None:
        return None
    sums = np.zeros(max(len(view.capture.strings), 1), _SUM)
    cut: list[tuple[int, int]] = []
    for first, stop, offset in view.lane_places(kind):
        view.check_cancelled()
        if not view.is_whole:
            cut += [(place, offset) for place in sorted({first, stop - 1})]
            first, stop = first + 1, stop - 1
        low, high = blocks.add(found, first, stop, sums)
        _add_rows(found, view, kind, ids, first, low, sums)
        _add_rows(found, view, kind, ids, high, stop, sums)
    if cut:
        _add(found, *times_of_cut(view, kind, ids, np.array(cut, np.int64)), sums)
    return _statistics(view, sums)


def _statistics(view: View, sums: Sums) -> GroupStatistics:
    key = np.flatnonzero(sums["count"])
    if view.selection.names is not None:
        key = key[np.isin(key, list(view.selection.names))]
    count, total, low, high = (sums[name][key] for name in ("count", "total", "low", "high"))
    unknown = np.full(len(key), np.nan)
    return GroupStatistics(key, count, total, total / count, unknown, low, high, unknown)


def _add_rows(
    found: ctypes.CDLL, view: View, kind: str, keys: Keys, first: int, stop: int, sums: Sums
) -> None:
    """Adds places [first, stop) of the table of a kind, of which there may be none."""
    if first < stop:
        places = slice(first, stop)
        _add(found, keys(places), view.durations(event_rows(view, kind, places)), sums)


def _add(found: ctypes.CDLL, name: UInt32Array, duration: Int64Array, sums: Sums) -> None:
    name, duration = np.ascontiguousarray(name, np.uint32), np.ascontiguousarray(duration, np.int64)
    found.warpline_add_rows(
        len(name), address(name), address(duration), len(sums), _FARTHEST_NS, address(sums)
    )


def _built(found: ctypes.CDLL, view: View, kind: str, keys: Keys) -> _Blocks | None:
    """The blocks of all events of a kind, made on all cores; None where they would be as large as the events."""
    count = len(view.capture.kinds[kind]) // BLOCK
    runs = [range(first, min(first + _HIGHER, count)) for first in range(0, count, _HIGHER)]
    ids = max(len(view.capture.strings), 1)

    def make(run: range) -> tuple[list[tuple[UInt32Array, Sums]], tuple[UInt32Array, Sums]]:
        view.check_cancelled()
        first, stop = run.start * BLOCK, run.stop * BLOCK
        places = slice(first, stop)
        name = np.ascontiguousarray(keys(places), np.uint32)
        duration = np.ascontiguousarray(view.durations(event_rows(view, kind, places)), np.int64)
        every = np.zeros(ids, _SUM)
        return [
            _block(found, name[at : at + BLOCK], duration[at : at + BLOCK], every)
            for at in range(0, len(name), BLOCK)
        ], _block(found, name, duration, every)

    from concurrent.futures import ThreadPoolExecutor  # nobody waits for it at the first frame

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
    found: ctypes.CDLL, name: UInt32Array, duration: Int64Array, every: Sums
) -> tuple[UInt32Array, Sums]:
    """Names and sums of some events; ``every`` has room for all names, is zero before and after."""
    room = min(len(name), len(every))
    names, sums = np.empty(room, np.uint32), np.empty(room, _SUM)
    distinct = found.warpline_block(
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
