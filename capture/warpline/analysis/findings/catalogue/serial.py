"""Rules: work that could run in parallel but runs one task after another, or ends on one worker."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    cost,
    groups,
    make_finding,
    pieces_of,
    place_known,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.i18n import english, english_n


def find_tasks(case: Case) -> Iterator[Finding]:
    """Find tasks that are started and waited for one after another."""
    pieces = pieces_of(case, "one_at_a_time")
    all_pieces, segments = case.pieces, case.segments
    for group in groups(case, pieces, case.group_of_segment[all_pieces.root[pieces]]):
        where = where_of(case, group.pieces, deepest=False)
        tasks, inverse = np.unique(all_pieces.root[group.pieces], return_inverse=True)
        time = np.bincount(inverse.reshape(-1), all_pieces.length[group.pieces])
        longest = inverse.reshape(-1) == int(np.argmax(time))
        gain = case.gain_of_pieces(group.pieces[~longest])
        if (segments.cause[all_pieces.leaf[group.pieces]] == Cause.RUNNING).any():
            gain = case.bounded_by_cores(gain)
        work = case.where(int(all_pieces.leaf[group.pieces[0]]))
        text = english_n(
            "{count} task is waited for before the next one starts, at {place}. For {time} of {whole} "
            "({percent:.0f} %) only it runs, in {work}.",
            "{count} tasks are waited for one after another, at {place}. For {time} of {whole} ({percent:.0f} %) only "
            "one of them runs, in {work}.",
            len(tasks), place=place_known(where), work=place_known(work), **cost(case, group.time_ns),
        )  # fmt: skip
        yield from make_finding(
            case, name="one_at_a_time", title=english("Tasks run one after another"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where, remedy=english("Start all tasks, then wait for all of them."),
            path=usual_path(case, group.pieces),
        )  # fmt: skip


def find_uneven(case: Case) -> Iterator[Finding]:
    """Find a worker that is still busy after all others have finished."""
    pieces = pieces_of(case, "uneven")
    all_pieces, segments = case.pieces, case.segments
    for group in groups(case, pieces, case.group_of_segment[all_pieces.leaf[pieces]]):
        where = where_of(case, group.pieces)
        leaf = int(all_pieces.leaf[group.pieces[0]])
        same = (segments.cause == segments.cause[leaf]) & (
            case.group_of_segment == case.group_of_segment[leaf]
        )
        workers = len(np.unique(segments.actor[same]))
        # Evenly shared, the idle workers would take their part.
        gain = group.time_ns * (workers - 1) // workers
        text = english_n(
            "{subject} works alone for {time} of {whole} ({percent:.0f} %), at {place}, while {count} other worker has "
            "nothing left to do.",
            "{subject} works alone for {time} of {whole} ({percent:.0f} %), at {place}, while {count} other workers "
            "have nothing left to do.",
            workers - 1, subject=case.actor_name(int(segments.actor[leaf])), place=place_known(where),
            **cost(case, group.time_ns),
        )  # fmt: skip
        yield from make_finding(
            case, name="uneven_workers", title=english("Unevenly shared work"), text=text, pieces=group.pieces,
            gain_ns=gain, where=where,
            remedy=english("Split the work into smaller pieces and start the longest first."),
        )  # fmt: skip


rules = (Rule("one_at_a_time", "locks", find_tasks), Rule("uneven_workers", "locks", find_uneven))
