"""Finds serial work that could run in parallel: behind a lock, task by task, or on one worker alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import SIGNALS, Cause
from warpline.analysis.findings.segments import IntArray, doing_of, one_of
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.model.intervals import merge_intervals, union_ns

Int64Array = npt.NDArray[np.int64]
Int8Array = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]
_WORTH = 0.05
"""Share of the range below which work keeps its category."""
_TASKS = 3
_ALONE = 1.2
"""Mean number of parallel workers up to which work counts as serial."""
_UNEVEN = 1.3
"""The busiest worker's load, as a multiple of the mean, from which work is uneven."""
_DONE_BY_WORKERS = tuple(
    NUMBER[key] for key in ("sleep", "file", "network", "other_threads", "running", "poll")
)
_IDLE = tuple(map(int, (*SIGNALS, Cause.NOT_RECORDED, Cause.BLOCKED, Cause.LOCK, Cause.GIL, Cause.RUNNABLE)))
"""What a worker does without a task, or when it is about to wait for the next one."""
_MOSTLY = 0.7
_ENDS = (int(Cause.JOIN), int(Cause.CHILD))
_UNBORN = (int(Cause.START), int(Cause.NOT_RECORDED))
_TASK_WAITS = (int(Cause.RESULT), *_ENDS)


def categorize_serial(
    graph: WaitGraph, pieces: Pieces, category: Int8Array, actor: int, group: IntArray
) -> Int8Array:
    """The categories with serial work separated. ``group`` is a number for the place of each segment."""
    result = category.copy()
    can_be = np.flatnonzero(one_of(category, _DONE_BY_WORKERS))
    for cause, key in ((Cause.LOCK, "lock"), (Cause.SEMAPHORE, "semaphore")):
        result[can_be[_behind_locks(graph, pieces, can_be, actor, cause)]] = NUMBER[key]
    deep = np.flatnonzero(one_of(result, _DONE_BY_WORKERS) & (pieces.depth > 0))
    for chosen, work in _kinds_of_work(graph, pieces, deep, group):
        result[chosen[_one_after_the_other(graph, pieces, chosen, work, group)]] = NUMBER["one_at_a_time"]
        result[chosen[_alone(graph, pieces, chosen, work)]] = NUMBER["uneven"]
    return result


def _behind_locks(
    graph: WaitGraph, pieces: Pieces, chosen: Int64Array, actor: int, cause: Cause
) -> BoolArray:
    """Which pieces are explained by the holder of a lock (a wait of kind ``cause``) while others wait for it, if
    removing these waits helps.
    """
    segments = graph.segments
    inside = np.zeros(len(chosen), bool)
    waits = (segments.cause == cause) & (segments.by >= 0)
    if not waits.any():
        return inside
    if graph.gain_ns(actor, np.where(waits, np.float32(0), np.float32(1))) < _WORTH * (
        graph.stop_ns - graph.start_ns
    ):
        return inside
    middle = (pieces.start[chosen] + pieces.stop[chosen]) // 2
    explained = dict(_by_number(segments.actor[pieces.leaf[chosen]]))
    places = np.flatnonzero(waits)
    for holder, own in _by_number(segments.by[places]):
        here = explained.get(holder)
        if here is None:
            continue
        own = places[own]
        start, stop = merge_intervals(segments.start[own], segments.stop[own])
        at = np.searchsorted(start, middle[here], "right") - 1
        inside[here] = (at >= 0) & (middle[here] < stop[np.maximum(at, 0)])
    return inside


def _by_number(numbers: IntArray) -> Iterator[tuple[int, Int64Array]]:
    """Each distinct number with the indices that have it, ascending."""
    order = np.argsort(numbers, kind="stable")
    values, first = np.unique(numbers[order], return_index=True)
    ends = np.append(first[1:], len(order))
    for value, begin, end in zip(values.tolist(), first.tolist(), ends[: len(values)].tolist(), strict=True):
        yield value, order[begin:end]


def _kinds_of_work(
    graph: WaitGraph, pieces: Pieces, chosen: Int64Array, group: IntArray
) -> list[tuple[Int64Array, Int64Array]]:
    """(pieces, segments) for each kind of work: pieces it explains, and all segments with that cause and place."""
    segments = graph.segments
    size = int(group.max(initial=0)) + 1
    key = doing_of(segments, group)
    leaf = pieces.leaf[chosen]
    least = _WORTH * (graph.stop_ns - graph.start_ns)
    kinds = []
    for kind in np.unique(key[leaf]).tolist():
        own = chosen[key[leaf] == kind]
        if kind % size and pieces.length[own].sum() >= least:
            kinds.append((own, np.flatnonzero(key == kind)))
    return kinds


def _one_after_the_other(
    graph: WaitGraph, pieces: Pieces, chosen: Int64Array, work: Int64Array, group: IntArray
) -> BoolArray:
    """Which pieces of one kind of work are waited for task by task at one place, with no such work in parallel."""
    segments = graph.segments
    is_task = one_of(segments.cause[pieces.root[chosen]], _TASK_WAITS)
    # A worker that is ready to run has a task: on a busy machine, tasks that run side by side take turns on a core.
    ready = (segments.cause == Cause.RUNNABLE) & one_of(segments.actor, np.unique(segments.actor[work]))
    busy = np.union1d(work, np.flatnonzero(ready)) if (segments.cause[work] == Cause.RUNNING).any() else work
    start, stop = segments.start[busy], segments.stop[busy]
    if not is_task.any() or int((stop - start).sum()) > _ALONE * union_ns(start, stop):
        return np.zeros(len(chosen), bool)
    place = group[pieces.root[chosen]]
    is_serial = np.zeros(len(chosen), bool)
    for number in np.unique(place[is_task]).tolist():
        own = is_task & (place == number)
        waits, first = np.unique(pieces.root[chosen[own]], return_index=True)
        if _starts_each_later(graph, waits, pieces.leaf[chosen[own]][first]):
            is_serial |= own
    return is_serial


def _starts_each_later(graph: WaitGraph, waits: Int64Array, work: IntArray) -> bool:
    """Whether most of some waits for a task are for one that was not at work yet when the wait before it ended.

    ``work`` is the first segment that explains each wait. Joins and results in the order of tasks that all run already
    are no sign of serial work.
    """
    segments = graph.segments
    by = segments.by[waits]
    known = np.flatnonzero(by >= 0)
    waits, by, work = waits[known], by[known], work[known]
    if len(waits) < _TASKS:
        return False
    at = graph.index.at(by[1:], segments.stop[waits[:-1]])
    cause = segments.cause[np.maximum(at, 0)]
    idle = (at < 0) | one_of(cause, _IDLE)
    # A worker may still be running when its result has arrived; a wait that is its work began afterwards. Running code
    # is cut at samples, so its start says nothing.
    blocks = segments.cause[work[1:]] < Cause.RUNNABLE
    idle |= blocks & (segments.start[work[1:]] >= segments.stop[waits[:-1]])
    # A thread or process that is joined is one task, begun when it started, whatever it waits for inside.
    joined = one_of(segments.cause[waits[1:]], _ENDS)
    idle &= ~joined | (at < 0) | one_of(cause, _UNBORN)
    return bool(idle.mean() > _MOSTLY)


def _alone(graph: WaitGraph, pieces: Pieces, chosen: Int64Array, work: Int64Array) -> BoolArray:
    """Which pieces of one kind of work are done by the last busy worker after all others have finished."""
    segments = graph.segments
    none = np.zeros(len(chosen), bool)
    workers, inverse = np.unique(segments.actor[work], return_inverse=True)
    total = np.bincount(inverse.reshape(-1), segments.length[work])
    start, stop = segments.start[work], segments.stop[work]
    if len(workers) < 2 or total.max() < _UNEVEN * total.mean() or total.sum() < 1.02 * union_ns(start, stop):
        return none
    last = int(workers[int(np.argmax(total))])
    others = segments.actor[work] != last
    end = int(stop[others].max())
    alone: BoolArray = (segments.actor[pieces.leaf[chosen]] == last) & (pieces.start[chosen] >= end)
    return alone
