"""Rule: threads that are woken again and again only to wait again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import claim, cost, make_finding, pieces_of, place_known
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import distinct, one_of
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]

_CONDITIONS = tuple(map(int, (Cause.CONDITION, Cause.EVENT, Cause.SEMAPHORE)))
_MANY_THREADS, _MANY_WAKE_UPS = 4, 200
_FOR_NOTHING = 0.75
"""Least share of the wake-ups after which the thread waits again at once."""
_IN_HERDS = 0.1
"""Least share of the threads that a notify_all() usually wakes at once."""
_AT_ONCE_NS = 300_000
"""A thread that runs for less than this between two waits at one place found nothing to do."""
_TOGETHER_NS = 15_000
"""A notify_all() ends waits in steps shorter than this."""
_COST = ("gil", "lock", "semaphore", "other_threads", "running", "runnable", "condition")


def find_wake_ups(case: Case) -> Iterator[Finding]:
    """Find conditions that wake many threads although one of them can go on, by the line that waits."""
    segments, place = case.segments, case.group_of_segment
    waits = np.flatnonzero(one_of(segments.cause, _CONDITIONS) & (place > 0))
    if len(waits) < _MANY_WAKE_UPS:
        return
    groups, which = distinct(place[waits])
    following = waits[1:]
    is_same = (segments.actor[waits[:-1]] == segments.actor[following]) & (which[1:] == which[:-1])
    ran = _run_between(case, waits)
    vain = np.append(is_same & (ran < _AT_ONCE_NS), False)
    for number in range(len(groups)):
        own = which == number
        count, threads = int(own.sum()), len(np.unique(segments.actor[waits[own]]))
        if count < _MANY_WAKE_UPS or threads < _MANY_THREADS or vain[own].mean() < _FOR_NOTHING:
            continue
        if not _are_woken_together(case, waits[own], threads):
            continue
        where = case.where(int(waits[own][0]))
        actors = np.unique(segments.actor[waits[own]])
        pieces = pieces_of(case, *_COST)
        by = np.isin(segments.actor[case.pieces.leaf[pieces]], actors)
        holders = segments.by[case.pieces.leaf[pieces]]
        pieces = pieces[by | np.isin(holders, actors)]
        if not len(pieces):
            continue
        text = english(
            "{count:,} wake-ups of {threads} threads at {place}, and after {percent_vain:.0f} % of them the thread "
            "waits again at once. That takes {time} of {whole} ({percent:.0f} %).",
            count=count, threads=threads, place=place_known(where), percent_vain=100 * vain[own].mean(),
            **cost(case, int(case.pieces.length[pieces].sum())),
        )  # fmt: skip
        yield from claim(case, pieces, make_finding(
            case, name="vain_wake_ups", title=english("Threads woken for nothing"), text=text, pieces=pieces,
            gain_ns=case.gain_of_pieces(pieces), where=where,
            remedy=english("Wake as many threads as there are items: notify() instead of notify_all(), or a queue."),
        ))  # fmt: skip


def _are_woken_together(case: Case, waits: Int64Array, threads: int) -> bool:
    """Whether one thread usually ends the waits of many at once, as notify_all does; notify ends one at a time.

    Those that wait there themselves also hand on the lock, so they count only where nobody else wakes them.
    """
    segments = case.segments
    by = segments.by[waits].astype(np.int64)
    outside = ~np.isin(by, np.unique(segments.actor[waits])) & (by >= 0)
    if outside.any():
        waits, by = waits[outside], by[outside]
    stop = segments.stop[waits]
    order = np.lexsort((stop, by))
    apart = (np.diff(by[order]) != 0) | (np.diff(stop[order]) > _TOGETHER_NS)
    burst = np.concatenate([[0], np.cumsum(apart)])
    return bool(np.median(np.bincount(burst)[burst]) >= max(_MANY_THREADS, _IN_HERDS * threads))


def _run_between(case: Case, waits: Int64Array) -> Int64Array:
    """Running time of the thread between each wait and the next, ns [n − 1]."""
    segments = case.segments
    runs = np.where(segments.cause == Cause.RUNNING, segments.length, 0)
    total = np.concatenate([[0], np.cumsum(runs)])
    ran: Int64Array = total[waits[1:]] - total[waits[:-1] + 1]
    return ran


rules = (Rule("wake_ups", "locks", find_wake_ups, order=45),)
