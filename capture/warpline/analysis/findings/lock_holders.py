"""Finds who holds a lock at each moment of a wait, where it passes through several hands meanwhile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import CONTENTION, Cause
from warpline.analysis.findings.segments import NOBODY, Index, Segments, one_of, split_at
from warpline.analysis.findings.thread_time import Threads
from warpline.model.waits import WaitKind

Int64Array = npt.NDArray[np.int64]
_MOST_CUTS = 1 << 20
"""Waits are not split further than this in all."""
_HELD = tuple(int(cause) for cause in CONTENTION if cause is not Cause.GIL)


def with_holders(threads: Threads, segments: Segments) -> Segments:
    """The segments, with waits for a lock cut where another waiter gets it; each part has the holder of its time.

    The end of a wait shows who had the lock until then, so it names the holder for all who still wait.
    """
    view = threads.view
    thread, start, stop, group, giver = _lock_calls(threads)
    if not len(thread):
        return segments
    order = np.lexsort((stop, group))
    thread, start, stop, group, giver = (column[order] for column in (thread, start, stop, group, giver))
    span = view.duration_ns + 2
    keys = group * span + (stop - view.start_ns)
    first = np.searchsorted(keys, group * span + np.maximum(start - view.start_ns, 0), "right")
    count = np.maximum(np.arange(len(keys)) - first, 0)
    if not count.any() or count.sum() > _MOST_CUTS:
        return segments
    call = np.repeat(np.arange(len(keys)), count)
    handover = np.arange(len(call)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    segments = split_at(segments, Index(segments, view.start_ns, view.stop_ns), thread[call], stop[handover])
    return _with_givers(segments, view.start_ns, span, (thread, start, stop, group, giver))


def _with_givers(
    segments: Segments,
    origin: int,
    span: int,
    calls: tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array],
) -> Segments:
    """Each part of a wait ends with the next hand-over of its lock."""
    thread, start, stop, group, giver = calls
    waits = np.flatnonzero(one_of(segments.cause, _HELD))
    middle = (segments.start[waits] + segments.stop[waits]) // 2 - origin
    order = np.lexsort((start, thread))
    own = thread[order] * span + np.maximum(start[order] - origin, 0)
    at = np.searchsorted(own, segments.actor[waits].astype(np.int64) * span + middle, "right") - 1
    call = order[np.maximum(at, 0)]
    inside = (at >= 0) & (thread[call] == segments.actor[waits]) & (stop[call] - origin > middle)
    waits, call, middle = waits[inside], call[inside], middle[inside]
    following = np.searchsorted(group * span + (stop - origin), group[call] * span + middle)
    holder = giver[np.minimum(following, len(giver) - 1)]
    known = (holder != NOBODY) & (holder != segments.actor[waits])
    by = segments.by.astype(np.int64)
    by[waits[known]] = holder[known]
    return replace(segments, by=by.astype(segments.by.dtype, copy=False))


def _lock_calls(threads: Threads) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
    """(thread, start, stop, lock, giver), int64 [n] each, of waits for locks that end inside the range and whose giver
    is known.
    """
    view = threads.view
    table = view.capture.kinds.get("osrt")
    if table is None or not {"address", "wait", "ended_by"} <= set(table.attributes) or not view.has("osrt"):
        none = np.empty(0, np.int64)
        return none, none, none, none, none
    events = view.events("osrt")
    calls = threads.calls_of(events)
    kind = np.ma.filled(view.column("osrt", "wait", events.index).astype(np.int64), 0)
    address = view.column("osrt", "address", events.index)
    giver = np.where(calls.ended_by != NOBODY, calls.ended_by, calls.by)
    is_lock = (kind == WaitKind.LOCK) & ~np.ma.getmaskarray(address) & (giver != NOBODY)
    is_lock &= (events.stop < view.stop_ns) & (calls.thread >= 0)
    rows = np.flatnonzero(is_lock)
    process = np.array([known.process for known in view.capture.threads] or [0], np.int64)
    _, lock = np.unique(np.ma.filled(address, 0).astype(np.uint64)[rows], return_inverse=True)
    _, lock = np.unique(
        np.stack([process[calls.thread[rows]], lock.reshape(-1)], 1), axis=0, return_inverse=True
    )
    return (
        calls.thread[rows],
        np.maximum(events.start[rows], view.start_ns),
        events.stop[rows],
        lock.reshape(-1).astype(np.int64),
        giver[rows],
    )
