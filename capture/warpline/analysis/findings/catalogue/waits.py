"""Locks, sleeping, files, children, pipes, others' work: what keeps a thread (or the host of a GPU) waiting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.page_faults import disk_faults
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    PieceGroup,
    cost,
    groups,
    leaves_like,
    make_finding,
    pieces_of,
    place_known,
    told,
    usual_path,
    where_of,
    within_budget,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.knowledge import for_waits
from warpline.analysis.findings.rule import Rule
from warpline.i18n import english, english_n
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]

_LEAVES = {
    "sleep": (
        english("Sleeping"),
        english("Wait for what is needed instead of sleeping."),
        Severity.CRITICAL,
    ),
    "file": (
        english("Waiting for files"),
        english("Read or write ahead, in larger pieces, or less often; sync only what must be."),
        Severity.CRITICAL,
    ),
    "pipe": (
        english("Waiting for a pipe"),
        english("See why the other end of the pipe is late."),
        Severity.WARNING,
    ),
    "network": (
        english("Waiting for the network"),
        english("Ask for more at once, or ask earlier."),
        Severity.NOTE,
    ),
    "poll": (
        english("Waiting for descriptors"),
        english("See what the descriptors belong to."),
        Severity.NOTE,
    ),
    "condition": (
        english("Waiting for a condition"),
        english("Make what is waited for sooner: see what its thread does meanwhile."),
        Severity.NOTE,
    ),
    "join": (
        english("Waiting for the end of a thread"),
        english("Do something else meanwhile, or give the thread less to do."),
        Severity.NOTE,
    ),
    "barrier": (
        english("Waiting at a barrier"),
        english("Give the last one at the barrier less to do."),
        Severity.NOTE,
    ),
    "signal": (english("Waiting for a signal"), english("See the waits on the timeline."), Severity.NOTE),
    "terminal": (
        english("Waiting for the terminal"),
        english("See the waits on the timeline."),
        Severity.NOTE,
    ),
    "other": (english("Waiting"), english("See the waits on the timeline."), Severity.NOTE),
    "blocked": (english("Blocked, not known why"), english("See the waits on the timeline."), Severity.NOTE),
}
_QUEUES = (int(Cause.QUEUE_EMPTY), int(Cause.QUEUE_FULL))


def of_leaves(case: Case) -> Iterator[Finding]:
    """Time that ends in a sleep, a file, somebody outside: one finding for each place."""
    for key, (title, remedy, worst) in _LEAVES.items():
        pieces = pieces_of(case, key)
        for group in groups(case, pieces, _leaf_places(case, pieces)):
            found = _of_leaf(case, key, group, title, remedy, worst)
            if found is not None:
                yield found


def _leaf_places(case: Case, pieces: Int64Array) -> Int64Array:
    places: Int64Array = case.group_of_segment[case.pieces.leaf[pieces]]
    return places


def _of_leaf(
    case: Case, key: str, group: PieceGroup, title: str, remedy: str, worst: Severity
) -> Finding | None:
    where = where_of(case, group.pieces)
    path = usual_path(case, group.pieces)
    causes = [int(case.segments.cause[one]) for one in path]
    count = len(np.unique(case.pieces.leaf[group.pieces]))
    name = f"waits_for_{key}"
    reads_pages = key == "blocked" and 2 * disk_faults(case, group.pieces) >= count
    if reads_pages:
        name, title = "page_faults_disk", english("Waiting for pages of memory that are read from a disk")
        remedy = english("Have memory for all that is used (swap), or read ahead what is mapped from files.")
        worst = Severity.WARNING
    fields = {**cost(case, group.time_ns), "title": title, "place": place_known(where)}
    text = english_n(
        "{title} takes {time} of {whole} ({percent:.0f} %), once, at {place}.",
        "{title} takes {time} of {whole} ({percent:.0f} %), {count} times, at {place}.",
        count,
        **fields,
    )
    if Cause.BARRIER in causes[:-1]:
        name, title = "late_at_barrier", english("The last one at a barrier")
        remedy = english("Give the last one at the barrier less to do.")
    elif any(cause in _QUEUES for cause in causes[:-1]):
        name, title = "slow_stage", english("The slowest stage of a pipeline")
        remedy = english("Make this stage faster, or run it several times side by side.")
    is_known = key != "blocked" or reads_pages
    # What is not known promises nothing.
    gain = min(case.gain_ns(leaves_like(case, group.pieces)), group.time_ns) if is_known else 0
    needs = "" if is_known else for_waits(case.view.capture)
    return make_finding(
        case, name, title, text, group.pieces, gain, where, remedy, worst, needs, path,
        meanwhile=told(case, path), within=within_budget(case, key, group.time_ns),
    )  # fmt: skip


def of_locks(case: Case) -> Iterator[Finding]:
    """Waits for a lock that somebody else has: by the line that wants it, with that of who has it."""
    pieces = pieces_of(case, "lock")
    if not len(pieces):
        return
    path = case.pieces.path[pieces]
    cause = np.where(path >= 0, case.segments.cause[np.maximum(path, 0)], -1)
    # By the line that holds it where that is known: there is what can be done about it.
    leaf = case.pieces.leaf[pieces]
    hop = path[np.arange(len(path)), np.argmax(cause == Cause.LOCK, 1)]
    held = case.segments.cause[leaf] != Cause.LOCK
    in_all, of_budget = _through_locks(case), int(case.pieces.length[pieces].sum())
    for group in groups(case, pieces, case.group_of_segment[np.where(held, leaf, hop)]):
        where = where_of(case, group.pieces)
        usual = usual_path(case, group.pieces)
        waits = case.segments.cause == Cause.LOCK
        gain = min(case.bounded_by_cores(case.gain_ns(waits)), group.time_ns)
        if 2 * gain < group.time_ns:
            # Nobody could do anything else meanwhile: only a holder who gives it back sooner helps.
            gain = min(max(gain, case.gain_ns(leaves_like(case, group.pieces))), group.time_ns)
        title = english("Waiting for a lock")
        fields = {"title": title, "place": place_known(where), **cost(case, group.time_ns)}
        text = english("{title} takes {time} of {whole} ({percent:.0f} %); it is held at {place}.", **fields)
        if (case.segments.cause[case.pieces.leaf[group.pieces]] == Cause.LOCK).all():
            # Who has it was not recorded, or waits itself for whoever waits here: the place is where it is wanted.
            text = english(
                "{title} takes {time} of {whole} ({percent:.0f} %); it is wanted at {place}.", **fields
            )
        elif in_all - of_budget >= NOTE * case.whole_ns:
            text = english(
                "{title} takes {time} of {whole} ({percent:.0f} %); it is held at {place}. Locks are waited for "
                "{in_all} in all: where a holder waits for something else meanwhile, that is told instead.",
                in_all=format_duration(in_all), **fields,
            )  # fmt: skip
        remedy = english("Hold the lock for less, or split it: what is done under it makes others wait.")
        found = make_finding(
            case, "waits_for_lock", title, text, group.pieces, gain, where, remedy, path=usual,
            meanwhile=told(case, usual), within=within_budget(case, "lock", group.time_ns),
        )  # fmt: skip
        if found is not None:
            yield found


def _through_locks(case: Case) -> int:
    """How long a lock is waited for, by what is waited for or by whoever that waits for."""
    path, is_lock = case.pieces.path, case.segments.cause == Cause.LOCK
    found = np.zeros(len(path), bool)
    for column in range(path.shape[1]):
        found |= (path[:, column] >= 0) & is_lock[path[:, column]]
    return int(case.pieces.length[found].sum())


def of_gil(case: Case) -> Iterator[Finding]:
    """Waits for Python's global lock, together."""
    pieces = pieces_of(case, "gil")
    for group in groups(case, pieces, np.zeros(len(pieces), np.int64)):
        where = where_of(case, group.pieces)
        gain = case.bounded_by_cores(case.gain_ns(case.segments.cause == Cause.GIL))
        title = english("Waiting for the GIL")
        text = english(
            "{title} takes {time} of {whole} ({percent:.0f} %); most of it was held at {place}.",
            title=title,
            place=place_known(where),
            **cost(case, group.time_ns),
        )
        remedy = english("Move what holds the GIL to processes, or to code that gives it up.")
        found = make_finding(case, "waits_for_gil", title, text, group.pieces, gain, where, remedy)
        if found is not None:
            yield found


def of_children(case: Case) -> Iterator[Finding]:
    """Child processes, by the line that waits for them."""
    pieces = pieces_of(case, "child")
    for group in groups(case, pieces, case.group_of_segment[case.pieces.root[pieces]]):
        where = where_of(case, group.pieces, deepest=False)
        kept = case.pieces.path[group.pieces]
        actors = np.unique(case.segments.actor[kept[kept >= 0]])
        threads = case.view.capture.threads
        own = threads[case.target.thread].process if case.target.thread is not None else -1
        children = {threads[actor].process for actor in actors.tolist() if actor < len(threads)} - {own}
        gain = case.gain_ns(leaves_like(case, group.pieces))
        many = len(children) > 2
        title = english("A process for each item") if many else english("Child processes")
        text = english_n(
            "Waiting for a child process takes {time} of {whole} ({percent:.0f} %), at {place}.",
            "Waiting for {count} child processes takes {time} of {whole} ({percent:.0f} %), at {place}.",
            max(len(children), 1),
            place=place_known(where),
            **cost(case, group.time_ns),
        )
        remedy = english("Start the child earlier, or keep one instead of starting one each time.")
        worst = Severity.CRITICAL if many else Severity.NOTE
        found = make_finding(case, "waits_for_child", title, text, group.pieces, gain, where, remedy, worst)
        if found is not None:
            yield found


rules = (
    Rule("waits", "outside", of_leaves),
    Rule("locks", "locks", of_locks),
    Rule("gil", "locks", of_gil),
    Rule("children", "outside", of_children),
)
