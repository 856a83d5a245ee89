"""Rules about locks and semaphores: who holds them, and whether they only bound the work."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    cost,
    doings,
    groups,
    leaves_like,
    make_finding,
    pieces_of,
    place_known,
    place_of,
    usual_path,
    where_of,
    within_budget,
)
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.wait_kinds import FRAME
from warpline.analysis.findings.work.running_work import source_files
from warpline.i18n import english
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_BOUNDED = english(
    "If the semaphore is meant as a limit, keep it: more threads at once would only share the cores."
)
_BUSY = (int(Cause.RUNNING), int(Cause.RUNNABLE))
_NEARLY_ALL = 0.8
"""From this share of busy cores on, more threads at once would not help."""
_OUTSIDE = tuple(map(int, (Cause.SLEEP, Cause.NETWORK, Cause.POLL, Cause.CHILD, Cause.FILE)))


class _Kind(NamedTuple):
    """A kind of lock: its category in the budget, its cause and its sentences."""

    key: str
    cause: Cause
    title: str
    held: str
    requested: str
    total: str
    remedy: str


_LOCKS = (
    _Kind(
        "lock",
        Cause.LOCK,
        english("Waiting for a lock"),
        english("{title} takes {time} of {whole} ({percent:.0f} %). The lock is held at {place}."),
        english("{title} takes {time} of {whole} ({percent:.0f} %). The lock is requested at {place}."),
        english(
            "{title} takes {time} of {whole} ({percent:.0f} %). The lock is held at {place}. All waits for locks "
            "take {total}; where the holder itself waits, the time is counted under that wait instead."
        ),
        english("Hold the lock for a shorter time, or split it: work done under it makes others wait."),
    ),
    _Kind(
        "semaphore",
        Cause.SEMAPHORE,
        english("Waiting for a semaphore"),
        english("{title} takes {time} of {whole} ({percent:.0f} %). Its holders are at {place}."),
        english("{title} takes {time} of {whole} ({percent:.0f} %). It is requested at {place}."),
        english(
            "{title} takes {time} of {whole} ({percent:.0f} %). Its holders are at {place}. All waits for "
            "semaphores take {total}; where the holder itself waits, the time is counted under that wait instead."
        ),
        english("Let more threads in at once, or do less between acquiring and releasing it."),
    ),
)


def find_locks(case: Case) -> Iterator[Finding]:
    """Find waits for locks and semaphores, grouped by the line that holds them, else by the line that requests them."""
    for kind in _LOCKS:
        yield from _find_locks(case, kind)


def _find_locks(case: Case, kind: _Kind) -> Iterator[Finding]:
    pieces = pieces_of(case, kind.key)
    if not len(pieces):
        return
    path = case.pieces.path[pieces]
    cause = np.where(path >= 0, case.segments.cause[np.maximum(path, 0)], -1)
    # Prefer the holding line, where known: that is where something can be done.
    leaf = case.pieces.leaf[pieces]
    hop = path[np.arange(len(path)), np.argmax(cause == kind.cause, 1)]
    held = case.segments.cause[leaf] != kind.cause
    holder = np.where(held, _last_of_process(case, path, hop), hop)
    waits = case.segments.cause == kind.cause
    all_waits, in_budget = _through_locks(case, waits), int(case.pieces.length[pieces].sum())
    places = case.group_of_segment[holder]
    request = _requests(case, pieces, hop, kind.cause)
    outside = _outside_blocks(case, request, case.segments.place[holder])
    places = _moved_inside(case, pieces, places, request, outside)
    for group in groups(case, pieces, places):
        own = np.isin(pieces, group.pieces)
        shown = own & ~outside if (own & ~outside).any() else own
        where = _usual_where(case, holder[shown], pieces[shown])
        usual = usual_path(case, pieces[shown])
        if (own_line := _line_of_holder(case, group.pieces, kind.cause)) is not None:
            where = replace(where, file=own_line.file, line=own_line.line, function=own_line.function)
        gain = min(case.bounded_by_cores(case.gain_ns(waits)), group.time_ns)
        worst, remedy = Severity.CRITICAL, kind.remedy
        is_outside = one_of(case.segments.cause[leaf[own]], _OUTSIDE)
        if 2 * int(case.pieces.length[pieces[own][is_outside]].sum()) > group.time_ns:
            # Like the holder, all those that wait for the lock could wait for the outside world at once.
            waiting = len(np.unique(case.segments.actor[waits & (case.segments.by >= 0)]))
            gain = max(gain, group.time_ns * (waiting - 1) // max(waiting, 1))
        is_bound = kind.cause == Cause.SEMAPHORE and _are_cores_busy(case, waits)
        if is_bound:
            gain, worst, remedy = 0, Severity.NOTE, _BOUNDED
        elif 2 * gain < group.time_ns:
            # Nothing else could run meanwhile: only releasing the lock sooner helps.
            gain = min(max(gain, case.gain_ns(leaves_like(case, group.pieces))), group.time_ns)
        text = kind.held
        if waits[case.pieces.leaf[group.pieces]].all():
            # The holder was not recorded, or waits for the waiter: use the place where the lock is requested.
            text = kind.requested
        elif all_waits - in_budget >= NOTE * case.fair_ns:
            text = kind.total
        sentence = text.format(
            title=kind.title, place=place_known(where), total=format_duration(all_waits),
            **cost(case, group.time_ns),
        )  # fmt: skip
        requested = case.threads.place(int(request[shown][int(np.argmax(case.pieces.length[pieces[shown]]))]))
        if text is not kind.requested and requested.file and place_of(requested) != place_of(where):
            sentence = english(
                "{sentence} It is requested at {place}.", sentence=sentence, place=place_of(requested)
            )
        if is_bound:
            sentence = english(
                "{sentence} Meanwhile, its holders keep all cores busy: letting more in would not help.",
                sentence=sentence,
            )
        yield from make_finding(
            case, name=f"waits_for_{kind.key}", title=kind.title, text=sentence, pieces=group.pieces, gain_ns=gain,
            where=where, remedy=remedy, worst=worst, path=usual, meanwhile=doings(case, usual),
            within=within_budget(case, kind.key, group.time_ns),
        )  # fmt: skip


def _requests(case: Case, pieces: Int64Array, hop: IntArray, cause: Cause) -> Int64Array:
    """The stack that requests the lock in each chain; the usual one where the chain starts with another wait."""
    stack = case.segments.place[hop].astype(np.int64)
    is_request = (case.segments.cause[hop] == cause) & (stack >= 0)
    if not is_request.any():
        return np.full(len(stack), -1, np.int64)
    known, inverse = np.unique(stack[is_request], return_inverse=True)
    total = np.bincount(inverse.reshape(-1), case.pieces.length[pieces[is_request]])
    return np.where(is_request, stack, known[int(np.argmax(total))])


def _outside_blocks(case: Case, requests: Int64Array, holders: IntArray) -> npt.NDArray[np.bool_]:
    """Which stacks of holders lie outside the block that the lock protects, by the source: there it is not held.

    The stack of a holder is that of the nearest sample, so it may be the one before or after the block.
    """
    pairs = list(zip(requests.tolist(), holders.tolist(), strict=True))
    seen = {pair: min(pair) >= 0 and _is_outside(case, *pair) for pair in set(pairs)}
    return np.array([seen[pair] for pair in pairs], bool)


def _is_outside(case: Case, request: int, held: int) -> bool:
    where = case.threads.place(request)
    line = case.once(source_files).line(where.file, where.line, where.function)
    if line is None or not isinstance(line.statement, (ast.With, ast.AsyncWith)):
        return False
    block = line.statement.body
    for match in filter(None, map(FRAME.match, case.view.capture.stack_frames(held))):
        if (match["file"], match["function"].rpartition(".")[2]) == (where.file, where.function):
            return not block[0].lineno <= int(match["line"]) <= (block[-1].end_lineno or 0)
    return False


def _moved_inside(
    case: Case, pieces: Int64Array, places: IntArray, requested: IntArray, outside: npt.NDArray[np.bool_]
) -> Int64Array:
    """The places of holders; those outside the block count for the usual place inside it, where one was seen."""
    moved = places.astype(np.int64)
    for request in np.unique(requested[outside]).tolist():
        inside = (requested == request) & ~outside & (places > 0)
        if inside.any():
            total = np.bincount(places[inside], case.pieces.length[pieces[inside]])
            moved[(requested == request) & outside] = int(np.argmax(total))
    return moved


def _line_of_holder(case: Case, pieces: Int64Array, cause: Cause) -> Where | None:
    """The line at which a holder that waits for another thread has the lock: in the function that also requests it,
    else its own innermost line. None when the holder itself does what takes the time.
    """
    segments = case.segments
    path = usual_path(case, pieces)
    last = max(
        (number for number, segment in enumerate(path) if segments.cause[segment] == cause), default=-1
    )
    if last < 0 or last + 2 >= len(path):
        return None
    request, holder = path[last], path[last + 1]
    if segments.actor[holder] == segments.actor[path[-1]]:
        return None
    requested, stack = case.where(request), int(segments.place[holder])
    for match in filter(None, map(FRAME.match, case.view.capture.stack_frames(stack) if stack >= 0 else ())):
        function = match["function"].rpartition(".")[2]
        if (match["file"], function) != (requested.file, requested.function):
            continue
        if int(match["line"]) != requested.line:
            return Where(file=match["file"], line=int(match["line"]), function=function)
    where = case.where(holder)
    return where if where.file else None


def _are_cores_busy(case: Case, waits: npt.NDArray[np.bool_]) -> bool:
    """Whether other threads of the program run, or are ready to, on nearly all cores during some waits."""
    segments = case.segments
    own = np.flatnonzero(waits)
    order = own[np.argsort(segments.start[own], kind="stable")]
    start, stop = merge_intervals(segments.start[order], segments.stop[order])
    busy = np.flatnonzero(one_of(segments.cause, _BUSY) & (segments.actor < len(case.view.capture.threads)))
    total = 0
    for first, end in zip(start.tolist(), stop.tolist(), strict=True):
        inside = np.minimum(segments.stop[busy], end) - np.maximum(segments.start[busy], first)
        total += int(np.maximum(inside, 0).sum())
    return total >= _NEARLY_ALL * case.cores * int((stop - start).sum())


def _last_of_process(case: Case, path: IntArray, hop: IntArray) -> Int64Array:
    """For each chain, its last segment in the process of a wait on it: a peer in another process holds no lock."""
    threads = case.view.capture.threads
    actors = int(case.segments.actor.max(initial=0)) + 1
    process = np.array(
        [thread.process for thread in threads] + [-1] * max(actors - len(threads), 0), np.int64
    )
    own = (path >= 0) & (
        process[case.segments.actor[np.maximum(path, 0)]] == process[case.segments.actor[hop]][:, None]
    )
    last = path.shape[1] - 1 - np.argmax(own[:, ::-1], 1)
    chosen: Int64Array = path[np.arange(len(path)), last].astype(np.int64)
    return chosen


def _usual_where(case: Case, segments: IntArray, pieces: Int64Array) -> Where:
    """The place of the longest piece among those whose own segment has a place."""
    placed = case.group_of_segment[segments] > 0
    if not placed.any():
        return where_of(case, pieces)
    return case.where(int(segments[placed][int(np.argmax(case.pieces.length[pieces[placed]]))]))


def _through_locks(case: Case, is_lock: npt.NDArray[np.bool_]) -> int:
    """Time of all chains that pass through some waits, ns."""
    path = case.pieces.path
    passes = np.zeros(len(path), bool)
    for column in range(path.shape[1]):
        passes |= (path[:, column] >= 0) & is_lock[path[:, column]]
    return int(case.pieces.length[passes].sum())


rules = (Rule("locks", "locks", find_locks),)
