"""Rules about patterns of calls: delayed acknowledgements, repeated name lookups, polling without events."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import claim, cost, make_finding, place_known
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.calls import (
    POLLS,
    LibraryCalls,
    is_inside,
    named,
    pieces_during,
    read_calls,
    usual_call_place,
    usual_object,
)
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.source_lines import Function, SourceLine
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_SENDS, _RECEIVES = ("send", "write", "writev"), ("recv", "read")
_ACKNOWLEDGED_NS = (36_000_000, 60_000_000)
"""Linux delays an acknowledgement by at least 40 ms (TCP_DELACK_MIN, include/net/tcp.h)."""
_SPREAD_NS = 6_000_000
"""Delays farther from their median than this have another cause."""
_SMALL_BYTES, _SMALL_LOCAL_BYTES = 1400, 65_000
"""A send smaller than a segment is held back while another one is unacknowledged (RFC 896): a segment of Ethernet, and
one of Linux's loopback.
"""
_LOCAL = re.compile(r"\b127\.|\[?::1\b")
_FEWEST, _FEWEST_LOOKUPS, _FEWEST_POLLS = 5, 5, 20
_SENDING = re.compile(r"(^|\.)(send|sendall|sendmsg|write|writelines|flush|request|putrequest|endheaders)$")
_AT_MOST_LINES = 60
"""How far above the receiving line its sends are searched for."""


def find_delayed_acknowledgements(case: Case) -> Iterator[Finding]:
    """Find two small sends followed by an answer that is late by the time of a delayed acknowledgement."""
    calls = case.once(read_calls)
    network = _exchanges(case, calls)
    for thread in np.unique(network.thread).tolist():
        own = network.of_thread(thread)
        late = _late_answers(case, own)
        if len(late) < _FEWEST:
            continue
        answers = own.take(late)
        pieces = pieces_during(case, answers)
        delay = int(np.median(answers.stop - answers.start))
        where = _sending_place(case, own.take(late - 1), answers)
        time_ns = int(case.pieces.length[pieces].sum())
        text = english(
            "{time} of {whole} ({percent:.0f} %) is lost to delayed acknowledgements: {count:,} times two small sends "
            "at {place} are followed by {delay} of waiting for the answer. The second send waits until the peer "
            "acknowledges the first.",
            count=len(late), delay=format_duration(delay), place=place_known(where), **cost(case, time_ns),
        )  # fmt: skip
        yield from claim(case, pieces, make_finding(
            case, name="delayed_acknowledgement", title=english("Small sends wait for acknowledgements"), text=text,
            pieces=pieces, gain_ns=min(case.gain_ns(_waits_during(case, answers)), time_ns), where=where, time_ns=0,
            remedy=english("Send each request in one call, or set TCP_NODELAY on the socket."),
        ))  # fmt: skip


def _exchanges(case: Case, calls: LibraryCalls) -> LibraryCalls:
    """The sends and receives of sockets. A socket with a timeout waits in a poll, which then stands for the receive."""
    is_long = calls.stop - calls.start >= _ACKNOWLEDGED_NS[0]
    is_exchange = named(case, calls, (*_SENDS, *_RECEIVES)) & (calls.object >= 0)
    calls = calls.take(is_exchange | (named(case, calls, POLLS) & is_long))
    keep = ~named(case, calls, POLLS)
    follows = named(case, calls, _RECEIVES)[1:] & (calls.thread[1:] == calls.thread[:-1])
    waits = np.flatnonzero(~keep[:-1] & follows)
    sockets = calls.object.copy()
    sockets[waits] = sockets[waits + 1]
    keep[waits], keep[waits + 1] = True, False
    return replace(calls, object=sockets).take(keep)


def _late_answers(case: Case, own: LibraryCalls) -> Int64Array:
    """The indices of receives that are late by a delayed acknowledgement, after two small sends on the same socket."""
    sends = named(case, own, _SENDS)
    at = np.arange(2, len(own))
    lengths = own.stop - own.start
    low, high = _ACKNOWLEDGED_NS
    late: Int64Array = at[
        ~sends[at] & sends[at - 1] & sends[at - 2]
        & (own.object[at] == own.object[at - 1]) & (own.object[at] == own.object[at - 2])
        & (own.result[at - 1] > 0) & (own.result[at - 1] < _segment_bytes(case, own)[at - 1])
        & (lengths[at] >= low) & (lengths[at] <= high)
    ]  # fmt: skip
    if not len(late):
        return late
    usual = float(np.median(lengths[late]))
    close: Int64Array = late[np.abs(lengths[late] - usual) <= _SPREAD_NS]
    return close


def _segment_bytes(case: Case, calls: LibraryCalls) -> Int64Array:
    """From how many bytes on a send on the socket of each call is not small."""
    sockets, inverse = np.unique(calls.object, return_inverse=True)
    texts = case.view.capture.strings.get(sockets.tolist())
    limits = [_SMALL_LOCAL_BYTES if _LOCAL.search(text) else _SMALL_BYTES for text in texts]
    return np.array(limits, np.int64)[inverse.reshape(-1)]


def _sending_place(case: Case, sends: LibraryCalls, answers: LibraryCalls) -> Where:
    """The line of the sends; without stacks, the last sending line above the receiving one in its function."""
    where = usual_call_place(case, sends)
    if where.file:
        return where
    where, sources = usual_call_place(case, answers), case.once(source_files)
    for stack in np.unique(answers.stack[answers.stack >= 0]).tolist():
        for match in filter(None, map(FRAME.match, case.view.capture.stack_frames(stack))):
            receiving = sources.line(match["file"], int(match["line"]), match["function"])
            sending = None if receiving is None or is_library(match["file"]) else _sending_line(receiving)
            if sending is not None:
                owner = sending.function.name if sending.function is not None else ""
                return replace(where, file=match["file"], line=sending.number, function=owner)
    return where


def _sending_line(receiving: SourceLine) -> SourceLine | None:
    """The last line above a receiving one in its function that sends, or the first sending line of a function of the
    file that is called there; None without one.
    """
    source = receiving.source
    functions = {node.name: node for node in ast.walk(source.tree) if isinstance(node, Function)}
    for number in range(receiving.number, max(receiving.number - _AT_MOST_LINES, 0), -1):
        line = source.line(number)
        if line is None or line.function is not receiving.function:
            continue
        for name, _ in line.calls:
            called = functions.get(name.removeprefix("self."))
            if called is None or called is receiving.function:
                continue
            for inner in range(called.lineno, (called.end_lineno or called.lineno) + 1):
                candidate = source.line(inner)
                if candidate is not None and any(_SENDING.search(one) for one, _ in candidate.calls):
                    return candidate
        if any(_SENDING.search(name) for name, _ in line.calls):
            return line
    return None


def _waits_during(case: Case, calls: LibraryCalls) -> BoolArray:
    """Which segments of any actor are waits for the network inside some calls: the peer waits as well."""
    segments = case.segments
    waits = np.isin(segments.cause, (int(Cause.NETWORK), int(Cause.POLL)))
    return waits & is_inside(calls, (segments.start + segments.stop) // 2)


def find_lookups(case: Case) -> Iterator[Finding]:
    """Find the same host name looked up again and again."""
    calls = case.once(read_calls)
    lookups = calls.take(named(case, calls, ("getaddrinfo",)))
    lengths = lookups.stop - lookups.start
    if len(lookups) and 2 * int(lengths.max()) > int(lengths.sum()):
        yield from _slow_lookup(case, lookups, int(np.argmax(lengths)))
        return
    host, count = usual_object(case, lookups)
    if count < _FEWEST_LOOKUPS:
        return
    pieces = _unclaimed_during(case, lookups)
    where = usual_call_place(case, lookups)
    text = english(
        "{time} of {whole} ({percent:.0f} %) goes to looking up host names: {host} is looked up {count:,} times at "
        "{place}.",
        host=host, count=count, place=place_known(where), **cost(case, int(case.pieces.length[pieces].sum())),
    )  # fmt: skip
    yield from make_finding(
        case, name="repeated_lookups", title=english("Host names looked up repeatedly"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), where=where, time_ns=0,
        remedy=english("Keep the connection open, or look the name up once and keep the address."),
    )  # fmt: skip


def _slow_lookup(case: Case, lookups: LibraryCalls, place: int) -> Iterator[Finding]:
    """The finding about the one lookup that takes longer than all others together."""
    slow = lookups.take(np.array([place]))
    pieces, where = _unclaimed_during(case, slow), usual_call_place(case, slow)
    host = case.view.capture.strings[int(slow.object[0])] if slow.object[0] >= 0 else english("a host")
    text = english(
        "{time} of {whole} ({percent:.0f} %) goes to a single lookup of a host name, {host}, at {place}; all {count:,} "
        "lookups together take {total}.",
        host=host, place=place_known(where), count=len(lookups),
        total=format_duration(int((lookups.stop - lookups.start).sum())),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )  # fmt: skip
    yield from make_finding(
        case, name="slow_lookup", title=english("A slow lookup of a host name"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), where=where, time_ns=0,
        remedy=english(
            "Check the name servers (a lookup of 5 s is one that did not answer), or look the name up before it is "
            "needed."
        ),
    )  # fmt: skip


def _unclaimed_during(case: Case, calls: LibraryCalls) -> Int64Array:
    """The pieces that lie in some calls and that no shape explains, such as a blocked event loop or its timers."""
    pieces = pieces_during(case, calls)
    return pieces[~case.claimed[pieces]]


def find_empty_polls(case: Case) -> Iterator[Finding]:
    """Find a loop that waits for descriptors in short timeouts, most of which expire without an event."""
    calls = case.once(read_calls)
    polls = calls.take(named(case, calls, POLLS) & (calls.stack >= 0))
    for thread in np.unique(polls.thread).tolist():
        own = polls.of_thread(thread)
        empty = own.take(own.result == 0)
        if len(empty) < _FEWEST_POLLS or 5 * len(empty) < 4 * len(own):
            continue
        pieces = _unclaimed_during(case, empty)
        where = usual_call_place(case, empty)
        text = english(
            "{time} of {whole} ({percent:.0f} %) passes in {count:,} waits for file descriptors that time out without "
            "an event, {each} each, at {place}.",
            count=len(empty), each=format_duration(int(np.median(empty.stop - empty.start))),
            place=place_known(where), **cost(case, int(case.pieces.length[pieces].sum())),
        )  # fmt: skip
        yield from make_finding(
            case, name="empty_polls", title=english("Polling without events"), text=text, pieces=pieces,
            gain_ns=case.gain_of_pieces(pieces), where=where, time_ns=0, worst=Severity.NOTE,
            remedy=english("Wait without a timeout for what is really awaited, or use a longer timeout."),
        )  # fmt: skip


rules = (
    Rule("delayed_acknowledgements", "outside", find_delayed_acknowledgements, order=57),
    Rule("lookups", "outside", find_lookups, order=54),
    Rule("empty_polls", "outside", find_empty_polls),
)
