"""Rule: the stage of a pipeline that always works, while its neighbours wait at its queues."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.hot_spots import is_spread
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    claim,
    cost,
    doings,
    first_in_chain,
    groups,
    leaves_like,
    make_finding,
    place_known,
    unclaimed,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.work.handing_out import tasks_of_segments
from warpline.analysis.findings.work.loading_kinds import dominant_work
from warpline.i18n import english

_QUEUES = (int(Cause.QUEUE_EMPTY), int(Cause.QUEUE_FULL))
_WORKS = (int(Cause.RUNNING), int(Cause.RUNNABLE), int(Cause.GIL))
"""What a stage does while it has items. Waits for a core or the GIL count as work: they are due to others."""
_FEWEST = 5
"""How often a pipeline must at least wait at a queue."""
_FEEDER = "QueueFeederThread"
"""The thread of ``multiprocessing.Queue`` that sends what was put."""
_HANDED = 0.8
"""Share of the waits for a stage before which it has waited for its item: from here on, it is called, not fed."""
_BUSY, _WAITED = 0.8, 0.3
"""Least share of the pipeline's time in which its slowest stage works, and in which a neighbour waits for it."""


def find_busy_stages(case: Case) -> Iterator[Finding]:
    """Find stages, one thread each or several with one task, that run while others wait at a queue for them."""
    segments, pieces_all = case.segments, case.pieces
    waits = first_in_chain(case, one_of(segments.cause, _QUEUES))
    runs = (case.category == NUMBER["other_threads"]) & (segments.cause[pieces_all.leaf] == Cause.RUNNING)
    pieces = unclaimed(case, runs)
    task, _names = tasks_of_segments(case)
    actor = segments.actor[pieces_all.leaf[pieces]].astype(np.int64)
    # A thread of the program without a known task is a stage of its own.
    stage = np.where(task[pieces_all.leaf[pieces]] > 0, task[pieces_all.leaf[pieces]], -1 - actor)
    for group in groups(case, pieces, stage):
        queued = group.pieces[waits[group.pieces] >= 0]
        waiting = np.unique(waits[queued])
        if len(waiting) < _FEWEST:
            continue
        start, stop = int(segments.start[waiting].min()), int(segments.stop[waiting].max())
        actors = np.unique(segments.actor[pieces_all.leaf[group.pieces]])
        waited_ns = int(pieces_all.length[np.isin(waits, waiting)].sum())
        busy = _busy_ns(case, actors, start, stop) / max((stop - start) * len(actors), 1)
        if busy < _BUSY or waited_ns < _WAITED * (stop - start) or _is_a_call(case, waiting, actors):
            continue
        where, path = where_of(case, group.pieces), usual_path(case, queued)
        text = english(
            "{place} is the slowest stage of a pipeline. It works {busy:.0f} % of the time, while its neighbours wait "
            "at their queues; {subject} waits {time} of {whole} ({percent:.0f} %) for it.",
            place=place_known(where), busy=100 * busy, subject=case.target.title, **cost(case, group.time_ns),
        )  # fmt: skip
        remedy = english(
            "Speed up this stage, or run several of it in parallel: in processes where it is Python code."
        )
        leaf = pieces_all.leaf[group.pieces]
        work = dominant_work(case, segments.place[leaf], pieces_all.length[group.pieces], is_loading=False)
        if work is not None and work.kind is not None:
            text = english("{sentence} There, time goes to {doing}.", sentence=text, doing=work.kind.doing)
            remedy = work.kind.remedy
        gain, worst = case.bounded_by_cores(case.gain_ns(leaves_like(case, group.pieces))), Severity.CRITICAL
        is_needed = work is None or work.kind is None or work.kind.worst is Severity.NOTE
        if is_needed and is_spread(case, _running(case, actors)):
            # Its threads run side by side, so no GIL is in the way of more of them, but no core is left either.
            gain, worst = 0, Severity.NOTE
            remedy = english(
                "Every core works for this stage already: only less work in it helps, such as a faster algorithm."
            )
        yield from claim(case, group.pieces, make_finding(
            case, name="slow_stage", title=english("Slowest stage of a pipeline"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where, path=path, worst=worst,
            meanwhile=doings(case, path),
            remedy=remedy,
        ))  # fmt: skip


def _running(case: Case, actors: IntArray) -> IntArray:
    """The running segments of some threads; none if these wait for the GIL for much of their time."""
    segments = case.segments
    own = one_of(segments.actor, actors)
    runs = np.flatnonzero(own & one_of(segments.cause, (int(Cause.RUNNING), int(Cause.RUNNABLE))))
    gil_ns = int(segments.length[own & (segments.cause == Cause.GIL)].sum())
    return runs[:0] if gil_ns >= _WAITED * int(segments.length[runs].sum()) else runs


def _is_a_call(case: Case, waiting: IntArray, stage: IntArray) -> bool:
    """Whether the waiting thread hands over one item at a time and waits for each result, so that nothing overlaps."""
    segments, threads = case.segments, case.view.capture.threads
    waiters = np.unique(segments.actor[waiting])
    if len(waiters) != 1 or waiters[0] >= len(threads) or stage.max() >= len(threads):
        return False
    by_waiter = segments.by == waiters[0]
    by_waiter &= (segments.start >= segments.start[waiting].min()) & (
        segments.start < segments.stop[waiting].max()
    )
    # Items for another process pass through a thread that waits for each of them.
    feeders = [actor for actor in range(len(threads)) if case.threads.name(actor).startswith(_FEEDER)]
    handed = one_of(segments.actor, stage) & (segments.cause == Cause.QUEUE_EMPTY)
    handed |= one_of(segments.actor, np.array(feeders, np.int64)) & (segments.cause == Cause.CONDITION)
    return int((handed & by_waiter).sum()) >= _HANDED * len(waiting)


def _busy_ns(case: Case, actors: IntArray, start_ns: int, stop_ns: int) -> int:
    """How long some threads ran, or were ready to, in a stretch of time, ns in total."""
    segments = case.segments
    own = np.flatnonzero(one_of(segments.actor, actors) & one_of(segments.cause, _WORKS))
    inside = np.minimum(segments.stop[own], stop_ns) - np.maximum(segments.start[own], start_ns)
    return int(np.maximum(inside, 0).sum())


rules = (Rule("busy_stages", "locks", find_busy_stages, order=45),)
