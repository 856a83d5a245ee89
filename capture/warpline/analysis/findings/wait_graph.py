"""The graph of waits: replays the range without some segments, and finds the critical path.

The loops are C (``native/wait_graph.c``) with Python twins here for systems without a compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import CONTENTION, SIGNALS, Cause, is_wait
from warpline.analysis.findings.segments import Index, IntArray, Segments, one_of
from warpline.compiled import address

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating[Any]]
MOST_JUMPS = 64
"""How many actors a path may visit at one moment."""
_PASSIVE = (*SIGNALS, Cause.LOCK, Cause.SEMAPHORE, Cause.BLOCKED, Cause.SIGNAL, Cause.OTHER)
FIRST, SHORTER, SILENT = 1, 2, 4
_HEAD_BYTES = 24


class WaitGraph:
    """The segments of all actors in a range, and for each wait the segment that ends it."""

    def __init__(self, segments: Segments, start_ns: int, stop_ns: int, compiled: bool = True) -> None:
        self.segments, self.start_ns, self.stop_ns = segments, start_ns, stop_ns
        self.index = Index(segments, start_ns, stop_ns, compiled)
        self._library = self.index.library
        self._start = np.ascontiguousarray(segments.start)
        self._stop = np.ascontiguousarray(segments.stop)
        waits = np.flatnonzero(segments.by >= 0)
        self._on = np.full(len(segments), -1, np.int32)
        # Take the segment that lasts until the end of the wait; one that begins at that moment is too late.
        on = self.index.at(segments.by[waits], segments.stop[waits] - 1)
        # An actor that waited the whole time cannot have ended the wait: it was attributed to the wrong actor.
        at = np.maximum(on, 0)
        slept = (on >= 0) & is_wait(segments.cause[at]) & (segments.start[at] <= segments.start[waits])
        slept &= segments.stop[at] > segments.stop[waits]
        self._on[waits] = np.where(slept, -1, on)
        # A thread that arrives at another time may find the lock free, and never waits longer than it did.
        self._marks = one_of(segments.cause, CONTENTION).astype(np.uint8)
        self._marks *= SHORTER
        self._marks[self.index.first[:-1][np.diff(self.index.first) > 0]] |= FIRST
        self._marks |= np.where(
            (self._on < 0) & one_of(segments.cause, _PASSIVE), np.uint8(SILENT), np.uint8(0)
        )
        self._before: dict[int, int] = {}
        self._order = self._by_ends()

    def _by_ends(self) -> IntArray:
        """Segments ordered by end; at equal ends, work comes before the waits it ends."""
        if self._library is None:
            ends = (self._stop - self.start_ns) * 2
            ends += self._on >= 0
            return np.argsort(ends, kind="stable").astype(np.int32)
        order = np.empty(len(self.segments), np.int32)
        first = self.index.first
        heap = np.empty(len(first) * _HEAD_BYTES, np.uint8)
        self._library.warpline_by_ends(
            address(self._stop),
            address(self._on),
            address(first),
            len(first) - 1,
            address(heap),
            address(order),
        )
        return order

    def hold(self, mask: npt.NDArray[np.bool_]) -> None:
        """Mark segments that are known to delay others: their length counts whatever ended them. Call it once."""
        self._marks[mask] &= ~np.uint8(SILENT)
        self._before.clear()

    def replay(self, keep: FloatArray) -> Int64Array:
        """When each segment would end, capture ns, if only the share ``keep`` (0–1) of its length remained.

        A wait with a known end lasts until that end; with 0 there is no wait.
        """
        return self._replay(keep, (0, len(self.segments)))

    def _replay(self, keep: FloatArray | None, own: tuple[int, int], is_before: bool = False) -> Int64Array:
        """`replay` without the waits of unknown end, except those of the segments ``own`` and those that ``keep``
        shortens (None: none). ``is_before`` leaves out the same waits and shortens nothing.
        """
        if keep is not None:
            keep = np.ascontiguousarray(keep, np.float32)
        if self._library is None:
            parts = np.ones(len(self.segments), np.float32) if keep is None else keep
            silent = (self._marks & SILENT > 0) & (parts == 1)
            silent[slice(*own)] = False
            parts = np.where(silent, np.float32(0), np.float32(1) if is_before else parts)
            return _replay(
                self._order, self._start, self._stop, self._marks, parts, self._on, self.start_ns
            )  # fmt: skip
        end = np.empty(len(self.segments), np.int64)
        self._library.warpline_replay(
            len(end), address(self._order), address(self._start), address(self._stop), address(self._marks),
            None if keep is None else address(keep), *own, is_before, address(self._on), self.start_ns, address(end),
        )  # fmt: skip
        return end

    def gain_ns(self, actor: int, keep: FloatArray) -> int:
        """How much earlier an actor would reach the end of the range if only the share ``keep`` (0–1) of each segment
        remained, ns.

        Other actors' waits of unknown end delay nobody.
        """
        actors = self.segments.actor
        low, high = np.searchsorted(actors, np.array([actor, actor + 1], actors.dtype)).tolist()
        own, last = (low, high), high - 1
        changed = keep != 1
        if low == high or not changed.any():
            return 0
        changed &= self._marks & SILENT > 0
        changed[low:high] = False
        if changed.any():
            before = int(self._replay(keep, own, is_before=True)[last])
        else:
            # Usually no unknown wait is shortened, so the baseline is the same each time.
            if actor not in self._before:
                self._before[actor] = int(self._replay(None, own)[last])
            before = self._before[actor]
        return max(before - int(self._replay(keep, own)[last]), 0)

    def baseline_error_ns(self, actor: int) -> int:
        """How far the replay without any change ends from where the recording of an actor ends, ns."""
        actors = self.segments.actor
        low, high = np.searchsorted(actors, np.array([actor, actor + 1], actors.dtype)).tolist()
        if low == high:
            return 0
        if actor not in self._before:
            self._before[actor] = int(self._replay(None, (low, high))[high - 1])
        return abs(self.stop_ns - self._before[actor])

    def walk(self, actor: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The critical path to the end of an actor: (segment, start, stop), int64 [n] each, filling the range."""
        at = int(self.index.at(np.array([actor]), np.array([self.stop_ns - 1]))[0])
        if at < 0:
            none = np.empty(0, np.int64)
            return none, none, none
        if self._library is None:
            segment, begin = _walk(self._start, self._on, at, self.stop_ns, self.start_ns)
        else:
            segment, begin = (np.empty(len(self.segments), np.int64) for _ in range(2))
            count = self._library.warpline_walk(
                address(self._start), address(self._on), at, self.stop_ns, self.start_ns, MOST_JUMPS, len(segment),
                address(segment), address(begin),
            )  # fmt: skip
            segment, begin = segment[:count], begin[:count]
        segment, begin = segment[::-1], begin[::-1]
        stop = np.append(begin[1:], self.stop_ns)
        return segment, begin, stop


def _replay(
    order: IntArray,
    start: Int64Array,
    stop: Int64Array,
    marks: npt.NDArray[np.uint8],
    keep: FloatArray,
    on: IntArray,
    origin: int,
) -> Int64Array:
    """``warpline_replay``."""
    begins, ends, is_first = start.tolist(), stop.tolist(), (marks & FIRST > 0).tolist()
    shares, after, is_shorter = keep.tolist(), on.tolist(), (marks & SHORTER > 0).tolist()
    end = [0] * len(begins)
    for i in order.tolist():
        begin = origin if is_first[i] else end[i - 1]
        j = after[i]
        if j < 0:
            end[i] = begin + int((ends[i] - begins[i]) * shares[i])
            continue
        end[i] = begin
        if shares[i] > 0:
            reached = (origin if is_first[j] else end[j - 1]) + int((ends[i] - begins[j]) * shares[j])
            if is_shorter[i]:
                reached = min(reached, begin + ends[i] - begins[i])
            end[i] = max(begin, reached)
    return np.array(end, np.int64)


def _walk(start: Int64Array, on: IntArray, at: int, stop: int, origin: int) -> tuple[Int64Array, Int64Array]:
    """``warpline_walk``."""
    begins, after = start.tolist(), on.tolist()
    segment: list[int] = []
    begin: list[int] = []
    jumps = MOST_JUMPS
    while stop > origin and len(segment) < len(begins):
        if after[at] >= 0 and jumps > 0:
            at = after[at]
            while begins[at] >= stop and begins[at] > origin:
                at -= 1
            jumps -= 1
            continue
        stop = max(begins[at], origin)
        segment.append(at)
        begin.append(stop)
        at -= 1
        jumps = MOST_JUMPS
    return np.array(segment, np.int64), np.array(begin, np.int64)
