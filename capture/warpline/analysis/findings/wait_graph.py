"""Who waits for whose doing: what would come of it without some of it, and which path it is that takes the time.

The walks are C (``native/wait_graph.c``), and their twins here, which are used where nothing is compiled.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import CONTENTION, SIGNALS, Cause
from warpline.analysis.findings.segments import Index, IntArray, Segments, one_of
from warpline.compiled import load

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating[Any]]
LIBRARY = Path(__file__).parent / "libwarpline_waits.so"
MOST_JUMPS = 64
"""From one to another at one moment."""
_PASSIVE = (*SIGNALS, Cause.LOCK, Cause.BLOCKED, Cause.SIGNAL, Cause.OTHER)
_Pointer = ctypes.c_void_p
_Integer = ctypes.c_int64


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled walks, None where they are not compiled."""
    return load(
        LIBRARY,
        {
            "warpline_replay": (None, [_Integer, *[_Pointer] * 7, _Integer, _Pointer]),
            "warpline_walk": (
                _Integer,
                [_Pointer, _Pointer, *[_Integer] * 5, _Pointer, _Pointer],
            ),
        },
    )


class WaitGraph:
    """The segments of all actors over one range, and which segment of whom ends each wait."""

    def __init__(self, segments: Segments, start_ns: int, stop_ns: int, compiled: bool = True) -> None:
        self.segments, self.start_ns, self.stop_ns = segments, start_ns, stop_ns
        self.index = Index(segments, start_ns, stop_ns)
        self._library = library() if compiled else None
        self._start = np.ascontiguousarray(segments.start)
        self._stop = np.ascontiguousarray(segments.stop)
        waits = np.flatnonzero(segments.by >= 0)
        self._on = np.full(len(segments), -1, np.int32)
        # What somebody did until the wait was over; what begins at that very moment comes too late.
        self._on[waits] = self.index.at(segments.by[waits], segments.stop[waits] - 1)
        self._first = np.ones(len(segments), np.uint8)
        self._first[1:] = segments.actor[1:] != segments.actor[:-1]
        # Who comes at another time may find the lock free, and never waits longer than for one that has it.
        self._shorter = one_of(segments.cause, CONTENTION).astype(np.uint8)
        self._held_up = np.zeros(len(segments), bool)
        self._before: dict[int, int] = {}
        self._unknown = (self._on < 0) & one_of(segments.cause, _PASSIVE)
        # What ends at one moment: what is done there before what waited for it.
        ends = (segments.stop - start_ns) * 2
        ends += self._on >= 0
        self._order = np.argsort(ends, kind="stable").astype(np.int32)

    def hold(self, which: npt.NDArray[np.bool_]) -> None:
        """Marks segments that are known to have held somebody up: their length counts, whatever ended them."""
        self._held_up = which
        self._before.clear()

    def replay(self, keep: FloatArray) -> Int64Array:
        """When each segment would end, capture ns, if of its length only a part in 0-1 were left; a wait for somebody
        known lasts until he is there, and with 0 is none.
        """
        keep = np.ascontiguousarray(keep, np.float32)
        end = np.zeros(len(self.segments), np.int64)
        if self._library is None:
            return _replay(
                self._order,
                self._start,
                self._stop,
                self._first,
                self._shorter,
                keep,
                self._on,
                self.start_ns,
            )
        self._library.warpline_replay(
            len(end), _at(self._order), _at(self._start), _at(self._stop), _at(self._first),
            _at(self._shorter), _at(keep), _at(self._on), self.start_ns, _at(end),
        )  # fmt: skip
        return end

    def gain_ns(self, actor: int, keep: FloatArray) -> int:
        """What an actor would be earlier at the end of the range if of each segment only a part in 0-1 were left.

        A wait of others for somebody who is not known lasts as long as he takes, which nobody knows: it holds up
        nobody.
        """
        last = int(np.searchsorted(self.segments.actor, np.int32(actor), "right")) - 1
        if last < 0 or self.segments.actor[last] != actor or (keep == 1).all():
            return 0
        unknown = self._unknown & (self.segments.actor != actor) & ~self._held_up
        everyone = int(unknown.sum())
        unknown &= keep == 1
        before = self._before.get(actor) if int(unknown.sum()) == everyone else None
        if before is None:
            before = int(self.replay(np.where(unknown, np.float32(0), np.float32(1)))[last])
            if int(unknown.sum()) == everyone:
                # Mostly nothing of what is unknown is taken away: the same is compared with again.
                self._before[actor] = before
        after = int(self.replay(np.where(unknown, np.float32(0), keep))[last])
        return max(before - after, 0)

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
                _at(self._start), _at(self._on), at, self.stop_ns, self.start_ns, MOST_JUMPS, len(segment),
                _at(segment), _at(begin),
            )  # fmt: skip
            segment, begin = segment[:count], begin[:count]
        segment, begin = segment[::-1], begin[::-1]
        stop = np.append(begin[1:], self.stop_ns)
        return segment, begin, stop


def _at(array: npt.NDArray[Any]) -> int:
    return int(array.ctypes.data)


def _replay(
    order: IntArray,
    start: Int64Array,
    stop: Int64Array,
    first: npt.NDArray[np.uint8],
    shorter: npt.NDArray[np.uint8],
    keep: FloatArray,
    on: IntArray,
    origin: int,
) -> Int64Array:
    """``warpline_replay``."""
    begins, ends, is_first = start.tolist(), stop.tolist(), first.tolist()
    kept, after, is_shorter = keep.tolist(), on.tolist(), shorter.tolist()
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
