"""Rules for threads with only named ranges recorded: which take the time, the gaps between them, requests in flight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.asynchronous import requests_finding, requests_in_flight
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import RANGE_KINDS
from warpline.analysis.findings.draft import NOTE, cost, make_finding, pieces_of
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.knowledge import for_waits
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import NestedEvents, flat_parents, self_times
from warpline.i18n import english, english_n
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_LISTED = 3


def find_ranges(case: Case) -> Iterator[Finding]:
    """Find the names of ranges with the most self time."""
    pieces = pieces_of(case, "ranges")
    events = _events(case) if len(pieces) else None
    if events is None or not len(events):
        return
    # Clipped to the range: events cut by its borders count as far as they lie inside.
    inside = np.minimum(events.stop, case.view.stop_ns) - np.maximum(events.start, case.view.start_ns)
    own = self_times(np.maximum(inside, 0), flat_parents(events))
    names, inverse = np.unique(case.view.names(events.row), return_inverse=True)
    time = np.bincount(inverse.reshape(-1), own)
    count = np.bincount(inverse.reshape(-1))
    del events, inside, own, inverse  # large where ranges are many, and the finding reads some of them again
    strings = case.view.capture.strings
    order = np.argsort(-time, kind="stable")[:_LISTED].tolist()
    best = order[0]
    others = [n for n in order[1:] if time[n] >= NOTE * case.whole_ns]
    text = english_n(
        "Ranges take {total} of {whole}. Most of it, without the ranges inside, is {name}: {time} ({percent:.0f} %) in "
        "one call.",
        "Ranges take {total} of {whole}. Most of it, without the ranges inside, is {name}: {time} ({percent:.0f} %) in "
        "{count:,} calls.",
        int(count[best]), name=strings[int(names[best])],
        total=str(cost(case, int(case.pieces.length[pieces].sum()))["time"]), **cost(case, int(time[best])),
    )  # fmt: skip
    if others:
        listed = ", ".join(
            f"{strings[int(names[n])]} ({100 * time[n] / case.whole_ns:.0f} %)" for n in others
        )
        text = english("{sentence} Next: {list}.", sentence=text, list=listed)
    yield from make_finding(
        case, name="ranges", title=english("Time in ranges"), text=text, pieces=pieces,
        where=Where(function=strings[int(names[best])]),
        remedy=english("Make this cheaper or call it less often; sample its stack to see the line."),
        worst=Severity.NOTE,
    )  # fmt: skip


def _events(case: Case) -> NestedEvents:
    tracks = [
        track
        for track in case.target.tracks
        if case.view.capture.tracks[track].role not in ("state", "samples")
    ]
    return nested_events(case.view, tracks, RANGE_KINDS)


def find_time_between_ranges(case: Case) -> Iterator[Finding]:
    """Find time outside any range."""
    pieces = pieces_of(case, "between_ranges")
    if not len(pieces):
        return
    # Samples and other events cut a gap into pieces.
    start, length = case.pieces.start[pieces], case.pieces.length[pieces]
    begins = np.flatnonzero(np.r_[True, start[1:] > start[:-1] + length[:-1]])
    gap_start, gap_length = start[begins], np.add.reduceat(length, begins)
    longest = int(np.argmax(gap_length))
    text = english_n(
        "{time} of {whole} ({percent:.0f} %) lies outside all ranges, in one gap.",
        "{time} of {whole} ({percent:.0f} %) lies outside all ranges, in {count:,} gaps; the longest takes {longest} "
        "and begins at {start}.",
        len(gap_length), longest=format_duration(int(gap_length[longest])),
        start=format_duration(int(gap_start[longest]) - case.view.capture.span[0]),
        **cost(case, int(length.sum())),
    )  # fmt: skip
    yield from make_finding(
        case, name="between_ranges", title=english("Time outside ranges"), text=text, pieces=pieces,
        remedy=english("Look at the gaps on the timeline, or annotate what runs there."), worst=Severity.NOTE,
        needs=for_waits(case.view.capture),
    )  # fmt: skip


def find_requests(case: Case) -> Iterator[Finding]:
    """Find asynchronous requests beside the threads."""
    if case.target.gpu is not None or case.view.were_recorded("thread_state"):
        return
    flight = requests_in_flight(case.view)
    if flight is not None and int(flight.times[1:].sum()) >= NOTE * case.whole_ns:
        yield requests_finding(case.view, flight)


rules = (
    Rule("ranges", "host", find_ranges),
    Rule("between_ranges", "host", find_time_between_ranges),
    Rule("asynchronous_requests", "host", find_requests),
)
