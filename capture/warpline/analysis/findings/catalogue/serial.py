"""Work that could be done side by side: one task after the other, one worker alone at the end."""

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


def of_tasks(case: Case) -> Iterator[Finding]:
    """Tasks that are started, and waited for, one after the other."""
    pieces = pieces_of(case, "one_at_a_time")
    kept, segments = case.pieces, case.segments
    for group in groups(case, pieces, case.group_of_segment[kept.root[pieces]]):
        where = where_of(case, group.pieces, deepest=False)
        tasks, inverse = np.unique(kept.root[group.pieces], return_inverse=True)
        time = np.bincount(inverse.reshape(-1), kept.length[group.pieces])
        longest = inverse.reshape(-1) == int(np.argmax(time))
        gain = case.gain_of_pieces(group.pieces[~longest])
        if (segments.cause[kept.leaf[group.pieces]] == Cause.RUNNING).any():
            gain = case.bounded_by_cores(gain)
        work = case.where(int(kept.leaf[group.pieces[0]]))
        text = english_n(
            "{count} task is waited for before the next is begun, at {place}: {time} of {whole} ({percent:.0f} %) in "
            "which only one of them does {work}.",
            "{count} tasks are waited for one after the other, at {place}: {time} of {whole} ({percent:.0f} %) "
            "in which only one of them does {work}.",
            len(tasks), place=place_known(where), work=place_known(work), **cost(case, group.time_ns),
        )  # fmt: skip
        found = make_finding(
            case, "one_at_a_time", english("One task after the other"), text, group.pieces, gain, where,
            english("Start them all, then wait for them all."), path=usual_path(case, group.pieces),
        )  # fmt: skip
        if found is not None:
            yield found


def of_uneven(case: Case) -> Iterator[Finding]:
    """One worker has more to do than others, and is waited for alone."""
    pieces = pieces_of(case, "uneven")
    kept, segments = case.pieces, case.segments
    for group in groups(case, pieces, case.group_of_segment[kept.leaf[pieces]]):
        where = where_of(case, group.pieces)
        leaf = int(kept.leaf[group.pieces[0]])
        same = (segments.cause == segments.cause[leaf]) & (
            case.group_of_segment == case.group_of_segment[leaf]
        )
        workers = len(np.unique(segments.actor[same]))
        # Shared out, those who had no more would take their part of it.
        gain = group.time_ns * (workers - 1) // workers
        text = english_n(
            "{who} works alone for {time} of {whole} ({percent:.0f} %), at {place}, while {count} other worker has "
            "nothing more to do.",
            "{who} works alone for {time} of {whole} ({percent:.0f} %), at {place}, while {count} other workers have "
            "nothing more to do.",
            workers - 1, who=case.actor_name(int(segments.actor[leaf])), place=place_known(where),
            **cost(case, group.time_ns),
        )  # fmt: skip
        found = make_finding(
            case, "uneven_workers", english("Workers with unequal shares"), text, group.pieces, gain, where,
            english("Share the work out in smaller pieces, the longest first."),
        )  # fmt: skip
        if found is not None:
            yield found


rules = (Rule("one_at_a_time", "locks", of_tasks), Rule("uneven_workers", "locks", of_uneven))
