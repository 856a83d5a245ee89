"""Rules: pools that are too small for tasks that wait, and workers that got more than their share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import CONTENTION, SIGNALS, Cause
from warpline.analysis.findings.draft import (
    claim,
    cost,
    count_calls,
    doings,
    first_in_chain,
    groups,
    make_finding,
    place_known,
    place_of,
    severity,
    stacks_like,
    unclaimed,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.work.handing_out import line_of_pool, line_that_hands_out, tasks_of_segments
from warpline.i18n import english, english_n
from warpline.model.intervals import union_ns

_OUTSIDE = tuple(map(int, (Cause.SLEEP, Cause.NETWORK, Cause.POLL, Cause.CHILD)))
_IDLE = (
    *(int(cause) for cause in SIGNALS if cause not in (Cause.PIPE, Cause.POLL, Cause.CHILD, Cause.RESULT)),
    *map(int, (*CONTENTION, Cause.NOT_RECORDED, Cause.BLOCKED, Cause.RUNNABLE)),
)
"""What counts as idle: a worker without a task, and waits for a core or a lock, which are due to others."""
_UNEVEN, _PARALLEL = 1.3, 1.02
"""The busiest worker's load as a multiple of the mean, and the mean number of busy workers that counts as parallel."""
_POOL = re.compile(r"/concurrent/futures/|/multiprocessing/pool\.py|/joblib/|/billiard/pool\.py")
_MANAGES = re.compile(r"_ExecutorManagerThread\.|Pool\._handle_|_queue_management_worker")
_LOOKED_AT = 8
_CALLS_EACH = 3
"""With fewer tasks per worker than this, a pool has little in its queue."""
_SPARE_WORKERS, _MOST_WORKERS = 4, 32
"""``ThreadPoolExecutor`` has so many more workers than there are cores, but no more than 32: made for tasks that wait.
Whether a pool of at least that size is too small depends on what its tasks wait for, which is not recorded.
https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.ThreadPoolExecutor"""
TASKLESS = tuple(map(int, (Cause.QUEUE_EMPTY, Cause.CONDITION, Cause.EVENT, Cause.PIPE)))
"""How a worker waits until it gets a task."""
_QUEUED = 0.75
"""Least share of the tasks that a worker must begin without such a wait, if work is queued."""
_BUSY = 0.8
"""Share of the workers that must be waiting at the same time, on average."""


def find_small_pools(case: Case) -> Iterator[Finding]:
    """Find waits for workers that all wait outside the program at once, grouped by the worker's line."""
    in_pool = stacks_like(case, is_task)
    outside = in_pool & one_of(case.segments.cause, _OUTSIDE)
    waits = first_in_chain(case, outside)
    # A peer needs a core to compute the answer; more workers would not make that faster.
    is_idle = one_of(case.segments.cause[case.pieces.leaf], _OUTSIDE)
    pieces = unclaimed(case, (waits >= 0) & (waits != case.pieces.root) & is_idle)
    if not len(pieces):
        return
    doing = case.doing
    for group in groups(case, pieces, doing[waits[pieces]].astype(np.int64)):
        kind = int(doing[waits[group.pieces[0]]])
        work = np.flatnonzero((doing == kind) & in_pool)
        start, stop = case.segments.start[work], case.segments.stop[work]
        workers = len(np.unique(case.segments.actor[work]))
        calls = count_calls(case, work)
        if int(case.segments.cause[work[0]]) == Cause.POLL and not _is_for_data(case, work):
            continue
        order = np.argsort(start, kind="stable")
        together = int((stop - start).sum()) / max(union_ns(start[order], stop[order]), 1)
        if calls < _CALLS_EACH * workers or together < _BUSY * workers or not _is_queued(case, work):
            continue
        where, path = case.where(int(work[0])), usual_path(case, group.pieces)
        text = english_n(
            "The only worker of a pool waits outside the program for {time} of {whole} ({percent:.0f} %), {calls:,} "
            "times at {place}, while more work is queued.",
            "The {count} workers of a pool all wait outside the program for {time} of {whole} ({percent:.0f} %), "
            "{calls:,} times at {place}, while more work is queued.",
            workers, calls=calls, place=place_known(where), **cost(case, group.time_ns),
        )  # fmt: skip
        waiting = where_of(case, group.pieces, deepest=False)
        made = line_of_pool(case, (waiting.file, where.file))
        if made is not None:
            where = replace(where, **_place(made))
            text = english("{sentence} The pool is created at {place}.", sentence=text, place=place_of(made))
        is_wide = workers >= min(case.cores + _SPARE_WORKERS, _MOST_WORKERS)
        remedy = english("Give the pool more workers: while they wait, they need no cores.")
        if is_wide:
            remedy = english(
                "Give the pool more workers if what they wait for can serve more at once: it already has as many as a "
                "thread pool gets by default, or more."
            )
        # With one worker per task, only the longest task remains.
        gain = case.gain_ns(outside) - int((stop - start).max())
        yield from claim(case, group.pieces, make_finding(
            case, name="small_pool", title=english("Too few workers in a pool"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where, path=path, meanwhile=doings(case, path), remedy=remedy,
            worst=Severity.NOTE if is_wide else Severity.CRITICAL,
        ))  # fmt: skip


def _is_for_data(case: Case, waits: IntArray) -> bool:
    """Whether waits for file descriptors are for one socket or pipe each, as a read with a timeout is."""
    calls, segments = case.threads.calls, case.segments
    texts = case.view.capture.strings
    for wait in waits[:_LOOKED_AT].tolist():
        own = np.flatnonzero(calls.thread == segments.actor[wait])
        at = own[np.searchsorted(calls.start[own], segments.start[wait] + 2_000) - 1] if len(own) else -1
        text = int(calls.object[at]) if at >= 0 else -1
        if text < 0 or not texts[text].startswith(("socket:", "pipe:")):
            return False
    return True


def _is_queued(case: Case, work: IntArray) -> bool:
    """Whether workers begin most tasks without a wait for one: else they are handed out one after another.

    ``work`` are the segments of all tasks; those of one worker are in order.
    """
    segments = case.segments
    is_taskless = one_of(segments.cause, TASKLESS) & (tasks_of_segments(case)[0] == 0)
    waits = np.concatenate([[0], np.cumsum(is_taskless)])
    same = segments.actor[work[1:]] == segments.actor[work[:-1]]
    begins = (waits[work[1:]] == waits[work[:-1] + 1])[same]
    return bool(begins.mean() >= _QUEUED) if len(begins) else True


def is_task(frames: list[str]) -> bool:
    """Whether a stack is of a task that a pool runs."""
    return any(_POOL.search(frame) for frame in frames) and not any(
        _MANAGES.search(frame) for frame in frames
    )


def find_uneven_workers(case: Case) -> Iterator[Finding]:
    """Find workers of one task that are still busy after all others have finished, grouped by the task's function."""
    segments, (task, task_names) = case.segments, tasks_of_segments(case)
    busy = (task > 0) & ~one_of(segments.cause, _IDLE)
    for number in np.unique(task[busy]).tolist():
        own = np.flatnonzero(busy & (task == number))
        workers, which = np.unique(segments.actor[own], return_inverse=True)
        time = np.bincount(which.reshape(-1), segments.length[own])
        if len(workers) < 2 or time.max() < _UNEVEN * time.mean():
            continue
        # Workers that take turns on a busy core are at work at the same time.
        active = np.flatnonzero((task == number) & (busy | (segments.cause == Cause.RUNNABLE)))
        order = active[np.argsort(segments.start[active], kind="stable")]
        lengths = int(segments.length[active].sum())
        if lengths < _PARALLEL * union_ns(segments.start[order], segments.stop[order]):
            continue
        last = int(workers[int(np.argmax(time))])
        # A lone worker's waits for a core count too: with the work shared, the others would have waits of their own.
        theirs = np.zeros(len(segments), bool)
        theirs[active[segments.actor[active] == last]] = True
        waits = first_in_chain(case, theirs)
        finished = int(segments.stop[own[segments.actor[own] != last]].max())
        pieces = unclaimed(case, (waits >= 0) & (waits != case.pieces.root) & (case.pieces.stop > finished))
        if not len(pieces):
            continue
        lasted = case.pieces.stop[pieces] - np.maximum(case.pieces.start[pieces], finished)
        works = busy[waits[pieces]]
        alone, excess = int(lasted.sum()), float(time.max() - time.mean())
        # How much longer the time alone is than the work in it, and the share of all work that is in excess.
        stretch, share = alone / max(int(lasted[works].sum()), 1), excess / max(case.working_ns, 1)
        where, path = where_of(case, pieces, deepest=False), usual_path(case, pieces)
        handed = line_that_hands_out(case, *task_names[number - 1])
        where = where if handed is None else replace(where, **_place(handed))
        text = english_n(
            "{subject} works alone for {time} of {whole} ({percent:.0f} %), mostly at {work}, while {count} other "
            "worker has nothing left to do. The work is handed out at {place}.",
            "{subject} works alone for {time} of {whole} ({percent:.0f} %), mostly at {work}, while {count} other "
            "workers have nothing left to do. The work is handed out at {place}.",
            len(workers) - 1, subject=case.actor_name(last), place=place_known(where),
            work=place_known(_longest_place(case, waits, pieces)), **cost(case, alone),
        )  # fmt: skip
        yield from claim(case, pieces, make_finding(
            case, name="uneven_workers", title=english("Unevenly shared work"), text=text, pieces=pieces,
            gain_ns=min(int(excess * stretch), alone), where=where, path=path, time_ns=alone, worst=severity(share),
            remedy=english(
                "Split the work into smaller pieces (chunksize=1 in a pool, else a shared queue), so that a worker "
                "that finishes early takes the next one, and start the longest first."
            ),
        ))  # fmt: skip


def _place(where: Where) -> dict[str, Any]:
    return {"file": where.file, "line": where.line, "function": where.function}


def _longest_place(case: Case, segments: IntArray, pieces: IntArray) -> Where:
    """The place with most of the time of some pieces; ``segments`` has one segment for each piece of the case."""
    places = case.group_of_segment[segments[pieces]]
    total = np.bincount(places, case.pieces.length[pieces])
    total[0] = 0
    return case.where(int(segments[pieces[int(np.argmax(places == int(np.argmax(total))))]]))


rules = (
    Rule("uneven_tasks", "locks", find_uneven_workers, order=48),
    Rule("small_pools", "locks", find_small_pools, order=50),
)
