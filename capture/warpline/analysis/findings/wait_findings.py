"""What a thread waited for, followed through whoever kept it waiting down to something that runs, or to the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpline.analysis.findings.finding import (
    Budget,
    BudgetPart,
    Diagnosis,
    Evidence,
    Finding,
    Hop,
    Severity,
    Where,
)
from warpline.analysis.findings.thread_time import (
    BLOCKED,
    NOBODY,
    RUNNABLE,
    RUNNING,
    Threads,
    ThreadTime,
    is_lock,
    join_activities,
)
from warpline.i18n import english, english_n
from warpline.model.times import format_duration
from warpline.model.waits import OWN_THREAD, WAIT_KINDS, WaitKind

Spans = Sequence[tuple[int, int]]

_CRITICAL, _WARNING, _NOTE = 0.3, 0.1, 0.05
_INSTANCES = 20
"""Of the waits of one place, this many of the longest are followed."""
_HOPS = 6
_OUTSIDE = (WaitKind.NETWORK, WaitKind.POLL, WaitKind.TERMINAL, WaitKind.SIGNAL)
"""Waits for somebody outside: a server that nobody asks is healthy."""
_REMEDIES = {
    WaitKind.LOCK: english("Hold the lock for less, or split it: what is done under it makes others wait."),
    WaitKind.CONDITION: english("Make what is waited for sooner: see what its thread does meanwhile."),
    WaitKind.GIL: english("Move what holds the GIL to processes, or to code that gives it up."),
    WaitKind.SLEEP: english("Wait for what is needed instead of sleeping."),
    WaitKind.FILE: english("Read or write ahead, in larger pieces, or less often; sync only what must be."),
    WaitKind.PIPE: english("See why the other end of the pipe is late."),
    WaitKind.NETWORK: english("Ask for more at once, or ask earlier."),
    WaitKind.POLL: english("See what the descriptors belong to."),
    WaitKind.CHILD: english("Start the child earlier, or keep one instead of starting one each time."),
    WaitKind.JOIN: english("Do something else meanwhile, or give the thread less to do."),
    WaitKind.BARRIER: english("Give the last one at the barrier less to do."),
}
_CORES = english("Run fewer threads than there are cores, or leave cores to this program.")
_SEE = english("See the waits on the timeline.")


@dataclass(frozen=True)
class _Group:
    """Waits of one thread for one kind of thing at one place."""

    wait: int
    where: Where
    time_ns: int
    activity: ThreadTime


def diagnose_thread(threads: Threads, thread: int) -> Diagnosis:
    """The budget of a thread's wall time and what kept it from running."""
    view = threads.view
    activity = threads.during(thread, [(view.start_ns, view.stop_ns)])
    budget = _budget(threads, thread, activity)
    findings = [
        _of_group(threads, thread, group, view.duration_ns) for group in _groups(threads, thread, activity)
    ]
    findings += _of_cores(threads, thread, activity, view.duration_ns)
    return Diagnosis(budget, tuple(finding for finding in findings if finding is not None))


def _budget(threads: Threads, thread: int, activity: ThreadTime) -> Budget:
    view = threads.view
    length = activity.stop - activity.start
    parts = [
        BudgetPart("running", english("running"), int(length[activity.state == RUNNING].sum())),
        BudgetPart("runnable", english("waiting for a core"), int(length[activity.state == RUNNABLE].sum())),
    ]
    blocked = activity.state >= BLOCKED
    for code, name in WAIT_KINDS.items():
        title = name if code else english("blocked, not known why")
        key = WaitKind(code).name.lower() if code else "blocked"
        parts.append(BudgetPart(key, title, int(length[blocked & (activity.wait == code)].sum())))
    rest = view.duration_ns - sum(part.time_ns for part in parts)
    parts.append(BudgetPart("not_recorded", english("not recorded"), rest))
    shown = sorted((part for part in parts if part.time_ns), key=lambda part: -part.time_ns)
    return Budget(threads.name(thread), view.start_ns, view.stop_ns, tuple(shown))


def _groups(threads: Threads, thread: int, activity: ThreadTime) -> list[_Group]:
    """Blocked time by kind of wait and place, largest first."""
    blocked = activity.take(np.flatnonzero(activity.state >= BLOCKED))
    places: dict[int, Where] = {
        stack: threads.where(stack, thread) for stack in np.unique(blocked.stack).tolist()
    }
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places.values()))}
    of_stack = {stack: numbers[place] for stack, place in places.items()}
    stacks, inverse = np.unique(blocked.stack, return_inverse=True)
    number = np.array([of_stack[stack] for stack in stacks.tolist()] or [0], np.int64)[inverse.reshape(-1)]
    key = number * 256 + blocked.wait if len(blocked) else np.empty(0, np.int64)
    found = []
    by_number = list(numbers)
    for one in np.unique(key).tolist():
        part = blocked.take(np.flatnonzero(key == one))
        time = int((part.stop - part.start).sum())
        longest = np.argsort(part.start - part.stop, kind="stable")
        found.append(_Group(one % 256, by_number[one // 256], time, part.take(longest)))
    return sorted(found, key=lambda group: -group.time_ns)


def _of_group(threads: Threads, thread: int, group: _Group, whole_ns: int) -> Finding | None:
    share = group.time_ns / max(whole_ns, 1)
    if share < _NOTE:
        return None
    first = group.activity.take(np.arange(min(len(group.activity), _INSTANCES)))
    chain, fraction = _follow(threads, thread, first, group)
    end_wait, is_elsewhere = chain[-1][1], chain[-1][2]
    hops = tuple(hop for hop, _wait, _elsewhere in chain)
    severity = _severity(share)
    # Work that goes on in another thread or process, or a wait for somebody outside, is no defect by itself.
    waits_for_work = is_elsewhere and group.wait not in (WaitKind.LOCK, WaitKind.GIL)
    if waits_for_work or group.wait in _OUTSIDE or end_wait in _OUTSIDE or not group.wait:
        severity = Severity.NOTE
    kind = WAIT_KINDS[group.wait] if group.wait else english("something not recorded")
    title = english("Sleeping") if group.wait == WaitKind.SLEEP else english("Waiting for {kind}", kind=kind)
    text = english_n(
        "{title} takes {time} of {whole} ({percent:.0f} %), once, at {place}.",
        "{title} takes {time} of {whole} ({percent:.0f} %), {count} times, at {place}.",
        len(group.activity),
        title=title,
        time=format_duration(group.time_ns),
        whole=format_duration(whole_ns),
        percent=100 * share,
        place=_place(group.where) or english("a place not recorded"),
    )
    if len(hops) > 1:
        text += " " + "; ".join(f"{hop.where.thread} {hop.what}" for hop in hops[1:]) + "."
    blamed = hops[-1].where if hops[-1].where.function else group.where
    cause = end_wait if end_wait in _REMEDIES else group.wait
    return Finding(
        f"waits_for_{WaitKind(group.wait).name.lower()}",
        severity,
        title,
        text,
        group.time_ns,
        share,
        int(group.time_ns * fraction),
        blamed,
        _REMEDIES.get(WaitKind(cause), _SEE),
        hops,
        _evidence(threads, group.activity),
        "" if group.wait else english("record with --trace osrt, which explains waits"),
    )


def _follow(
    threads: Threads, thread: int, waits: ThreadTime, group: _Group
) -> tuple[list[tuple[Hop, int, bool]], float]:
    """Who kept a thread waiting, and who kept those: hops with the kind of wait each ends in and whether it runs; and
    the part of the time that the last one explains.
    """
    chain = [(_hop(_waits_for(group.wait), group.where, waits), group.wait, False)]
    fraction, seen = 1.0, {thread}
    for _ in range(_HOPS):
        found = _kept_by(threads, waits)
        # Who is in the chain already explains nothing more: two that wait for each other would go on for ever.
        keepers = {one: spans for one, spans in found.items() if one not in seen}
        if not keepers:
            break
        seen |= keepers.keys()
        other = max(keepers, key=lambda one: sum(stop - start for start, stop in keepers[one]))
        spans = keepers[other]
        did = join_activities([threads.during(one, keepers[one]) for one in keepers])
        whole = int((waits.stop - waits.start).sum())
        ran = int((did.stop - did.start)[did.state <= RUNNABLE].sum())
        inner = _groups(threads, other, did)
        largest = inner[0] if inner else None
        if largest is None or ran >= largest.time_ns:
            place = threads.running_at(other, spans)
            runs = (
                english("runs {place} meanwhile", place=_place(place))
                if place.function
                else english("runs meanwhile")
            )
            running = did.take(np.flatnonzero(did.state <= RUNNABLE))
            chain.append((_hop(runs, place, running), 0, True))
            return chain, fraction * min(ran / max(whole, 1), 1.0)
        place = largest.where
        what = _waits_for(largest.wait)
        at = english("{what} at {place}", what=what, place=_place(place)) if place.function else what
        chain.append((_hop(at, place, largest.activity), largest.wait, False))
        fraction *= min(largest.time_ns / max(whole, 1), 1.0)
        waits = largest.activity.take(np.arange(min(len(largest.activity), _INSTANCES)))
        if not is_lock(largest.wait) and largest.wait not in (WaitKind.CHILD, WaitKind.PIPE):
            break
    return chain, fraction


def _place(where: Where) -> str:
    """``load (dataset.py:41)``."""
    return f"{where.function} ({where.file}:{where.line})" if where.function else ""


def _waits_for(wait: int) -> str:
    if wait == WaitKind.SLEEP:
        return english("sleeps")
    return english("waits for {kind}", kind=WAIT_KINDS[wait]) if wait else english("is blocked")


def _kept_by(threads: Threads, waits: ThreadTime) -> dict[int, list[tuple[int, int]]]:
    """For each thread that held a lock, or ended a wait, the waits it was to blame for; children for waits for them."""
    at = threads.calls_around(waits)
    if not len(threads.calls.by):
        return {}
    by = np.where(at >= 0, threads.calls.by[np.maximum(at, 0)], NOBODY)
    found: dict[int, list[tuple[int, int]]] = {}
    for keeper, wait, thread, start, stop in zip(
        by.tolist(), waits.wait.tolist(), waits.thread.tolist(), waits.start.tolist(), waits.stop.tolist(),
        strict=True,
    ):  # fmt: skip
        if keeper == NOBODY and wait == WaitKind.CHILD:
            keeper = _child(threads, thread, (start, stop))
        if keeper != NOBODY:
            found.setdefault(keeper, []).append((start, stop))
    return found


def _child(threads: Threads, parent_thread: int, span: tuple[int, int]) -> int:
    """The thread of a child process that was there longest while its parent waited."""
    capture = threads.view.capture
    parent = capture.processes[capture.threads[parent_thread].process].pid
    children = {index for index, process in enumerate(capture.processes) if process.parent_pid == parent}
    best, most = NOBODY, 0
    for index, thread in enumerate(capture.threads):
        if thread.process in children and thread.name != OWN_THREAD:
            did = threads.during(index, [span])
            time = int((did.stop - did.start).sum())
            if time > most:
                best, most = index, time
    return best


def _of_cores(threads: Threads, thread: int, activity: ThreadTime, whole_ns: int) -> list[Finding]:
    waits = activity.take(np.flatnonzero(activity.state == RUNNABLE))
    time = int((waits.stop - waits.start).sum())
    share = time / max(whole_ns, 1)
    if share < _WARNING:
        return []
    text = english(
        "Ready to run and without a core for {time} of {whole} ({percent:.0f} %): others had the cores.",
        time=format_duration(time),
        whole=format_duration(whole_ns),
        percent=100 * share,
    )
    where = threads.where(-1, thread)
    title = english("Waiting for a core")
    return [
        Finding(
            "waits_for_core",
            _severity(share),
            title,
            text,
            time,
            share,
            time,
            where,
            _CORES,
            evidence=_evidence(threads, waits),
        )
    ]


def _hop(what: str, where: Where, activity: ThreadTime) -> Hop:
    """A hop that leads to the longest of some stretches of a thread's time."""
    if not len(activity):
        return Hop(what, where)
    longest = int(np.argmax(activity.stop - activity.start))
    span = int(activity.start[longest]), int(activity.stop[longest])
    return Hop(what, where, int(activity.row[longest]), *span)


def _evidence(threads: Threads, activity: ThreadTime) -> Evidence:
    """Stretches of a thread's time as what shows a finding."""
    lasting = activity.take(np.flatnonzero(activity.stop > activity.start))
    ordered = lasting.take(np.argsort(lasting.start, kind="stable"))
    longest = lasting.row[np.argsort(lasting.start - lasting.stop, kind="stable")]
    tracks = np.unique(threads.view.track_of(lasting.row))
    return Evidence(
        tuple(zip(ordered.start.tolist(), ordered.stop.tolist(), strict=True)),
        tuple(longest.tolist()),
        tuple(tracks.tolist()),
    )


def _severity(share: float) -> Severity:
    if share >= _CRITICAL:
        return Severity.CRITICAL
    return Severity.WARNING if share >= _WARNING else Severity.NOTE
