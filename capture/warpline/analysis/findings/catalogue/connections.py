"""Rule: a new connection for each request, whose set-up costs more than the request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import claim, cost, make_finding, place_known, rate_text
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.work.calls import (
    LibraryCalls,
    named,
    pieces_during,
    read_calls,
    usual_call_place,
)
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_MANY = 16
_SENDS, _RECEIVES = ("send", "write", "writev"), ("recv", "read", "readv")
_FEW_REQUESTS = 4
"""A connection with more requests than this counts as kept open."""


def find_connections(case: Case) -> Iterator[Finding]:
    """Find threads that connect to one peer again and again, and the time until each connection is set up."""
    calls = case.once(read_calls)
    calls = calls.take((calls.object >= 0) & named(case, calls, ("connect", *_SENDS, *_RECEIVES)))
    for thread in np.unique(calls.thread).tolist():
        own = calls.of_thread(thread)
        connects = np.flatnonzero(named(case, own, ("connect",)))
        if len(connects) < _MANY:
            continue
        peers = np.array([hash(_peer(case, int(own.object[at]))) for at in connects.tolist()], np.int64)
        values, counts = np.unique(peers, return_counts=True)
        connects = connects[peers == values[int(np.argmax(counts))]]
        stop, requests = _set_up(case, own, connects)
        if len(connects) < _MANY or np.median(requests) > _FEW_REQUESTS:
            continue
        opened = own.take(connects)
        pieces = pieces_during(case, replace(opened, stop=stop))
        pieces = pieces[~case.claimed[pieces]]
        time_ns = int(case.pieces.length[pieces].sum())
        where = usual_call_place(case, opened)
        text = english(
            "{count:,} connections to {peer} ({rate} a second) are opened at {place} and used for {requests:,} "
            "requests each (median). Setting them up, with the first reply where more follow (a login or handshake), "
            "takes {time} of {whole} ({percent:.0f} %), {each} each.",
            count=len(connects), rate=rate_text((len(connects) - 1) * 1e9 / max(int(np.ptp(opened.start)), 1)),
            peer=_peer(case, int(opened.object[0])), place=place_known(where),
            requests=int(np.median(requests)), each=format_duration(time_ns // len(connects)), **cost(case, time_ns),
        )  # fmt: skip
        yield from claim(case, pieces, make_finding(
            case, name="connection_per_request", title=english("A new connection for each request"), text=text,
            pieces=pieces, gain_ns=case.gain_of_pieces(pieces) * (len(connects) - 1) // len(connects), where=where,
            remedy=english("Keep one connection or session open and reuse it (keep-alive), or use a connection pool."),
        ))  # fmt: skip


def _peer(case: Case, text: int) -> str:
    """``10.0.0.1:80``: the address that a socket is connected to."""
    return case.view.capture.strings[text].partition(" ")[2].partition(" from ")[0]


def _set_up(case: Case, own: LibraryCalls, connects: Int64Array) -> tuple[Int64Array, Int64Array]:
    """When each connection is set up, and its number of requests.

    With several requests that is when the first reply has arrived, otherwise the end of ``connect``.
    """
    is_receive = named(case, own, _RECEIVES) & (own.result > 0)
    is_send = named(case, own, _SENDS)
    stop, requests = own.stop[connects].copy(), np.zeros(len(connects), np.int64)
    for number, at in enumerate(connects.tolist()):
        last = int(connects[number + 1]) if number + 1 < len(connects) else len(own)
        used = np.arange(at + 1, last)
        used = used[own.object[used] == own.object[at]]
        # A reply that has arrived already may be read faster than calls are recorded, so sends are counted.
        sent = is_send[used]
        requests[number] = int((sent & ~np.append(False, sent[:-1])[: len(sent)]).sum())
        received = is_receive[used]
        if requests[number] > 1 and received.any():
            stop[number] = own.stop[used[int(np.argmax(received))]]
    return stop, requests


rules = (Rule("connections", "outside", find_connections, order=55),)
