"""Distributes the events of a track to lanes without overlaps.

Events come sorted by (start, −end). A track may be too large for memory, so it comes in parts; the `Packer`
carries what is still open from one part to the next.
"""

from __future__ import annotations

import ctypes
import heapq
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.compiled import INTEGER, POINTER, Signatures, address, load
from warpline.model import Packing
from warpline.platform.systems import library_file

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]

_MAX_PEELED_LANES = 48
_FEW_LANES = 12
_FOREVER_AGO = np.iinfo(np.int64).min

LIBRARY = Path(__file__).parent / library_file("packing")
SIGNATURES: Signatures = {
    "warpline_nesting_depths": (INTEGER, [POINTER, POINTER, INTEGER, POINTER, INTEGER, POINTER]),
    "warpline_next_of_same": (None, [POINTER, INTEGER, POINTER, POINTER]),
    "warpline_stack": (INTEGER, [POINTER, INTEGER, INTEGER]),
    "warpline_stacks": (INTEGER, [POINTER, POINTER, POINTER, INTEGER, POINTER]),
    "warpline_fill_stack_slots": (None, [POINTER]),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loops (``native``), None where they are not compiled."""
    return load(LIBRARY, SIGNATURES)


class Packer:
    """Assigns lanes to the events of one track, part by part."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._lane_stops = np.empty(0, np.int64)

    def assign(self, starts: Int64Array, stops: Int64Array) -> Int32Array:
        """Lane of each event of the next part; int64 ns sorted by (start, −stop), at or after the earlier parts.

        On a lane no event starts before the previous one stops. Properly nested events get their nesting depth.
        """
        if self._are_flat(starts, stops):
            lanes: Int32Array | None = np.zeros(len(starts), np.int32)
        else:
            lanes = self._by_depth(starts, stops) if self._packing is Packing.NEST else None
        if lanes is None:
            lanes = _first_fit(starts, stops, self._lane_stops)
        if len(lanes):
            count = max(int(lanes.max()) + 1, len(self._lane_stops))
            lane_stops = np.full(count, _FOREVER_AGO, np.int64)
            lane_stops[: len(self._lane_stops)] = self._lane_stops
            np.maximum.at(lane_stops, lanes, stops)
            self._lane_stops = lane_stops
        return lanes

    def _are_flat(self, starts: Int64Array, stops: Int64Array) -> bool:
        """Whether the events overlap neither each other nor an open event on the lowest lane."""
        if len(starts) and len(self._lane_stops) and np.any(self._lane_stops > starts[0]):
            return False
        return not np.any(starts[1:] < stops[:-1])

    def _by_depth(self, starts: Int64Array, stops: Int64Array) -> Int32Array | None:
        """Nesting depth of each event, or None when some events overlap without nesting."""
        n = len(starts)
        if not n:
            return np.empty(0, np.int32)
        still_open = self._lane_stops[self._lane_stops > starts[0]]
        if np.any(np.diff(still_open) > 0) or np.any(self._lane_stops[: len(still_open)] != still_open):
            return None
        lib = library()
        if lib is not None:
            lanes = nesting_depths(lib, starts, stops, still_open)
            if lanes is not None:
                return lanes
        # Instants never hold a lane: only events with a duration count, so simultaneous instants share a depth.
        lasting = stops > starts
        closings = np.sort(np.r_[still_open, stops[lasting]])
        opened_before = np.cumsum(lasting) - lasting + len(still_open)
        lanes = (opened_before - np.searchsorted(closings, starts, "right")).astype(np.int32)
        return lanes if self._fits(lanes, starts, stops) else None

    def _fits(self, lanes: Int32Array, starts: Int64Array, stops: Int64Array) -> bool:
        if lanes.min() < 0:
            return False
        order = lane_order(lanes)
        sorted_lanes, sorted_starts, sorted_stops = lanes[order], starts[order], stops[order]
        neighbours = sorted_lanes[1:] == sorted_lanes[:-1]
        if np.any(neighbours & (sorted_starts[1:] < sorted_stops[:-1])):
            return False
        first = np.flatnonzero(np.r_[True, ~neighbours])
        carried = sorted_lanes[first] < len(self._lane_stops)
        return not np.any(sorted_starts[first[carried]] < self._lane_stops[sorted_lanes[first[carried]]])


def nesting_depths(
    lib: ctypes.CDLL, starts: Int64Array, stops: Int64Array, still_open: Int64Array
) -> Int32Array | None:
    """Nesting depth of each event, by the compiled loop; None when an event outlasts the one it starts in.

    ``still_open`` are the stops of earlier events that go on, the outermost first.
    """
    n, count = len(starts), len(still_open)
    starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
    stack = np.empty(count + n, np.int64)
    stack[:count] = still_open
    lanes = np.empty(n, np.int32)
    done = lib.warpline_nesting_depths(
        address(starts), address(stops), n, address(stack), count, address(lanes)
    )
    return lanes if done == 0 else None


def next_of_same(codes: npt.NDArray[np.integer[Any]]) -> Int64Array:
    """The index of the next element with the same code, −1 for the last one; int64 [n]. uint16 codes are fastest."""
    following, lib = np.full(len(codes), -1, np.int64), library()
    if lib is not None and codes.dtype == np.uint16:
        codes, last = np.ascontiguousarray(codes), np.full(1 << 16, -1, np.int64)
        lib.warpline_next_of_same(address(codes), len(codes), address(last), address(following))
        return following
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    following[order[same]] = order[same + 1]
    return following


def lane_order(lanes: Int32Array) -> Int64Array:
    """The stable permutation that sorts by lane; ``lanes`` are not negative."""
    highest = int(lanes.max(initial=0))
    if highest < _FEW_LANES:
        return np.concatenate([np.flatnonzero(lanes == lane) for lane in range(highest + 1)])
    # 16-bit numbers are sorted by counting.
    return np.argsort(lanes.astype(np.uint16) if highest < 1 << 16 else lanes, kind="stable")


def _first_fit(starts: Int64Array, stops: Int64Array, lane_stops: Int64Array) -> Int32Array:
    """The lowest lane that is free when each event starts.

    Lane by lane: the events of the lowest lane are the chain "the first event that starts at or after the end
    of the previous one", found for all events at once by pointer doubling; the rest goes to the next lane. What
    a few dozen lanes cannot hold (hundreds of asynchronous ranges at once) is placed with a heap of lane ends.
    """
    n = len(starts)
    lanes = np.zeros(n, np.int32)
    rest = np.arange(n)
    lane = 0
    while len(rest) and lane < _MAX_PEELED_LANES:
        free_from = lane_stops[lane] if lane < len(lane_stops) else _FOREVER_AGO
        chosen = _chain(starts[rest], stops[rest], int(free_from))
        lanes[rest[chosen]] = lane
        rest = rest[~chosen]
        lane += 1
    if len(rest):
        lanes[rest] = _first_fit_by_heap(starts[rest], stops[rest], lane_stops[lane:], lane)
    return lanes


def _chain(starts: Int64Array, stops: Int64Array, free_from: int) -> npt.NDArray[np.bool_]:
    """The events that a single lane takes if it takes each event that starts while it is free."""
    n = len(starts)
    first = int(np.searchsorted(starts, free_from, "left"))
    chosen = np.zeros(n, bool)
    if first == n:
        return chosen
    reach = np.maximum.accumulate(stops[first:])
    if np.all(starts[first + 1 :] >= reach[:-1]):
        chosen[first:] = True
        return chosen
    following = np.searchsorted(starts, stops, "left")
    # An instant may be followed by events at the same time; the chain must still advance.
    following = np.maximum(following, np.arange(1, n + 1))
    jump = np.r_[following, n]
    chosen = np.zeros(n + 1, bool)
    chosen[first] = True
    members = np.array([first])
    while True:
        reached = jump[members]
        reached = np.unique(reached[~chosen[reached]])
        reached = reached[reached < n]
        if not len(reached):
            # All members at distance below 2**k are known and jump leads 2**k on: nothing new means the end.
            break
        chosen[reached] = True
        members = np.flatnonzero(chosen[:n])
        jump = jump[jump]
    return chosen[:n]


def _first_fit_by_heap(
    starts: Int64Array, stops: Int64Array, lane_stops: Int64Array, first_lane: int
) -> Int32Array:
    free: list[int] = []
    busy: list[tuple[int, int]] = [(int(stop), first_lane + lane) for lane, stop in enumerate(lane_stops)]
    heapq.heapify(busy)
    next_lane = first_lane + len(lane_stops)
    lanes = np.empty(len(starts), np.int32)
    for index, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane = next_lane
            next_lane += 1
        lanes[index] = lane
        heapq.heappush(busy, (stop, lane))
    return lanes
