"""Rules: work that goes on only when a timed wait expires, of the thread itself or of one that it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    all_but_longest,
    claim,
    cost,
    doings,
    groups,
    make_finding,
    place_known,
    unclaimed,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.calls import (
    LibraryCalls,
    call_place,
    named,
    pieces_during,
    read_calls,
    usual_call_place,
)
from warpline.analysis.findings.work.running_work import source_files
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_POLLS, _SENDS, _RECEIVES = ("poll", "select", "epoll_wait"), ("send", "write", "writev"), ("recv", "read")
_EXPIRED = (-110, 110)
"""What a timed wait of Linux returns when its time is up (ETIMEDOUT), from the kernel or from the C library."""
_TRY_AGAIN = -11
"""What a receive with a timeout of its own (SO_RCVTIMEO) returns when nothing came (EAGAIN)."""
_TIMED = (Cause.CONDITION, Cause.EVENT, Cause.LOCK, Cause.SEMAPHORE, Cause.QUEUE_EMPTY, Cause.QUEUE_FULL)
_FEWEST = 5


def find_reads_until_timeout(case: Case) -> Iterator[Finding]:
    """Find answers that are read until a timeout, although everything has come, grouped by line."""
    calls = case.once(read_calls)
    known = calls.take(named(case, calls, (*_POLLS, *_SENDS, *_RECEIVES)) & (calls.object >= 0))
    for vain in _by_line(case, _vain_reads(case, known)):
        if len(vain) < _FEWEST:
            continue
        pieces = pieces_during(case, vain)
        pieces = pieces[~case.claimed[pieces]]
        if not len(pieces):
            continue
        where, time_ns = usual_call_place(case, vain), int(case.pieces.length[pieces].sum())
        # Waits of other threads beside this path count too: the cure shortens them all.
        in_vain = _are_inside(case, vain, np.arange(len(case.segments), dtype=np.int64))
        text = english(
            "{time} of {whole} ({percent:.0f} %) passes in reads that end by a timeout: {count:,} times, {each} each, "
            "at {place}. Each time the data has come before, and none comes until the timeout.",
            count=len(vain), each=format_duration(int(np.median(vain.stop - vain.start))), place=place_known(where),
            **cost(case, time_ns),
        )  # fmt: skip
        yield from claim(case, pieces, make_finding(
            case, name="reads_until_timeout", title=english("Reading until a timeout"), text=text, pieces=pieces,
            gain_ns=case.gain_ns(in_vain), where=where,
            remedy=english(
                "Stop reading where the message ends: at its terminator, or after the length that it announces."
            ),
        ))  # fmt: skip


def _vain_reads(case: Case, own: LibraryCalls) -> LibraryCalls:
    """The reads that time out after data has come, and before the thread's next request or its last one."""
    own = own.take(np.lexsort((own.start, own.object, own.thread)))
    sends, polls = named(case, own, _SENDS), named(case, own, _POLLS)
    # Before each send, a socket with a timeout is also polled for room.
    before_send = np.concatenate([sends[1:] & _are_same(own)[1:-1], [False]])[: len(own)]
    kept = np.flatnonzero(~(polls & (own.result > 0) & before_send))
    own, sends, polls = own.take(kept), sends[kept], polls[kept]
    has_come = ~sends & (own.result > 0)
    in_vain = np.where(polls, own.result == 0, ~sends & np.isin(own.result, (_TRY_AGAIN, *_EXPIRED)))
    same = _are_same(own)
    after_data = same[:-1] & np.concatenate([[False], has_come[:-1]])[: len(own)]
    before_request = ~same[1:] | np.concatenate([sends[1:], [True]])[: len(own)]
    vain = own.take(np.flatnonzero(in_vain & after_data & before_request))
    return vain.take(np.lexsort((vain.start, vain.thread)))


def _are_same(calls: LibraryCalls) -> npt.NDArray[np.bool_]:
    """Whether each call [n + 1] has the thread and the object of the one before it; False at both ends."""
    same = np.zeros(len(calls) + 1, bool)
    same[1:-1] = (calls.object[1:] == calls.object[:-1]) & (calls.thread[1:] == calls.thread[:-1])
    return same


def _by_line(case: Case, calls: LibraryCalls) -> Iterator[LibraryCalls]:
    """Calls in groups of one line each; those without a line are one group."""
    pairs = sorted(set(zip(calls.stack.tolist(), calls.thread.tolist(), strict=True)))
    lines: dict[tuple[str, int | None], list[tuple[int, int]]] = {}
    for stack, thread in pairs:
        where = call_place(case, stack, thread)
        lines.setdefault((where.file, where.line), []).append((stack, thread))
    for same_line in lines.values():
        of_line = np.zeros(len(calls), bool)
        for stack, thread in same_line:
            of_line |= (calls.stack == stack) & (calls.thread == thread)
        yield calls.take(np.flatnonzero(of_line))


def find_waits_for_timers(case: Case) -> Iterator[Finding]:
    """Find a thread that waits again and again until the timed wait of another thread expires, grouped by its line."""
    calls, segments = case.once(read_calls), case.segments
    expired = calls.take(np.isin(calls.result, _EXPIRED))
    leaf, root = case.pieces.leaf, case.pieces.root
    other = (segments.actor[leaf] != segments.actor[root]) & one_of(
        segments.cause[leaf], tuple(map(int, _TIMED))
    )
    pieces = unclaimed(case, other)
    pieces = pieces[_are_inside(case, expired, leaf[pieces])]
    for group in groups(case, pieces, case.group_of_segment[root[pieces]]):
        waits, timers = np.unique(root[group.pieces]), np.unique(leaf[group.pieces])
        if len(waits) < _FEWEST or len(timers) < _FEWEST:
            continue
        own, path = where_of(case, group.pieces, deepest=False), usual_path(case, group.pieces)
        where = _repeating_line(case, int(segments.place[waits[0]]), own)
        timer = case.where(int(timers[0]))
        text = english(
            "{place} waits {count:,} times until a timed wait of another thread expires, {each} each, at {timer}. That "
            "takes {time} of {whole} ({percent:.0f} %): the other thread waits for more to do, while each item waits "
            "for it.",
            place=place_known(where), count=len(waits), timer=place_known(timer),
            each=format_duration(int(np.median(segments.length[timers]))), **cost(case, group.time_ns),
        )  # fmt: skip
        yield from claim(case, group.pieces, make_finding(
            case, name="waits_for_timeout", title=english("Each item waits for a timeout"), text=text,
            pieces=group.pieces, gain_ns=case.gain_of_pieces(all_but_longest(case, group.pieces, root[group.pieces])),
            where=where, path=path, meanwhile=doings(case, path),
            remedy=english(
                "Hand over all items, then wait for their results one after another, so that a batch fills; or let "
                "the other thread begin as soon as somebody waits."
            ),
        ))  # fmt: skip


def _are_inside(case: Case, calls: LibraryCalls, segments: IntArray) -> npt.NDArray[np.bool_]:
    """Which segments lie in one of some calls of their thread."""
    if not len(calls):
        return np.zeros(len(segments), bool)
    span = 2 * (case.view.duration_ns + (1 << 32))
    origin = case.view.start_ns - (1 << 32)
    middle = (case.segments.start[segments] + case.segments.stop[segments]) // 2
    actor = case.segments.actor[segments].astype(np.int64)
    at = (
        np.searchsorted(calls.thread * span + calls.start - origin, actor * span + middle - origin, "right")
        - 1
    )
    safe = np.maximum(at, 0)
    inside: npt.NDArray[np.bool_] = (at >= 0) & (calls.thread[safe] == actor) & (calls.stop[safe] >= middle)
    return inside


def _repeating_line(case: Case, stack: int, where: Where) -> Where:
    """The innermost line of the user's code on a stack that a loop repeats; ``where`` without one."""
    sources = case.once(source_files)
    for match in filter(None, map(FRAME.match, case.view.capture.stack_frames(stack) if stack >= 0 else ())):
        if is_library(match["file"]):
            continue
        line = sources.line(match["file"], int(match["line"]), match["function"])
        if line is not None and line.is_repeated:
            function = match["function"].rpartition(".")[2]
            return replace(where, file=match["file"], line=line.number, function=function)
    return where


rules = (
    Rule("waits_for_timers", "locks", find_waits_for_timers, order=42),
    Rule("reads_until_timeout", "outside", find_reads_until_timeout, order=43),
)
