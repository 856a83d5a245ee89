"""Asynchronous requests: how many are in flight at once, and the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import (
    Budget,
    BudgetPart,
    Diagnosis,
    Evidence,
    Finding,
    Severity,
    Where,
)
from warpline.analysis.framework.nesting import outermost
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.overlap import Intervals, gaps
from warpline.i18n import english, joined
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_KINDS = ("range", "other", "phase")
_ROWS = 20
_SEVERAL = 3
"""From this many requests on, sending one after the other is a pattern."""


@dataclass(frozen=True, eq=False)
class InFlight:
    """Requests in the range, and the time with exactly 0, 1, 2 … of them in flight (int64 ns)."""

    requests: SelectedEvents
    times: Int64Array
    idle: Intervals

    @property
    def most(self) -> int:
        """The highest number in flight."""
        return len(self.times) - 1

    @property
    def average(self) -> float:
        """The average number in flight while there is any."""
        busy = int(self.times[1:].sum())
        return float((self.times * np.arange(len(self.times))).sum() / max(busy, 1))


def async_tracks(view: View) -> frozenset[int]:
    """The selected tracks of asynchronous events."""
    return frozenset(
        track.index for track in view.capture.tracks if "/async/" in track.uri and track.index in view.tracks
    )


def requests_in_flight(view: View) -> InFlight | None:
    """The asynchronous requests of the range; None for less than two.

    A request is an event whose name is outermost somewhere on its track; names that only occur inside are its parts.
    """
    tracks = async_tracks(view)
    kinds = [kind for kind in _KINDS if kind in view.capture.kinds]
    events = join_events([view.events(kind, tracks) for kind in kinds]) if tracks else join_events([])
    events = events.take(events.duration > 0)
    if not len(events):
        return None
    is_outer = outermost(view.track_of(events.row), events.start, events.stop)
    requests = events.take(np.isin(events.name, np.unique(events.name[is_outer])))
    if len(requests) < 2:
        return None
    start, stop = np.maximum(requests.start, view.start_ns), np.minimum(requests.stop, view.stop_ns)
    border = np.concatenate([[view.start_ns, view.stop_ns], start, stop]).astype(np.int64)
    delta = np.concatenate([[0, 0], np.ones(len(start), np.int64), -np.ones(len(stop), np.int64)])
    order = np.lexsort((delta, border))
    level = np.maximum(np.cumsum(delta[order])[:-1], 0)
    times = np.bincount(level, np.diff(border[order]), 2).astype(np.int64)
    times = times[: max(int(np.flatnonzero(times).max(initial=0)), 1) + 1]
    return InFlight(requests, times, gaps(*merge_intervals(start, stop), view.start_ns, view.stop_ns))


def requests_finding(view: View, flight: InFlight) -> Finding:
    """What the requests show: how many at once, which take longest, and the longest time without any."""
    names, inverse = np.unique(flight.requests.name, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), flight.requests.inside)
    best = int(np.argmax(total))
    own = flight.requests.take(inverse.reshape(-1) == best)
    name = view.capture.strings[int(names[best])]
    whole = max(view.duration_ns, 1)
    alone = int(flight.times[1])
    text = english(
        "{count:,} asynchronous requests: up to {most:,} in flight, {average:.1f} on average. Exactly one is "
        "in flight for {alone:.0f} % of {whole}, none for {none:.0f} %.",
        count=len(flight.requests), most=flight.most, average=flight.average, whole=format_duration(whole),
        alone=100 * alone / whole, none=100 * int(flight.times[0]) / whole,
    )  # fmt: skip
    longest = english(
        "{name} takes most: {median} in the median, {longest} at most.",
        name=name, median=format_duration(int(np.median(own.duration))),
        longest=format_duration(int(own.duration.max())),
    )  # fmt: skip
    order = np.argsort(-own.duration, kind="stable")[:_ROWS]
    if int(flight.times[0]) * 2 > whole:
        remedy = english("Nothing is in flight in the gaps: look at what the sender does there.")
    elif alone * 2 > whole and len(flight.requests) >= _SEVERAL:
        remedy = english("Send several at once, if they do not need each other's results.")
    else:
        remedy = english("Look at the longest requests, and at what they wait for.")
    evidence = Evidence(
        np.column_stack(flight.idle), tuple(own.row[order].tolist()), tuple(sorted(async_tracks(view)))
    )
    return Finding(
        id="asynchronous_requests", severity=Severity.NOTE, title=english("Asynchronous requests"),
        text=joined(" ", [text, longest]), where=Where(function=name), remedy=remedy,
        evidence=evidence,
    )  # fmt: skip


def diagnose_requests(view: View) -> Diagnosis | None:
    """The diagnosis of a range with asynchronous requests only: its budget is the time by number in flight."""
    flight = requests_in_flight(view)
    if flight is None:
        return None
    times = (int(flight.times[0]), int(flight.times[1]), int(flight.times[2:].sum()))
    titles = (
        ("no_request", english("no request in flight")),
        ("one_request", english("one request in flight")),
        ("several_requests", english("several requests in flight")),
    )
    parts = [BudgetPart(key, title, time) for (key, title), time in zip(titles, times, strict=True) if time]
    budget = Budget(
        waited_for=english("Asynchronous requests"), start_ns=view.start_ns, stop_ns=view.stop_ns,
        parts=tuple(sorted(parts, key=lambda part: -part.time_ns)), tracks=tuple(sorted(async_tracks(view))),
    )  # fmt: skip
    return Diagnosis(budget, (requests_finding(view, flight),))
