"""Rule: batches whose last task runs on while all other workers idle, because the next batch waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.pools import TASKLESS, is_task
from warpline.analysis.findings.causes import SIGNALS, Cause
from warpline.analysis.findings.draft import (
    claim,
    cost,
    first_in_chain,
    make_finding,
    place_known,
    stacks_like,
    unclaimed,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.work.handing_out import tasks_of_segments
from warpline.i18n import english, english_n
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_IDLE = tuple(int(cause) for cause in SIGNALS if cause not in (Cause.PIPE, Cause.POLL, Cause.CHILD))
_ENDS = tuple(map(int, (Cause.JOIN, Cause.CHILD)))
"""Waits for threads and processes that the target has started, each for one task."""
_ARRIVES = tuple(map(int, (Cause.RESULT, Cause.CONDITION, Cause.EVENT)))
"""How the target waits for the result of a task."""
_PAUSE_NS = 1_000_000
"""A worker that gets no task for so long has none: shorter pauses lie between the parts of one."""
_FEW = 4
"""The tail of a batch is the time with at most one of so many workers at work, or with a single one."""
_BATCHES = 3
_INSIDE = 0.25
"""Least share of a wait that lies in a tail."""
_LONG = 0.25
"""Least share of the time of the batches in their tails."""


@dataclass(frozen=True, eq=False)
class PoolBatches:
    """The batches of a pool's tasks: the most ``workers`` at once, and ``start`` and ``stop`` of their tails, in order.

    ``active`` is how many workers are at work in the tails, on average.
    """

    workers: int
    active: float
    start: Int64Array
    stop: Int64Array


def find_stragglers(case: Case) -> Iterator[Finding]:
    """Find the time in which the target waits for the last tasks of batch after batch, in one finding."""
    segments = case.segments
    task = tasks_of_segments(case)[0]
    ends = segments.by[(segments.actor == case.actor) & one_of(segments.cause, _ENDS)]
    joined = np.unique(task[one_of(segments.actor, np.unique(ends[ends >= 0]))])
    in_task = (task > 0) & (stacks_like(case, is_task) | one_of(task, joined))
    busy = in_task & ~one_of(segments.cause, _IDLE) & (segments.actor != case.actor)
    batches = _batches(case, busy)
    if batches is None or len(batches.start) < _BATCHES:
        return
    waits = first_in_chain(case, busy)
    at = np.maximum(np.searchsorted(batches.start, case.pieces.stop) - 1, 0)
    # A piece is the whole wait for one task, so the tail may begin inside it.
    inside = np.minimum(case.pieces.stop, batches.stop[at]) - np.maximum(case.pieces.start, batches.start[at])
    in_tail = inside >= _INSIDE * case.pieces.length
    waited = (waits >= 0) & (waits != case.pieces.root)
    has_core = segments.cause[case.pieces.leaf] != Cause.RUNNABLE
    pieces = unclaimed(case, in_tail & waited & has_core)
    pieces = pieces[_waits_for_one(case.pieces.root[pieces], at[pieces])]
    tails = len(np.unique(at[pieces]))
    if tails < _BATCHES:
        return
    time_ns = int(inside[pieces].sum())
    is_running = segments.cause[case.pieces.leaf[pieces]] == Cause.RUNNING
    runs = 2 * int(inside[pieces[is_running]].sum()) > time_ns
    workers = min(batches.workers, case.cores) if runs else batches.workers
    # If batches followed each other without a pause, all workers would share the work of the tails.
    gain = int(time_ns * max(1 - batches.active / workers, 0))
    where, waiting = where_of(case, pieces), where_of(case, pieces, deepest=False)
    idle = max(round(batches.workers - batches.active), 1)
    text = english_n(
        "{batches:,} batches of tasks end with stragglers: while the last task runs at {place}, {count} other "
        "worker idles. That takes {time} of {whole} ({percent:.0f} %), {each} a batch. {waiting} waits for the whole "
        "batch before it hands out more.",
        "{batches:,} batches of tasks end with stragglers: while the last task runs at {place}, {count} other "
        "workers idle. That takes {time} of {whole} ({percent:.0f} %), {each} a batch. {waiting} waits for the whole "
        "batch before it hands out more.",
        idle, batches=tails, each=format_duration(time_ns // tails), place=place_known(where),
        waiting=place_known(waiting), **cost(case, time_ns),
    )  # fmt: skip
    yield from claim(case, pieces, make_finding(
        case, name="stragglers", title=english("Stragglers of a batch"), text=text, pieces=pieces,
        gain_ns=case.bounded_by_cores(gain) if runs else gain, where=where, time_ns=time_ns,
        path=usual_path(case, pieces),
        remedy=english(
            "Hand out the work of the next batch as results arrive (as_completed, imap_unordered, one queue for all), "
            "start the longest tasks first, or split them."
        ),
    ))  # fmt: skip


def _waits_for_one(waits: IntArray, batch: Int64Array) -> BoolArray:
    """Which pieces belong to a wait for a single batch: one that lasts through several hands out nothing between them.

    ``waits`` and ``batch`` are the target's wait and the number of the batch of each piece.
    """
    pairs = np.unique(np.stack([waits, batch], axis=1), axis=0)
    numbers, count = np.unique(pairs[:, 0], return_counts=True)
    return ~one_of(waits, numbers[count > 1])


def _batches(case: Case, busy: BoolArray) -> PoolBatches | None:
    """The batches between the moments at which no task runs, where several run at once; None without any."""
    start, stop = _tasks(case, busy)
    if not len(start):
        return None
    times = np.concatenate([start, stop])
    change = np.concatenate([np.ones(len(start), np.int64), -np.ones(len(stop), np.int64)])
    order = np.lexsort((-change, times))
    level, edges = np.cumsum(change[order])[:-1], times[order]
    length = np.diff(edges)
    batch = np.concatenate([[0], np.cumsum(level == 0)[:-1]])
    most = np.zeros(int(batch[-1]) + 1, np.int64)
    np.maximum.at(most, batch, level)
    low = np.maximum(most // _FEW, 1)
    last = np.full(len(most), -1, np.int64)
    high = np.flatnonzero((level > low[batch]) & (length > 0))
    last[batch[high]] = high  # the last one is kept
    is_batch = (most >= 2) & (last >= 0)
    inside = is_batch[batch] & (level > 0)
    tail = np.flatnonzero(inside & (np.arange(len(level)) > last[batch]) & (length > 0))
    lasted = np.bincount(batch[inside], length[inside], len(most))
    own = np.bincount(batch[tail], length[tail], len(most))
    if not len(tail) or own.sum() < _LONG * lasted.sum():
        return None
    active = float((level[tail] * length[tail]).sum() / max(int(length[tail].sum()), 1))
    numbers, first = np.unique(batch[tail], return_index=True)
    final = np.append(first[1:], len(tail)) - 1
    return PoolBatches(int(most[numbers].max()), active, edges[tail[first]], edges[tail[final] + 1])


def _tasks(case: Case, busy: BoolArray) -> tuple[Int64Array, Int64Array]:
    """When tasks begin and end: without a wait for a task, short pauses belong to one, until its result arrives."""
    segments = case.segments
    own = np.flatnonzero(busy)
    if not len(own):
        return own, own
    waits = np.concatenate([[0], np.cumsum(one_of(segments.cause, TASKLESS) & ~busy)])
    joined = segments.actor[own[1:]] == segments.actor[own[:-1]]
    joined &= waits[own[1:]] == waits[own[:-1] + 1]
    joined &= segments.start[own[1:]] - segments.stop[own[:-1]] < _PAUSE_NS
    first = np.flatnonzero(np.concatenate([[True], ~joined]))
    final = np.append(first[1:], len(own)) - 1
    start, stop = segments.start[own[first]], segments.stop[own[final]]
    actor = segments.actor[own[first]].astype(np.int64)
    results = (segments.actor == case.actor) & one_of(segments.cause, _ARRIVES) & (segments.by >= 0)
    by, arrived = segments.by[results].astype(np.int64), segments.stop[results]
    span = 2 * case.view.duration_ns + 1
    origin = case.view.start_ns
    at = np.maximum(np.searchsorted(actor * span + start - origin, by * span + arrived - origin) - 1, 0)
    cut = arrived[(actor[at] == by) & (start[at] < arrived) & (arrived < stop[at])]
    return np.concatenate([start, cut + 1]), np.concatenate([stop, cut])


rules = (Rule("stragglers", "locks", find_stragglers, order=46),)
