"""Rules: queues with too little room, and work that is copied from process to process."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    claim,
    cost,
    doings,
    first_in_chain,
    groups,
    make_finding,
    place_known,
    stacks_like,
    unclaimed,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.i18n import english
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

_COPIES = re.compile(
    r"multiprocessing/(connection|reduction|queues|managers)\.py:|/pickle\.py:|^Pool\._handle_(tasks|results) \("
    r"|^_(sendback_result|ExecutorManagerThread\.\w+) \("
)
_PROXY = re.compile(r"^BaseProxy\._callmethod \(.*/multiprocessing/managers\.py:")
_WORKS = (int(Cause.RUNNING), int(Cause.ALLOCATING))
_UNAVOIDABLE = 0.2
"""Share of the range up to which copies between processes are only a note: results have to be sent somehow."""
_BOTH_WAIT = 0.15
"""Share of the range that each side of a queue must wait for the other."""


def find_small_queues(case: Case) -> Iterator[Finding]:
    """Find queues whose two sides take turns waiting for each other: more room would let both work."""
    segments, least = case.segments, _BOTH_WAIT * case.whole_ns
    full = (segments.cause == Cause.QUEUE_FULL) & (segments.by >= 0)
    empty = (segments.cause == Cause.QUEUE_EMPTY) & (segments.by >= 0)
    if not full.any() or not empty.any():
        return
    for actor, giver in np.unique(np.stack([segments.actor[full], segments.by[full]], 1), axis=0).tolist():
        puts = np.flatnonzero(full & (segments.actor == actor) & (segments.by == giver))
        gets = np.flatnonzero(empty & (segments.actor == giver) & (segments.by == actor))
        put_ns, get_ns = int(segments.length[puts].sum()), int(segments.length[gets].sum())
        if min(put_ns, get_ns) < least:
            continue
        turns = np.concatenate([puts, gets])
        marked = np.zeros(len(segments), bool)
        marked[turns] = True
        pieces = unclaimed(
            case, (first_in_chain(case, marked) >= 0) | _while_waiting(case, turns, (actor, giver))
        )
        # With room for all items, the side with less to do finishes early, so only the other side's time counts.
        gain = min(put_ns, get_ns, int(case.pieces.length[pieces].sum()))
        place_of_get, place_of_put = case.where(_longest(case, gets)), case.where(_longest(case, puts))
        text = english(
            "The two sides of a queue alternate instead of working at the same time: {taker} waits {empty} for an "
            "item, and {put} waits {full} for room. The shorter wait is {percent:.0f} % of {whole}.",
            taker=place_known(place_of_get), put=place_known(place_of_put), empty=format_duration(get_ns),
            full=format_duration(put_ns), **cost(case, gain),
        )  # fmt: skip
        yield from claim(case, pieces, make_finding(
            case, name="small_queue", title=english("Too little room in a queue"), text=text, pieces=pieces,
            gain_ns=gain, where=place_of_put, time_ns=gain,
            remedy=english(
                "Give the queue room for more items, so that a slow item on one side does not stop the other."
            ),
        ))  # fmt: skip


def _while_waiting(case: Case, turns: IntArray, sides: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Which pieces are explained by one side of a queue while the other side waits for it."""
    segments, pieces = case.segments, case.pieces
    order = np.argsort(segments.start[turns], kind="stable")
    start, stop = merge_intervals(segments.start[turns][order], segments.stop[turns][order])
    middle = (pieces.start + pieces.stop) // 2
    at = np.searchsorted(start, middle, "right") - 1
    inside = (at >= 0) & (middle < stop[np.maximum(at, 0)])
    by_side: npt.NDArray[np.bool_] = inside & one_of(segments.actor[pieces.leaf], sides)
    return by_side


def _longest(case: Case, segments: IntArray) -> int:
    return int(segments[int(np.argmax(case.segments.length[segments]))])


def _copies_items(frames: list[str]) -> bool:
    """Whether a stack, leaf first, copies objects from or to another process."""
    for match in map(FRAME.match, frames):
        if match is None:
            continue
        if _COPIES.search(match[0]):
            return True
        if not is_library(match["file"]):
            return False
    return False


def find_copied_work(case: Case) -> Iterator[Finding]:
    """Find time in which processes pickle, send and unpickle what they hand to each other."""
    segments = case.segments
    hands_over = stacks_like(case, _copies_items)
    copies = hands_over & one_of(segments.cause, _WORKS)
    if not copies.any():
        return
    # A full pipe makes its writer wait until the other side has read.
    removed = copies | (hands_over & (segments.cause == Cause.PIPE) & (segments.by < 0))
    pieces = unclaimed(case, copies[case.pieces.leaf])
    for group in groups(case, pieces, np.zeros(len(pieces), np.int64)):
        where, path = where_of(case, group.pieces, deepest=False), usual_path(case, group.pieces)
        processes = np.array([thread.process for thread in case.view.capture.threads] or [0], np.int64)
        on_threads = copies & (segments.actor < len(case.view.capture.threads))
        count = len(np.unique(processes[segments.actor[on_threads]]))
        text = english(
            "Copying objects between {count} processes takes {time} of {whole} ({percent:.0f} %) of what {place} waits "
            "for: they are pickled, sent through a pipe and unpickled. All processes together spend {total} on it.",
            count=count, place=place_known(where), total=format_duration(int(segments.length[copies].sum())),
            **cost(case, group.time_ns),
        )  # fmt: skip
        gain = case.gain_ns(removed)
        yield from claim(case, group.pieces, make_finding(
            case, name="copied_work", title=english("Work copied between processes"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where, path=path, meanwhile=doings(case, path),
            worst=Severity.NOTE if gain < _UNAVOIDABLE * case.fair_ns else Severity.CRITICAL,
            remedy=english(
                "Hand over a file name, an index or shared memory instead of the data, or let the workers load it; "
                "send many small items in one message (chunksize)."
            ),
        ))  # fmt: skip


def find_proxies(case: Case) -> Iterator[Finding]:
    """Find calls of objects that a ``multiprocessing.Manager`` keeps in another process, grouped by line."""
    in_proxy = stacks_like(case, lambda frames: any(map(_PROXY.search, frames[:8])))
    calls = first_in_chain(case, in_proxy)
    pieces = unclaimed(case, calls >= 0)
    for group in groups(case, pieces, case.group_of_segment[calls[pieces]]):
        own = calls[group.pieces]
        where, path = case.where(int(own[0])), usual_path(case, group.pieces)
        if not where.file:
            continue
        text = english(
            "{time} of {whole} ({percent:.0f} %) goes to objects of a Manager, at {place}: each access is a message to "
            "another process and its reply.",
            place=place_known(where), **cost(case, group.time_ns),
        )  # fmt: skip
        yield from claim(case, group.pieces, make_finding(
            case, name="manager_calls", title=english("Objects shared through a Manager"), text=text,
            pieces=group.pieces, gain_ns=case.gain_ns(in_proxy), where=where, path=path, meanwhile=doings(case, path),
            remedy=english(
                "Let each process collect its own results and return them once, or use shared memory (Value, Array, "
                "shared_memory) instead of a Manager."
            ),
        ))  # fmt: skip


rules = (
    Rule("proxies", "locks", find_proxies, order=25),
    Rule("copied_work", "locks", find_copied_work, order=30),
    Rule("small_queues", "locks", find_small_queues, order=40),
)
