"""Rule: pools whose workers all wait for something outside the program while more work is queued."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    claim,
    cost,
    count_calls,
    doings,
    groups,
    make_finding,
    pieces_of,
    place_known,
    stacks_like,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.i18n import english, english_n
from warpline.model.intervals import union_ns

_OUTSIDE = tuple(map(int, (Cause.SLEEP, Cause.NETWORK, Cause.POLL, Cause.CHILD)))
_CATEGORIES = ("sleep", "network", "poll", "child")
_POOL = re.compile(r"/concurrent/futures/|/multiprocessing/pool\.py|/joblib/|/billiard/pool\.py")
_MANAGES = re.compile(r"_ExecutorManagerThread\.|Pool\._handle_|_queue_management_worker")
_LOOKED_AT = 8
_CALLS_EACH = 3
"""A pool whose workers do fewer tasks than this has little queued."""
_BUSY = 0.8
"""Share of the workers that must wait at the same time on average."""


def find_small_pools(case: Case) -> Iterator[Finding]:
    """Find waits for workers that all wait outside the program at once, grouped by the worker's line."""
    pieces = pieces_of(case, *_CATEGORIES)
    leaf = case.pieces.leaf[pieces]
    inside = (case.pieces.depth[pieces] > 0) & one_of(case.segments.cause[leaf], _OUTSIDE)
    pieces, leaf = pieces[inside], leaf[inside]
    if not len(pieces):
        return
    in_pool = stacks_like(case, _is_task)
    pieces = pieces[in_pool[leaf]]
    for group in groups(case, pieces, case.doing[case.pieces.leaf[pieces]].astype(np.int64)):
        kind = int(case.doing[case.pieces.leaf[group.pieces[0]]])
        work = np.flatnonzero((case.doing == kind) & in_pool)
        start, stop = case.segments.start[work], case.segments.stop[work]
        workers = len(np.unique(case.segments.actor[work]))
        calls = count_calls(case, work)
        if int(case.segments.cause[work[0]]) == Cause.POLL and not _is_for_data(case, work):
            continue
        order = np.argsort(start, kind="stable")
        together = int((stop - start).sum()) / max(union_ns(start[order], stop[order]), 1)
        if calls < _CALLS_EACH * workers or together < _BUSY * workers:
            continue
        where, path = where_of(case, group.pieces), usual_path(case, group.pieces)
        text = english_n(
            "The only worker of a pool waits outside the program for {time} of {whole} ({percent:.0f} %), {calls:,} "
            "times at {place}, while more work is queued.",
            "The {count} workers of a pool all wait outside the program for {time} of {whole} ({percent:.0f} %), "
            "{calls:,} times at {place}, while more work is queued.",
            workers, calls=calls, place=place_known(where), **cost(case, group.time_ns),
        )  # fmt: skip
        # With a worker for each task, the longest one is left.
        gain = case.gain_ns((case.doing == kind) & in_pool) - int((stop - start).max())
        yield from claim(case, group.pieces, make_finding(
            case, name="small_pool", title=english("Too few workers in a pool"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where, path=path, meanwhile=doings(case, path),
            remedy=english("Give the pool more workers: while they wait, they need no cores."),
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


def _is_task(frames: list[str]) -> bool:
    """Whether a stack is of a task that a pool runs."""
    return any(_POOL.search(frame) for frame in frames) and not any(
        _MANAGES.search(frame) for frame in frames
    )


rules = (Rule("small_pools", "locks", find_small_pools, order=50),)
