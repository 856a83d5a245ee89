"""Rule: a thread that is moved between cores too often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import NOTE, at_most, place_known, severity
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_OFTEN_NS = 2_000_000
"""Moves more frequent than this are forced: a scheduler leaves running threads where they are."""
_RAN = 0.1
_RUNS = (int(Cause.RUNNING), int(Cause.IMPORTING))
_OFF_CORE = (int(Cause.RUNNABLE), int(Cause.BLOCKED))
_ROWS = 20


def find_migrations(case: Case) -> Iterator[Finding]:
    """Find frequent moves of the target thread, and the time it is off any core for them."""
    table = case.view.capture.kinds.get("thread_state")
    if case.target.thread is None or table is None or "cpu" not in table.attributes:
        return
    segments = case.segments
    own = np.flatnonzero(
        (segments.actor == case.target.thread) & one_of(segments.cause, _RUNS) & (segments.row >= 0)
    )
    if len(own) < 2:
        return
    core = case.view.column("thread_state", "cpu", table.indices_of(segments.row[own].astype(np.int64)))
    number = np.ma.filled(core.astype(np.int64), -1)
    moved = np.flatnonzero((number[1:] != number[:-1]) & (number[1:] >= 0) & (number[:-1] >= 0))
    ran = int(segments.length[own].sum())
    if not len(moved) or ran < _RAN * case.fair_ns or ran > _OFTEN_NS * len(moved):
        return
    # From the last segment on one core to the first on the next.
    depth = np.zeros(len(segments) + 1, np.int32)
    np.add.at(depth, own[moved] + 1, 1)
    np.add.at(depth, own[moved + 1], -1)
    between = (np.cumsum(depth[:-1]) > 0) & one_of(segments.cause, _OFF_CORE)
    gain = case.gain_as_recorded_ns(between)
    where = _where(case, own[moved], own[moved + 1])
    text = english(
        "{subject} moves between cores {count:,} times, on average after {each} of running, and spends {lost} off any "
        "core in between, at {place}. Each move starts with cold caches. Up to {factor}× faster.",
        subject=case.target.title, count=len(moved), each=format_duration(ran // len(moved)),
        lost=format_duration(int(segments.length[between].sum())), place=place_known(where), factor=at_most(case, gain),
    )  # fmt: skip
    starts, stops = segments.stop[own[moved]], segments.start[own[moved + 1]]
    yield Finding(
        id="migrations",
        severity=severity(gain / case.fair_ns, Severity.WARNING)
        if gain >= NOTE * case.fair_ns
        else Severity.NOTE,
        title=english("Frequent moves between cores"), text=text, gain_ns=min(gain, case.whole_ns), where=where,
        remedy=english(
            "Find what changes its allowed cores (sched_setaffinity, a library's binding), and bind it once."
        ),
        evidence=Evidence(
            np.column_stack((starts, stops)),
            tuple(segments.row[own[moved[:_ROWS]]].tolist()),
            case.target.tracks,
        ),
    )  # fmt: skip


def _where(case: Case, before: Int64Array, after: Int64Array) -> Where:
    """Where the thread was moved: from stacks sampled between two cores, else where it ran before."""
    segments, thread = case.segments, case.target.thread
    times, stacks = case.threads.samples_of(-1 if thread is None else thread)
    # A sample lies between two cores when fewer cores were reached than left before it.
    out = np.searchsorted(segments.stop[before], times, "right")
    between = stacks[(out > np.searchsorted(segments.start[after], times, "right")) & (stacks >= 0)]
    if len(between) and thread is not None:
        distinct_stacks, count = np.unique(between, return_counts=True)
        places: dict[Where, int] = {}
        for stack, number in zip(distinct_stacks.tolist(), count.tolist(), strict=True):
            place = case.threads.where(stack, thread)
            places[place] = places.get(place, 0) + number
        return max(places, key=lambda place: places[place])
    group = case.group_of_segment[before]
    known = before[group > 0]
    if not len(known):
        return case.where(int(before[0]))
    best = int(np.argmax(np.bincount(group[group > 0])))
    return case.where(int(known[case.group_of_segment[known] == best][0]))


rules = (Rule("migrations", "locks", find_migrations),)
