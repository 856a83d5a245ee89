"""Work that could be done side by side and is not: one behind a lock, one task after the other, one worker alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import IntArray, doing_of, one_of
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.model.intervals import merge_intervals, union_ns

Int64Array = npt.NDArray[np.int64]
Int8Array = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]
_WORTH = 0.05
"""Of the range: less is left as it is."""
_TASKS = 3
_ALONE = 1.2
"""So many do something at a time, in the mean, when one does after the other."""
_UNEVEN = 1.5
"""The worker with most to do has so many times as much as the mean."""
_DONE_BY_WORKERS = tuple(
    NUMBER[key] for key in ("sleep", "file", "network", "other_threads", "running", "poll")
)
_TASK_WAITS = (int(Cause.RESULT), int(Cause.JOIN), int(Cause.CHILD))


def tell_serial(
    graph: WaitGraph, pieces: Pieces, category: Int8Array, actor: int, group: IntArray
) -> Int8Array:
    """Categories, with those told apart that are serial. ``group`` is a number for the place of each segment."""
    found = category.copy()
    can_be = np.flatnonzero(one_of(category, _DONE_BY_WORKERS))
    found[can_be[_behind_locks(graph, pieces, can_be, actor)]] = NUMBER["lock"]
    deep = np.flatnonzero(one_of(found, _DONE_BY_WORKERS) & (pieces.depth > 0))
    for chosen, work in _kinds_of_work(graph, pieces, deep, group):
        found[chosen[_one_after_the_other(graph, pieces, chosen, work, group)]] = NUMBER["one_at_a_time"]
        found[chosen[_alone(graph, pieces, chosen, work)]] = NUMBER["uneven"]
    return found


def _behind_locks(graph: WaitGraph, pieces: Pieces, chosen: Int64Array, actor: int) -> BoolArray:
    """Of pieces those in which somebody waits for a lock of whoever explains them, where these waits are worth
    something.
    """
    segments = graph.segments
    inside = np.zeros(len(chosen), bool)
    waits = (segments.cause == Cause.LOCK) & (segments.by >= 0)
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
    """Each number there is with the places that have it, ascending."""
    order = np.argsort(numbers, kind="stable")
    values, first = np.unique(numbers[order], return_index=True)
    ends = np.append(first[1:], len(order))
    for value, begin, end in zip(values.tolist(), first.tolist(), ends[: len(values)].tolist(), strict=True):
        yield value, order[begin:end]


def _kinds_of_work(
    graph: WaitGraph, pieces: Pieces, chosen: Int64Array, group: IntArray
) -> list[tuple[Int64Array, Int64Array]]:
    """Pieces explained by the same doing at the same place, and all segments of that doing, of anybody."""
    segments = graph.segments
    size = int(group.max(initial=0)) + 1
    key = doing_of(segments, group)
    leaf = pieces.leaf[chosen]
    least = _WORTH * (graph.stop_ns - graph.start_ns)
    kinds = []
    for one in np.unique(key[leaf]).tolist():
        own = chosen[key[leaf] == one]
        if one % size and pieces.length[own].sum() >= least:
            kinds.append((own, np.flatnonzero(key == one)))
    return kinds


def _one_after_the_other(
    graph: WaitGraph, pieces: Pieces, chosen: Int64Array, work: Int64Array, group: IntArray
) -> BoolArray:
    """Of pieces of one work those that are waited for task by task at one place, while nobody else does such work."""
    segments = graph.segments
    is_task = one_of(segments.cause[pieces.root[chosen]], _TASK_WAITS)
    start, stop = segments.start[work], segments.stop[work]
    if not is_task.any() or int((stop - start).sum()) > _ALONE * union_ns(start, stop):
        return np.zeros(len(chosen), bool)
    place = group[pieces.root[chosen]]
    found = np.zeros(len(chosen), bool)
    for one in np.unique(place[is_task]).tolist():
        own = is_task & (place == one)
        if len(np.unique(pieces.root[chosen[own]])) >= _TASKS:
            found |= own
    return found


def _alone(graph: WaitGraph, pieces: Pieces, chosen: Int64Array, work: Int64Array) -> BoolArray:
    """Of pieces of one work those in which one worker does it and others, who did some, have no more."""
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
