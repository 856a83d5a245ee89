"""Rule: many requests that are sent one after another, each after the reply to the one before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    all_but_longest,
    claim,
    cost,
    count_calls,
    doings,
    first_in_chain,
    groups,
    make_finding,
    place_known,
    stacks_like,
    unclaimed,
    usual_path,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.work.calls import POLLS, calls_around, calls_during, named, read_calls
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_REPLIES = (int(Cause.NETWORK), int(Cause.POLL))
_WAITS = tuple(int(cause) for cause in Cause if cause < Cause.RUNNABLE and cause != Cause.GIL)
_SERVES = re.compile(r"\baccept\b|/selectors\.py|/asyncio/|/socketserver\.py|/trio/|/uvloop/")
_SENDS = ("send", "write", "writev")
_SOCKET = re.compile(r"socket:\[\d+\]")
_MANY = 16
"""Fewer requests than this would gain little from being sent at once."""


def find_requests(case: Case) -> Iterator[Finding]:
    """Find waits for replies, grouped by line: of the target, or of a thread or process that it waits for."""
    segments, root = case.segments, case.pieces.root
    serves = stacks_like(case, lambda frames: any(_SERVES.search(frame) for frame in frames[:4]))
    asks = one_of(segments.cause, _REPLIES) & ~serves & (case.group_of_segment > 0)
    # What the target does itself comes first; others may wait for a file descriptor to be asked.
    waits = np.where(
        asks[root], root, first_in_chain(case, asks & (segments.cause == Cause.NETWORK) & (segments.by >= 0))
    )
    # A server needs a core to compute the reply; more requests at once would not make that faster.
    pieces = unclaimed(case, (waits >= 0) & one_of(segments.cause[case.pieces.leaf], _WAITS))
    for group in groups(case, pieces, case.group_of_segment[waits[pieces]]):
        own = waits[group.pieces]
        count = count_calls(case, own)
        is_own = bool((own == root[group.pieces]).any())
        if count < _MANY or _expire(case, group.pieces) or _is_only_told(case, own):
            continue
        if not (is_own or _is_alone(case, own)):
            continue
        where, path = case.where(int(own[0])), usual_path(case, group.pieces)
        is_inside = (case.pieces.depth[group.pieces] > 0).mean() > 0.5
        text = english(
            "{count:,} requests are sent one after another, at {place}. Waiting for their replies takes {time} of "
            "{whole} ({percent:.0f} %), {each} per request.",
            count=count, place=place_known(where), each=format_duration(group.time_ns // count),
            **cost(case, group.time_ns),
        )  # fmt: skip
        remedy = english(
            "Send requests that do not depend on each other at once, with threads or asyncio.gather, or ask for "
            "many items in one request."
        )
        if not is_own:
            remedy = english(
                "Send requests that do not depend on each other at once, with more threads for this step, ask for many "
                "items in one request, or send them from a thread of their own while the work goes on."
            )
        yield from claim(case, group.pieces, make_finding(
            case, name="serial_requests", title=english("Requests sent one after another"), text=text,
            pieces=group.pieces, gain_ns=case.gain_of_pieces(all_but_longest(case, group.pieces, own)), where=where,
            path=path, meanwhile=doings(case, path), worst=Severity.CRITICAL if is_inside else Severity.WARNING,
            remedy=remedy,
        ))  # fmt: skip


def _is_alone(case: Case, waits: IntArray) -> bool:
    """Whether one thread alone waits for replies at the place of some waits, each of which another process answers."""
    segments = case.segments
    same = case.group_of_segment == case.group_of_segment[waits[0]]
    same &= one_of(segments.cause, _REPLIES)
    return len(np.unique(segments.actor[same])) == 1


def _expire(case: Case, pieces: Int64Array) -> bool:
    """Whether most of some waits are for descriptors and end by their timeout: nothing was asked for."""
    calls = calls_during(case, pieces)
    expired = named(case, calls, POLLS) & (calls.result == 0)
    return 2 * int(expired.sum()) > len(calls)


def _is_only_told(case: Case, waits: IntArray) -> bool:
    """Whether some waits are for sockets on which the program sends less than once for two waits: it asks for nothing.

    Unknown sockets, and sends too short to be recorded one by one, may carry requests.
    """
    calls, strings = case.once(read_calls), case.view.capture.strings
    heard = calls_around(case, np.unique(waits)).object
    sockets = {_SOCKET.match(strings[code]) if code >= 0 else None for code in np.unique(heard).tolist()}
    names = {socket[0] for socket in sockets if socket is not None}
    if not names or None in sockets:
        return False
    if "call_count" in case.view.capture.kinds:
        counted = np.unique(case.view.events("call_count").name).tolist()
        if any(strings[code] in _SENDS for code in counted):
            return False
    sends = calls.object[named(case, calls, _SENDS) & (calls.object >= 0)]
    told = 0
    for code, count in zip(*(part.tolist() for part in np.unique(sends, return_counts=True)), strict=True):
        socket = _SOCKET.match(strings[code])
        told += count if socket is not None and socket[0] in names else 0
    return bool(2 * told < len(heard))


rules = (Rule("requests", "outside", find_requests, order=60),)
