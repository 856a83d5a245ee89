"""Rules about waits: the GIL, sleeping, files, pipes, child processes and others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.page_faults import disk_faults
from warpline.analysis.findings.causes import SIGNALS, Cause
from warpline.analysis.findings.draft import (
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
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.knowledge import for_waits
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.analysis.findings.work.calls import calls_of_waits, calls_text, counted_names, named
from warpline.analysis.findings.work.pacing import answers_requests, keeps_pace, polls
from warpline.i18n import english, english_n
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]

_LEAVES = {
    "sleep": (
        english("Sleeping"),
        english(
            "If the sleep stands for work (a device, a request), do several at once, in threads or tasks of asyncio: N "
            "at once take an N-th of the time. If it only delays, shorten or remove it."
        ),
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
_QUEUES = (int(Cause.QUEUE_EMPTY), int(Cause.QUEUE_FULL))
_NAMED = ("file", "network", "pipe", "poll")
"""Waits whose sentence names the calls that were made."""
_SYNCS = ("fsync", "fdatasync", "msync")
_MEETINGS = tuple(map(int, (*SIGNALS, Cause.LOCK, Cause.SEMAPHORE)))
_FEW_MEETINGS = 3
_SHORT = 0.15
"""A wait for a thread that worked all along counts as incidental below this share of the range."""
_MANY_SYNCS = 10
"""From this many syncs on, the program syncs for each item."""
_FEW_SLEEPS, _BRIEF_NS = 4, 150_000_000
"""So few sleeps, or so little sleep in all, is a pause that the program means to make, unless it polls …"""
_MOSTLY = 0.8
"""… or sleeps for this share of the range."""
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
    calls = sum(number for _, number in counts) or count
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
        calls,
        **fields,
    )
    if key == "sleep" and calls > 1:
        lengths = case.segments.length[np.unique(case.pieces.leaf[group.pieces])]
        text = english(
            "{title} takes {time} of {whole} ({percent:.0f} %): {place} sleeps {count:,} × {each}.",
            count=calls, each=format_duration(int(np.median(lengths))), **fields,
        )  # fmt: skip
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
    is_known = key != "blocked" or reads_pages
    # No gain can be promised for an unknown cause.
    gain = min(case.gain_ns(leaves_like(case, group.pieces)), group.time_ns) if is_known else 0
    if key == "sleep" and keeps_pace(case, np.unique(case.pieces.leaf[group.pieces]), where):
        worst, title, gain = Severity.NOTE, english("Sleeping to keep a pace"), 0
        text = english(
            "{sentence} The sleeps end at a regular pace: the thread is ahead of its schedule.", sentence=text
        )
        remedy = english("Nothing, if the pace is intended; otherwise do not wait for the next turn.")
    elif key == "sleep" and answers_requests(case, group.pieces):
        worst, title = Severity.NOTE, english("Waiting for a server's answers")
        text = english(
            "{sentence} These sleeps are the time that a server takes to answer this program's requests.",
            sentence=text,
        )
        remedy = english(
            "Nothing, if the server stands in for another machine; otherwise make it answer sooner."
        )
    elif key == "sleep" and polls(case, where):
        name, title = "waits_for_sleep", english("Sleeping between questions (polling)")
        text = english(
            "{sentence} The loop alternates between checking for work and sleeping.", sentence=text
        )
        remedy = english(
            "Wait for the event itself: a get() that blocks, Event.wait, Condition.wait or a future's result."
        )
    elif key == "sleep" and where.file and _is_a_pause(case, calls, group.time_ns):
        worst = Severity.NOTE
    needs = "" if is_known else for_waits(case.view.capture)
    yield from make_finding(
        case, name=name, title=title, text=text, pieces=group.pieces, gain_ns=gain, where=where, remedy=remedy,
        worst=worst, needs=needs, path=path, meanwhile=doings(case, path),
        within=within_budget(case, key, group.time_ns),
    )  # fmt: skip


def _is_a_pause(case: Case, sleeps: int, time_ns: int) -> bool:
    """Whether a program sleeps a few times, or shortly in all, at a known line. Samples do not tell how often."""
    if time_ns >= _MOSTLY * case.whole_ns or not case.view.were_recorded("thread_state"):
        return False
    return sleeps <= _FEW_SLEEPS or time_ns <= _BRIEF_NS


def find_gil(case: Case) -> Iterator[Finding]:
    """Find waits for Python's global interpreter lock, in one finding."""
    pieces = pieces_of(case, "gil")
    for group in groups(case, pieces, np.zeros(len(pieces), np.int64)):
        where = where_of(case, group.pieces)
        removed = (case.segments.cause == Cause.GIL) | ends_of_helpers(case)
        gain = case.bounded_by_cores(min(case.gain_ns(removed), group.time_ns))
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


def ends_of_helpers(case: Case) -> npt.NDArray[np.bool_]:
    """Which segments are short waits of the target for a thread that held the GIL: for its end, or for its answer to a
    request to stop.

    Such a thread worked beside the target until it was told to stop, so it would also end sooner. The target waits for
    it once or twice: one that gives the target its items is waited for again and again, or for long.
    """
    segments = case.segments
    is_own = segments.actor == case.actor
    holders = np.unique(segments.by[(segments.cause == Cause.GIL) & is_own])
    ends: npt.NDArray[np.bool_] = np.zeros(len(segments), bool)
    for holder in holders[holders >= 0].tolist():
        waits = np.flatnonzero(is_own & (segments.by == holder) & one_of(segments.cause, _MEETINGS))
        if len(waits) <= _FEW_MEETINGS and int(segments.length[waits].sum()) < _SHORT * case.whole_ns:
            ends[waits] = True
    return ends


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
        # A child that ends before its parent waits for it explains no wait, but it still counts as started.
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
    Rule("gil", "locks", find_gil),
    Rule("children", "outside", find_children),
)
