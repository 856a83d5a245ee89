"""Who waits for whose doing: what would come of it without some of it, and which path it is that takes the time.

The walks are C (``native/wait_graph.c``), and their twins here, which are used where nothing is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import CONTENTION, SIGNALS, Cause
from warpline.analysis.findings.segments import Index, IntArray, Segments, one_of
from warpline.compiled import address

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating[Any]]
MOST_JUMPS = 64
"""From one to another at one moment."""
_PASSIVE = (*SIGNALS, Cause.LOCK, Cause.BLOCKED, Cause.SIGNAL, Cause.OTHER)
FIRST, SHORTER, SILENT = 1, 2, 4
_HEAD_BYTES = 24


class WaitGraph:
    """The segments of all actors over one range, and which segment of whom ends each wait."""

    def __init__(self, segments: Segments, start_ns: int, stop_ns: int, compiled: bool = True) -> None:
        self.segments, self.start_ns, self.stop_ns = segments, start_ns, stop_ns
        self.index = Index(segments, start_ns, stop_ns, compiled)
        self._library = self.index.library
        self._start = np.ascontiguousarray(segments.start)
        self._stop = np.ascontiguousarray(segments.stop)
        waits = np.flatnonzero(segments.by >= 0)
        self._on = np.full(len(segments), -1, np.int32)
        # What somebody did until the wait was over; what begins at that very moment comes too late.
        self._on[waits] = self.index.at(segments.by[waits], segments.stop[waits] - 1)
        # Who comes at another time may find the lock free, and never waits longer than for one that has it.
        self._marks = one_of(segments.cause, CONTENTION).astype(np.uint8)
        self._marks *= SHORTER
        self._marks[self.index.first[:-1][np.diff(self.index.first) > 0]] |= FIRST
        self._marks |= np.where(
            (self._on < 0) & one_of(segments.cause, _PASSIVE), np.uint8(SILENT), np.uint8(0)
        )
        self._before: dict[int, int] = {}
        self._order = self._by_ends()

    def _by_ends(self) -> IntArray:
        """What ends at one moment: what is done there before what waited for it."""
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

    def hold(self, which: npt.NDArray[np.bool_]) -> None:
        """Marks segments that are known to have held somebody up: their length counts, whatever ended them. Once."""
        self._marks[which] &= ~np.uint8(SILENT)
        self._before.clear()

    def replay(self, keep: FloatArray) -> Int64Array:
        """When each segment would end, capture ns, if of its length only a part in 0-1 were left; a wait for somebody
        known lasts until he is there, and with 0 is none.
        """
        return self._replay(keep, (0, len(self.segments)))

    def _replay(self, keep: FloatArray | None, own: tuple[int, int], is_before: bool = False) -> Int64Array:
        """`replay` with what is not known of others than the segments ``own`` left out, unless ``keep`` takes of it
        (None: of nothing); ``is_before`` leaves out the same, and takes nothing away.
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
        """What an actor would be earlier at the end of the range if of each segment only a part in 0-1 were left.

        A wait of others for somebody who is not known lasts as long as he takes, which nobody knows: it holds up
        nobody.
        """
        whose = self.segments.actor
        low, high = np.searchsorted(whose, np.array([actor, actor + 1], whose.dtype)).tolist()
        own, last = (low, high), high - 1
        changed = keep != 1
        if low == high or not changed.any():
            return 0
        changed &= self._marks & SILENT > 0
        changed[low:high] = False
        if changed.any():
            before = int(self._replay(keep, own, is_before=True)[last])
        else:
            # Mostly nothing of what is unknown is taken away: the same is compared with again.
            if actor not in self._before:
                self._before[actor] = int(self._replay(None, own)[last])
            before = self._before[actor]
        return max(before - int(self._replay(keep, own)[last]), 0)

    def walk(self, actor: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The path that took the time, from the start of the range to what an actor did last: (segment, start, stop),
        int64 [n] each; they lie end to end and fill the range.
        """
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
    kept, after, is_shorter = keep.tolist(), on.tolist(), (marks & SHORTER > 0).tolist()
    end = [0] * len(begins)
    for i in order.tolist():
        begin = origin if is_first[i] else end[i - 1]
        j = after[i]
        if j < 0:
            end[i] = begin + int((ends[i] - begins[i]) * kept[i])
            continue
        end[i] = begin
        if kept[i] > 0:
            reached = (origin if is_first[j] else end[j - 1]) + int((ends[i] - begins[j]) * kept[j])
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
