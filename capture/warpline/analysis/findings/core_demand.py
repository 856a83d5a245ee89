"""Computes the cost of waits for a core: of having more to run than cores, and of waits that belong to running code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import Segments, one_of
from warpline.analysis.findings.wait_graph import WaitGraph

Int64Array = npt.NDArray[np.int64]
_PARTS = 2048
"""Parts of the range in which running threads are counted."""
_RUNS = tuple(int(cause) for cause in (Cause.RUNNING, Cause.IMPORTING, Cause.ALLOCATING, Cause.COMPILING))


def crowded_ns(graph: WaitGraph, cores: int) -> int:
    """How much longer the program would take alone on ``cores`` cores than on unlimited ones, ns.

    The range is replayed without any wait for a core. Whatever then runs in parallel beyond ``cores`` must be done
    later. Other programs make threads wait longer but do not make them run more, so they do not count here. The excess
    is averaged over short parts of the range, so that brief bursts do not count either.
    """
    segments, whole_ns = graph.segments, max(graph.stop_ns - graph.start_ns, 1)
    ends = graph.replay(np.where(segments.cause == Cause.RUNNABLE, np.float32(0), np.float32(1)))
    first = np.ones(len(segments), bool)
    first[1:] = segments.actor[1:] != segments.actor[:-1]
    begins = np.empty_like(ends)
    begins[1:] = ends[:-1]
    begins[first] = graph.start_ns
    runs = np.flatnonzero(one_of(segments.cause, _RUNS))
    edges = np.linspace(0, whole_ns, _PARTS + 1)
    ran = _sum_until(begins[runs] - graph.start_ns, edges) - _sum_until(ends[runs] - graph.start_ns, edges)
    beyond = np.maximum(np.diff(ran) - cores * np.diff(edges), 0)
    return int(beyond.sum() / cores)


def _sum_until(times: Int64Array, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each edge, the sum of its distances to all earlier times."""
    part = np.clip(np.searchsorted(edges, times, "right"), 1, len(edges) - 1)
    before = (edges[part] - times) * (times < edges[-1])
    # Running time counts up to the end of its own part, and in full for every later part.
    counts = np.cumsum(np.bincount(part[times < edges[-1]], minlength=len(edges)))
    whole = np.concatenate([[0.0], np.cumsum(counts[:-1] * np.diff(edges))])
    sums: npt.NDArray[np.float64] = whole + np.cumsum(np.bincount(part, before, len(edges)))
    return sums


def ran_meanwhile(
    graph: WaitGraph, actor: int, threads: int, start: Int64Array, stop: Int64Array
) -> dict[int, int]:
    """How long each other thread of the program ran during some stretches, ns by actor."""
    segments = graph.segments
    running = one_of(segments.cause, (int(Cause.RUNNING), int(Cause.IMPORTING)))
    others = np.unique(segments.actor[running & (segments.actor < threads)])
    ran = {}
    for other in others[others != actor].tolist():
        window, segment = graph.index.overlapping(np.full(len(start), other), start, stop)
        runs = running[segment]
        window, segment = window[runs], segment[runs]
        length = np.minimum(stop[window], segments.stop[segment]) - np.maximum(
            start[window], segments.start[segment]
        )
        if len(length):
            ran[other] = int(length.sum())
    return ran


def with_core_waits(segments: Segments, keep: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """``keep`` (the share of each segment that remains) with waits for a core shortened like the code around them."""
    waits = np.flatnonzero((segments.cause == Cause.RUNNABLE) & (keep == 1))
    runs = one_of(segments.cause, _RUNS)
    if not len(waits) or not (keep[runs] != 1).any():
        return keep
    total, count = np.zeros(len(waits), np.float32), np.zeros(len(waits), np.float32)
    for beside in (waits - 1, waits + 1):
        at = np.clip(beside, 0, len(segments) - 1)
        known = (at == beside) & (segments.actor[at] == segments.actor[waits]) & runs[at]
        total += np.where(known, keep[at], np.float32(0))
        count += known
    shortened = keep.copy()
    shortened[waits[count > 0]] = (total / np.maximum(count, 1))[count > 0]
    return shortened
