"""Threads of which only ranges and operators are known: which operator takes most, and what lies between operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import cost, make_finding, pieces_of
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.knowledge import for_waits
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.nesting import flat_parents, self_times
from warpline.i18n import english, english_n


def of_operators(case: Case) -> Iterator[Finding]:
    """The operator with most time of its own."""
    pieces = pieces_of(case, "operators")
    if not len(pieces):
        return
    tracks = case.view.capture.tracks
    lanes = case.view.lane_events([one for one in case.target.tracks if tracks[one].role == "operators"])
    if not lanes:
        return
    duration = np.concatenate([lane.stop - lane.start for lane in lanes])
    own = self_times(duration, flat_parents(lanes))
    names, inverse = np.unique(
        case.view.names(np.concatenate([lane.row for lane in lanes])), return_inverse=True
    )
    best = int(np.argmax(np.bincount(inverse.reshape(-1), own)))
    chosen = inverse.reshape(-1) == best
    name = case.view.capture.strings[int(names[best])]
    time = int(own[chosen].sum())
    text = english_n(
        "Operators take {all} of {whole}, first of all {operator}, once, for {time} ({percent:.0f} %).",
        "Operators take {all} of {whole}, first of all {operator}, {count:,} times, for {time} ({percent:.0f} %).",
        int(chosen.sum()), operator=name, all=str(cost(case, int(case.pieces.length[pieces].sum()))["time"]),
        **cost(case, time),
    )  # fmt: skip
    found = make_finding(
        case, "operators", english("Operators"), text, pieces, 0, Where(operator=name),
        english("Only fewer or cheaper operators help: fuse, lower the precision, other sizes, more threads."),
        Severity.NOTE,
    )  # fmt: skip
    if found is not None:
        yield found


def of_time_between(case: Case) -> Iterator[Finding]:
    """Time in which the thread was in no operator."""
    pieces = pieces_of(case, "active")
    if not len(pieces) or not case.view.has("operator"):
        return
    text = english(
        "Between operators lie {time} of {whole} ({percent:.0f} %): Python of the program, or waiting; which of "
        "them was not recorded.",
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    found = make_finding(
        case, "between_operators", english("Between operators"), text, pieces, case.gain_of_pieces(pieces), Where(),
        english("See what lies between operators on the timeline."), Severity.NOTE, for_waits(case.view.capture),
    )  # fmt: skip
    if found is not None:
        yield found


rules = (Rule("operators", "host", of_operators), Rule("between_operators", "host", of_time_between))
