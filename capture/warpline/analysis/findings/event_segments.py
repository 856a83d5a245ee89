"""The time of threads without recorded states, from the first to the last event of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import NOBODY, Segments, join_segments, make_segments
from warpline.analysis.framework.nested_events import times_of_spans
from warpline.analysis.framework.selected.spans import LaneSpans, rows_of
from warpline.analysis.framework.selection import BATCH_EVENTS, View
from warpline.model.intervals import merge_grouped

Int64Array = npt.NDArray[np.int64]
_HIDDEN_NS = 20_000
"""Shorter gaps between two events of a thread count as running."""


def event_segments(view: View, threads: Int64Array) -> Segments:
    """Threads (ascending) without states: they run during their events. Between events, the main thread of a process
    runs unrecorded code, and other threads wait for it.
    """
    wanted = frozenset(threads.tolist())
    tracks = [t.index for t in view.capture.tracks if t.device is None and t.thread in wanted]
    spans = view.lane_spans(tracks)
    parts = [(np.empty(0, np.int64),) * 3, *(_active_times(view, lanes) for lanes in _portions(view, spans))]
    thread, start, stop = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = np.bincount(view.thread_of_track[spans.track], spans.counts).astype(np.int64)
    mains = _main_threads(view, {int(number): int(counts[number]) for number in np.flatnonzero(counts)})
    is_main = np.isin(thread, np.fromiter(mains, np.int64, len(mains)))
    heads = np.flatnonzero(np.append(True, thread[1:] != thread[:-1])[: len(thread)])
    tails = np.append(heads[1:], len(thread))[: len(heads)] - 1
    whole = is_main[heads]
    before = np.flatnonzero((thread[1:] == thread[:-1]) & ~is_main[1:])
    own = np.flatnonzero(~is_main)
    return join_segments(
        [
            make_segments(
                thread[before],
                stop[before],
                start[before + 1],
                Cause.CONDITION,
                _waited_for(view, mains)[thread[before]],
            ),
            make_segments(thread[heads[whole]], start[heads[whole]], stop[tails[whole]], Cause.RUNNING),
            make_segments(thread[own], start[own], stop[own], Cause.RUNNING),
        ]
    )


def _portions(view: View, spans: LaneSpans) -> Iterator[LaneSpans]:
    """The lanes thread by thread, in portions of whole threads, so that memory follows the largest thread."""
    thread = view.thread_of_track[spans.track]
    if not len(thread) or bool(
        (thread == thread[0]).all()
    ):  # without copies: a thread may have a million lanes
        yield from [spans] if len(thread) else []
        return
    order = np.argsort(thread, kind="stable")
    ordered, filled = thread[order], np.cumsum(spans.counts[order])
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)[: len(order)]) + 1
    first = 0
    while first < len(order):
        limit = BATCH_EVENTS + (int(filled[first - 1]) if first else 0)
        reached = int(np.searchsorted(filled[ends - 1], limit, "right"))
        stop = int(ends[max(reached - 1, 0)])
        if stop <= first:
            stop = int(ends[np.searchsorted(ends, first, "right")])
        yield spans.take(order[first:stop])
        first = stop


def _active_times(view: View, spans: LaneSpans) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(thread, start, stop) of the stretches in which threads run their events."""
    start, stop = times_of_spans(view, spans, rows_of(spans.first, spans.stop))
    stop += _HIDDEN_NS
    # Each lane is sorted: most events merge before the lanes of a thread are.
    is_head = np.append(True, start[1:] > stop[:-1])[: len(start)]
    ends = np.cumsum(spans.counts)
    is_head[ends[:-1]] = True
    heads = np.flatnonzero(is_head)
    thread = view.thread_of_track[spans.track[np.searchsorted(ends, heads, "right")]]
    start, stop = start[heads], np.maximum.reduceat(stop, heads)
    del is_head, ends, heads
    thread, start, stop = merge_grouped(thread, start, stop)
    return thread, start, stop - _HIDDEN_NS


def _waited_for(view: View, mains: frozenset[int]) -> Int64Array:
    """For each thread of the capture, the main thread of its process, `NOBODY` for none."""
    capture = view.capture
    main_of = {capture.threads[thread].process: thread for thread in sorted(mains, reverse=True)}
    return np.array([main_of.get(thread.process, NOBODY) for thread in capture.threads] or [NOBODY], np.int64)


def _main_threads(view: View, counts: dict[int, int]) -> frozenset[int]:
    """For each process, the thread whose tid is its pid, else the one with most events."""
    capture = view.capture
    mains: dict[int, int] = {}
    for thread in sorted(counts, key=lambda thread: -counts[thread]):
        known = capture.threads[thread]
        if known.tid == capture.processes[known.process].pid:
            mains[known.process] = thread
        mains.setdefault(known.process, thread)
    return frozenset(mains.values())
