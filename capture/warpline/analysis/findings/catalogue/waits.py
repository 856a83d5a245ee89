"""Rules about waits: locks, the GIL, sleeping, files, pipes, child processes and others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.page_faults import disk_faults
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    PieceGroup,
    cost,
    doings,
    groups,
    leaves_like,
    make_finding,
    pieces_of,
    place_known,
    usual_path,
    where_of,
    within_budget,
)
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.knowledge import for_waits
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.wait_kinds import FRAME
from warpline.analysis.findings.work.calls import calls_of_waits, calls_text, counted_names, named
from warpline.analysis.findings.work.pacing import keeps_pace
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]

_LEAVES = {
    "sleep": (
        english("Sleeping"),
        english("Wait for the event itself instead of sleeping."),
        Severity.CRITICAL,
    ),
    "file": (
        english("Waiting for files"),
        english("Read or write ahead, in larger pieces, or less often; sync only when necessary."),
        Severity.CRITICAL,
    ),
    "pipe": (
        english("Waiting for a pipe"),
        english("Find out why the other end of the pipe is late."),
        Severity.WARNING,
    ),
    "network": (
        english("Waiting for the network"),
        english("Request more at once, or request earlier."),
        Severity.NOTE,
    ),
    "poll": (
        english("Waiting for file descriptors"),
        english("Check what the descriptors belong to."),
        Severity.NOTE,
    ),
    "condition": (
        english("Waiting for a condition"),
        english("Signal the condition sooner: look at what the signalling thread does meanwhile."),
        Severity.NOTE,
    ),
    "thread_start": (
        english("Waiting for a thread to start"),
        english("Start fewer threads, or keep them running."),
        Severity.NOTE,
    ),
    "join": (
        english("Waiting for a thread to end"),
        english("Do something else meanwhile, or give the thread less to do."),
        Severity.NOTE,
    ),
    "barrier": (
        english("Waiting at a barrier"),
        english("Give the last thread at the barrier less to do."),
        Severity.NOTE,
    ),
    "signal": (
        english("Waiting for a signal"),
        english("Look at these waits on the timeline."),
        Severity.NOTE,
    ),
    "terminal": (
        english("Waiting for the terminal"),
        english("Look at these waits on the timeline."),
        Severity.NOTE,
    ),
    "other": (english("Other waits"), english("Look at these waits on the timeline."), Severity.NOTE),
    "blocked": (
        english("Blocked for an unknown reason"),
        english("Look at these waits on the timeline."),
        Severity.NOTE,
    ),
}
_BOUNDED = english("Nothing, if the number is meant as a limit: more at once would only share the cores.")
_BUSY = (int(Cause.RUNNING), int(Cause.RUNNABLE))
_NEARLY_ALL = 0.8
"""Share of all cores that are busy from which on more threads at once would not help."""
_OUTSIDE = tuple(map(int, (Cause.SLEEP, Cause.NETWORK, Cause.POLL, Cause.CHILD, Cause.FILE)))
_QUEUES = (int(Cause.QUEUE_EMPTY), int(Cause.QUEUE_FULL))
_NAMED = ("file", "network", "pipe", "poll")
"""Waits whose sentence names the calls."""
_SYNCS = ("fsync", "fdatasync", "msync")
_MANY_SYNCS = 10
"""From this many on, syncing is for each item of something."""
_SIGNAL_TITLES = {
    int(Cause.EVENT): english("Waiting for an event"),
    int(Cause.QUEUE_EMPTY): english("Waiting for a queue item"),
    int(Cause.QUEUE_FULL): english("Waiting for space in a queue"),
    int(Cause.RESULT): english("Waiting for a worker's result"),
}
"""Titles of waits in the category “condition”, by what the program calls them."""


def find_leaves(case: Case) -> Iterator[Finding]:
    """Find waits that end in a sleep, a file or the outside world; one finding per place."""
    for key, (title, remedy, worst) in _LEAVES.items():
        pieces = pieces_of(case, key)
        for group in groups(case, pieces, _leaf_places(case, pieces)):
            yield from _leaf_finding(case, key, group, title, remedy, worst)


def _leaf_places(case: Case, pieces: Int64Array) -> Int64Array:
    places: Int64Array = case.group_of_segment[case.pieces.leaf[pieces]]
    return places


def _leaf_finding(
    case: Case, key: str, group: PieceGroup, title: str, remedy: str, worst: Severity
) -> Iterator[Finding]:
    where = where_of(case, group.pieces)
    path = usual_path(case, group.pieces)
    causes = [int(case.segments.cause[segment]) for segment in path]
    count = len(np.unique(case.pieces.leaf[group.pieces]))
    counts = counted_names(case, calls_of_waits(case, group.pieces))
    name = f"waits_for_{key}"
    if key == "condition":
        title = _SIGNAL_TITLES.get(causes[-1], title)
    reads_pages = key == "blocked" and 2 * disk_faults(case, group.pieces) >= count
    if reads_pages:
        name, title = "page_faults_disk", english("Waiting for memory pages read from disk")
        remedy = english("Use less memory or add some if pages are swapped; read memory-mapped files ahead.")
        worst = Severity.WARNING
    fields = {**cost(case, group.time_ns), "title": title, "place": place_known(where)}
    text = english_n(
        "{title} takes {time} of {whole} ({percent:.0f} %): once at {place}.",
        "{title} takes {time} of {whole} ({percent:.0f} %): {count} times at {place}.",
        sum(number for _, number in counts) or count,
        **fields,
    )
    if key in _NAMED and counts:
        text = english(
            "{title} takes {time} of {whole} ({percent:.0f} %), in calls at {place}: {calls}.",
            calls=calls_text(counts),
            **fields,
        )
    if key == "file" and sum(number for called, number in counts if called in _SYNCS) >= _MANY_SYNCS:
        remedy = english("Commit or sync once per batch, not for each item.")
    if Cause.BARRIER in causes[:-1]:
        name, title = "late_at_barrier", english("Late at a barrier")
        remedy = english("Give the last thread at the barrier less to do.")
    elif any(cause in _QUEUES for cause in causes[:-1]):
        name, title = "slow_stage", english("Slowest stage of a pipeline")
        remedy = english("Speed up this stage, or run several of it in parallel.")
    if key == "sleep" and keeps_pace(case, np.unique(case.pieces.leaf[group.pieces]), where):
        worst, title = Severity.NOTE, english("Sleeping to keep a pace")
        text = english(
            "{sentence} The sleeps end at a regular pace: the thread is ahead of its schedule.", sentence=text
        )
        remedy = english("Nothing, if the pace is wanted; else do not wait for the next turn.")
    is_known = key != "blocked" or reads_pages
    # An unknown cause promises no gain.
    gain = min(case.gain_ns(leaves_like(case, group.pieces)), group.time_ns) if is_known else 0
    needs = "" if is_known else for_waits(case.view.capture)
    yield from make_finding(
        case, name=name, title=title, text=text, pieces=group.pieces, gain_ns=gain, where=where, remedy=remedy,
        worst=worst, needs=needs, path=path, meanwhile=doings(case, path),
        within=within_budget(case, key, group.time_ns),
    )  # fmt: skip


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
            "take {total}; where the holder itself waits, the time counts for that wait."
        ),
        english("Hold the lock for a shorter time, or split it: work done under it makes others wait."),
    ),
    _Kind(
        "semaphore",
        Cause.SEMAPHORE,
        english("Waiting for a semaphore"),
        english("{title} takes {time} of {whole} ({percent:.0f} %). Those that it let in are at {place}."),
        english("{title} takes {time} of {whole} ({percent:.0f} %). It is requested at {place}."),
        english(
            "{title} takes {time} of {whole} ({percent:.0f} %). Those that it let in are at {place}. All waits for "
            "semaphores take {total}; where the holder itself waits, the time counts for that wait."
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
    # The holding line, where known, is where something can be done.
    leaf = case.pieces.leaf[pieces]
    hop = path[np.arange(len(path)), np.argmax(cause == kind.cause, 1)]
    held = case.segments.cause[leaf] != kind.cause
    holder = np.where(held, _last_of_process(case, path, hop), hop)
    waits = case.segments.cause == kind.cause
    all_waits, in_budget = _through_locks(case, waits), int(case.pieces.length[pieces].sum())
    for group in groups(case, pieces, case.group_of_segment[holder]):
        own = np.isin(pieces, group.pieces)
        where = _usual_where(case, holder[own], group.pieces)
        usual = usual_path(case, group.pieces)
        if (own_line := _line_of_holder(case, group.pieces, kind.cause)) is not None:
            where = replace(where, file=own_line.file, line=own_line.line, function=own_line.function)
        gain = min(case.bounded_by_cores(case.gain_ns(waits)), group.time_ns)
        worst, remedy = Severity.CRITICAL, kind.remedy
        is_outside = one_of(case.segments.cause[leaf[own]], _OUTSIDE)
        if 2 * int(case.pieces.length[pieces[own][is_outside]].sum()) > group.time_ns:
            # Those that wait for the lock could all wait for the outside at once, like its holder.
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
            # The holder was not recorded, or waits for the waiter: the place is where the lock is requested.
            text = kind.requested
        elif all_waits - in_budget >= NOTE * case.whole_ns:
            text = kind.total
        sentence = text.format(
            title=kind.title, place=place_known(where), total=format_duration(all_waits),
            **cost(case, group.time_ns),
        )  # fmt: skip
        if is_bound:
            sentence = english(
                "{sentence} Meanwhile, those that it let in keep all cores busy: it bounds the work.",
                sentence=sentence,
            )
        yield from make_finding(
            case, name=f"waits_for_{kind.key}", title=kind.title, text=sentence, pieces=group.pieces, gain_ns=gain,
            where=where, remedy=remedy, worst=worst, path=usual, meanwhile=doings(case, usual),
            within=within_budget(case, kind.key, group.time_ns),
        )  # fmt: skip


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


def find_gil(case: Case) -> Iterator[Finding]:
    """Find waits for Python's global interpreter lock, in one finding."""
    pieces = pieces_of(case, "gil")
    for group in groups(case, pieces, np.zeros(len(pieces), np.int64)):
        where = where_of(case, group.pieces)
        gain = case.bounded_by_cores(case.gain_ns(case.segments.cause == Cause.GIL))
        title = english("Waiting for the GIL")
        text = english(
            "{title} takes {time} of {whole} ({percent:.0f} %). It was mostly held at {place}.",
            title=title,
            place=place_known(where),
            **cost(case, group.time_ns),
        )
        remedy = english("Move the code that holds the GIL to processes, or to native code that releases it.")
        yield from make_finding(
            case, name="waits_for_gil", title=title, text=text, pieces=group.pieces, gain_ns=gain, where=where,
            remedy=remedy,
        )  # fmt: skip


def find_children(case: Case) -> Iterator[Finding]:
    """Find waits for child processes, grouped by the line that waits."""
    pieces = pieces_of(case, "child")
    for group in groups(case, pieces, case.group_of_segment[case.pieces.root[pieces]]):
        where = where_of(case, group.pieces, deepest=False)
        path = case.pieces.path[group.pieces]
        actors = np.unique(case.segments.actor[path[path >= 0]])
        threads = case.view.capture.threads
        own = threads[case.target.thread].process if case.target.thread is not None else -1
        children = {threads[actor].process for actor in actors.tolist() if actor < len(threads)} - {own}
        gain = case.gain_ns(leaves_like(case, group.pieces))
        # A child that ends before its parent waits for it explains no wait, but it was started all the same.
        waits = calls_of_waits(case, group.pieces)
        reaped = np.unique(waits.result[named(case, waits, ("wait",)) & (waits.result > 0)])
        count = max(len(children), len(reaped))
        many = count > 2
        title = english("A new process for each item") if many else english("Waiting for child processes")
        text = english_n(
            "Waiting for a child process takes {time} of {whole} ({percent:.0f} %), at {place}.",
            "Waiting for {count} child processes takes {time} of {whole} ({percent:.0f} %), at {place}.",
            max(count, 1),
            place=place_known(where),
            **cost(case, group.time_ns),
        )
        remedy = english(
            "Start the child earlier, or keep one running instead of starting a new one each time."
        )
        worst = Severity.CRITICAL if many else Severity.NOTE
        yield from make_finding(
            case, name="waits_for_child", title=title, text=text, pieces=group.pieces, gain_ns=gain, where=where,
            remedy=remedy, worst=worst,
        )  # fmt: skip


rules = (
    Rule("waits", "outside", find_leaves),
    Rule("locks", "locks", find_locks),
    Rule("gil", "locks", find_gil),
    Rule("children", "outside", find_children),
)
