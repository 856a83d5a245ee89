"""Rule: a coroutine that awaits one reply after another, so that the event loop has one thing at a time to wait for."""

from __future__ import annotations

import ast
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
    make_finding,
    place_known,
    unclaimed,
    usual_path,
)
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.calls import (
    LibraryCalls,
    named,
    pieces_during,
    read_calls,
    usual_call_place,
)
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.source_lines import SourceLine, dotted, own_nodes
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_POLLS, _SENDS, _RECEIVES = ("epoll_wait", "poll", "select"), ("send", "write"), ("recv", "read")
_WAITS = (int(Cause.POLL), int(Cause.NETWORK))
_MANY = 16
_SHORTEST_NS = 200_000
_MOSTLY = 0.8
"""Share of the waiting time with a single reply outstanding."""
_TOGETHER = re.compile(r"(^|\.)(gather|wait|as_completed|TaskGroup|sleep|get|put|drain|acquire|join)$")
_EVENT_LOOP = re.compile(r"[/\\](asyncio|trio|uvloop|anyio|tornado|curio|gevent)[/\\]")
_REMEDY = english(
    "Start requests that do not depend on each other at the same time and await them together: asyncio.gather or a "
    "TaskGroup, limited by a semaphore."
)


def find_serial_awaits(case: Case) -> Iterator[Finding]:
    """Find waits of an event loop for the one request that its program has sent."""
    if case.target.thread is None:
        return
    calls = case.once(read_calls).of_thread(case.target.thread)
    polls = np.flatnonzero(named(case, calls, _POLLS))
    if len(polls) < _MANY:
        return
    outstanding, sends = _outstanding(case, calls)
    length = calls.stop[polls] - calls.start[polls]
    waits = polls[length >= _SHORTEST_NS]
    alone = waits[outstanding[waits] == 1]
    waited = int((calls.stop[waits] - calls.start[waits]).sum())
    if len(alone) < _MANY or int((calls.stop[alone] - calls.start[alone]).sum()) < _MOSTLY * waited:
        return
    if not _is_event_loop(case, calls.take(alone)):
        return
    root = case.pieces.root
    starts = calls.start[alone]
    at = np.searchsorted(starts, (case.pieces.start + case.pieces.stop) // 2, "right") - 1
    inside = (at >= 0) & ((case.pieces.start + case.pieces.stop) // 2 < calls.stop[alone][np.maximum(at, 0)])
    pieces = unclaimed(case, inside & one_of(case.segments.cause[root], _WAITS))
    if not len(pieces):
        return
    time_ns = int(case.pieces.length[pieces].sum())
    where, path = _awaiting_line(case, sends), usual_path(case, pieces)
    text = english(
        "The event loop waits for one reply at a time: {count:,} requests are awaited one after another, at {place}. "
        "That takes {time} of {whole} ({percent:.0f} %), {each} per request.",
        count=len(sends), place=place_known(where), each=format_duration(time_ns // max(len(sends), 1)),
        **cost(case, time_ns),
    )  # fmt: skip
    yield from claim(case, pieces, make_finding(
        case, name="serial_requests", title=english("Requests awaited one after another"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(all_but_longest(case, pieces, root[pieces])), where=where, path=path,
        remedy=_REMEDY,
    ))  # fmt: skip


def find_serial_timers(case: Case) -> Iterator[Finding]:
    """Find a loop that awaits one call after another in a program whose event loop waits for timers."""
    if case.target.thread is None:
        return
    calls = case.once(read_calls).of_thread(case.target.thread)
    polls = calls.take(
        named(case, calls, _POLLS) & (calls.stop - calls.start >= _SHORTEST_NS) & (calls.stack >= 0)
    )
    empty = polls.take(polls.result == 0)
    if len(empty) < _MANY or len(empty) < _MOSTLY * len(polls):
        return
    where = _loop_that_awaits(case, usual_call_place(case, empty))
    pieces = pieces_during(case, empty)
    pieces = pieces[~case.claimed[pieces]]
    if where is None or not len(pieces):
        return
    text = english(
        "The event loop waits for timers (asyncio.sleep) for {time} of {whole} ({percent:.0f} %), {count:,} times, "
        "{each} each. The loop at {place} awaits one call after another.",
        count=len(empty), each=format_duration(int(np.median(empty.stop - empty.start))), place=place_known(where),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )  # fmt: skip
    yield from claim(case, pieces, make_finding(
        case, name="serial_requests", title=english("Timers awaited one after another"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(all_but_longest(case, pieces, case.pieces.root[pieces])), where=where,
        worst=Severity.NOTE, remedy=english(
            "If the timers stand in for work, await several calls together: asyncio.gather or a TaskGroup, limited "
            "by a semaphore. If they keep a pace, change nothing."
        ),
        refutation=english("Refuted if each call needs the result of the one before it, or if the timers keep a pace."),
    ))  # fmt: skip


def _is_event_loop(case: Case, polls: LibraryCalls) -> bool:
    """Whether an event loop makes the polls: a blocking socket with a timeout polls, too."""
    if not named(case, polls, ("poll",)).all():
        return True
    stacks = np.unique(polls.stack[polls.stack >= 0]).tolist()
    frames = case.view.capture.stack_frames
    return any(_EVENT_LOOP.search(frame) for stack in stacks for frame in frames(stack))


def _loop_that_awaits(case: Case, where: Where) -> Where | None:
    """The first loop in a file that awaits a call in each round, the inner one of two; None without one."""
    sources = case.once(source_files)
    found: dict[str, SourceLine] = {}
    for number in range(1, len(sources.texts(where.file)) + 1):
        line = sources.line(where.file, number)
        if line is None or line.number != line.statement.lineno:
            continue
        if awaits_in_comprehension(line) or (
            isinstance(line.loop, ast.For) and line.statement is not line.loop and awaits_in_loop(line)
        ):
            found.setdefault(line.function.name if line.function is not None else "", line)
    if not found:
        return None
    function, chosen = next(iter(found.items()))
    for _ in found:
        called = [name.rpartition(".")[2] for name, _ in chosen.calls]
        function = next((name for name in called if name in found), function)
        chosen = found[function]
    return Where(
        file=where.file, line=chosen.number, function=function, process=where.process, thread=where.thread
    )


def _outstanding(case: Case, calls: LibraryCalls) -> tuple[Int64Array, LibraryCalls]:
    """How many requests of a thread have no reply when each of its calls begins, and the sends of requests.

    Only sockets that the thread has connected count: those of a server wait for the client.
    """
    is_send, is_receive = named(case, calls, _SENDS), named(case, calls, _RECEIVES) & (calls.result > 0)
    own = frozenset(calls.object[named(case, calls, ("connect",)) & (calls.object >= 0)].tolist())
    pending: set[int] = set()
    counts = np.zeros(len(calls), np.int64)
    first: list[int] = []
    rows = zip(calls.object.tolist(), is_send.tolist(), is_receive.tolist(), strict=True)
    for number, (thing, sends, receives) in enumerate(rows):
        counts[number] = len(pending)
        if thing not in own:
            continue
        if sends:
            if thing not in pending:
                first.append(number)
            pending.add(thing)
        elif receives:
            pending.discard(thing)
    return counts, calls.take(np.array(first, np.int64))


def _awaiting_line(case: Case, sends: LibraryCalls) -> Where:
    """The line of a loop that awaits the requests, where the source shows one; else the line that sends them."""
    sources = case.once(source_files)
    where = usual_call_place(case, sends)
    for stack in np.unique(sends.stack[sends.stack >= 0]).tolist():
        for match in filter(None, map(FRAME.match, case.view.capture.stack_frames(stack))):
            if is_library(match["file"]):
                continue
            line = sources.line(match["file"], int(match["line"]), match["function"])
            if line is not None and awaits_in_loop(line):
                function = match["function"].rpartition(".")[2]
                return Where(
                    file=match["file"],
                    line=line.number,
                    function=function,
                    process=where.process,
                    thread=where.thread,
                )
    return where


def awaits_in_comprehension(line: SourceLine) -> bool:
    """Whether a line awaits one call for each item of a comprehension."""
    return any(
        isinstance(inner, ast.Await) and isinstance(inner.value, ast.Call)
        for node in own_nodes(line.statement)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)) and not node.generators[0].is_async
        for inner in ast.walk(node)
    )


def awaits_in_loop(line: SourceLine) -> bool:
    """Whether a line awaits one call in each round of a loop."""
    if line.loop is None or isinstance(line.loop, ast.AsyncFor):
        return False
    return any(
        isinstance(node, ast.Await)
        and isinstance(node.value, ast.Call)
        and not _TOGETHER.search(dotted(node.value.func))
        for node in own_nodes(line.statement)
    )


rules = (
    Rule("serial_awaits", "outside", find_serial_awaits, order=58),
    Rule("serial_timers", "outside", find_serial_timers, order=59),
)
