"""Rules for threads with only operators recorded: the largest operator, and the time between operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import cost, make_finding, pieces_of
from warpline.analysis.findings.finding import Doing, Finding, Severity, Where
from warpline.analysis.findings.knowledge import for_waits
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import flat_parents, self_times
from warpline.analysis.framework.selected.selected_events import join_events
from warpline.analysis.structure.overlap import covered_ns
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_MOST = 0.5


def find_operators(case: Case) -> Iterator[Finding]:
    """Find the operator with the most self time."""
    pieces = pieces_of(case, "operators")
    if not len(pieces):
        return
    tracks = case.view.capture.tracks
    events = nested_events(
        case.view, [track for track in case.target.tracks if tracks[track].role == "operators"]
    )
    if not len(events):
        return
    first, last = case.view.start_ns, case.view.start_ns + case.view.duration_ns
    own = self_times(np.minimum(events.stop, last) - np.maximum(events.start, first), flat_parents(events))
    names, inverse = np.unique(case.view.names(events.row), return_inverse=True)
    best = int(np.argmax(np.bincount(inverse.reshape(-1), own)))
    chosen = inverse.reshape(-1) == best
    name = case.view.capture.strings[int(names[best])]
    time = int(own[chosen].sum())
    text = english_n(
        "Operators take {total} of {whole}. The largest is {operator}: {time} ({percent:.0f} %) in one call.",
        "Operators take {total} of {whole}. The largest is {operator}: {time} ({percent:.0f} %) in {count:,} calls.",
        int(chosen.sum()), operator=name, total=str(cost(case, int(case.pieces.length[pieces].sum()))["time"]),
        **cost(case, time),
    )  # fmt: skip
    yield from make_finding(
        case, name="operators", title=english("Time in operators"), text=text, pieces=pieces,
        where=Where(operator=name),
        remedy=english(
            "Only fewer or cheaper operators help: fuse them, lower the precision, change sizes, use more threads."
        ),
        worst=Severity.NOTE,
    )  # fmt: skip


def find_time_between(case: Case) -> Iterator[Finding]:
    """Find time outside any operator."""
    pieces = pieces_of(case, "active")
    if not len(pieces) or not case.view.were_recorded("operator"):
        return
    text = english(
        "No operator runs in {time} of {whole} ({percent:.0f} %). The recording does not show whether Python code runs "
        "or waits then.",
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    yield from make_finding(
        case, name="between_operators", title=english("Time between operators"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), remedy=english("Look at the gaps between operators on the timeline."),
        worst=Severity.NOTE, needs=for_waits(case.view.capture), meanwhile=_meanwhile(case, pieces),
    )  # fmt: skip


def _meanwhile(case: Case, pieces: Int64Array) -> tuple[Doing, ...]:
    """What another thread of the process did for at least half of the time; often the operation waited for, such as a
    collective that runs on its own thread.
    """
    view, thread = case.view, case.target.thread
    threads = view.capture.threads
    if thread is None:
        return ()
    others = frozenset(
        track.index
        for track in view.capture.tracks
        if track.thread not in (None, thread) and threads[track.thread].process == threads[thread].process
    )
    times = merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])
    kinds = [kind for kind in ("operator", "range", "phase", "other") if kind in view.capture.kinds]
    inside = np.zeros(max(len(view.capture.strings), 1))
    for kind in kinds:
        for part in view.batches(kind, others):
            inside += np.bincount(part.name, covered_ns(times, part.start, part.stop), len(inside))
    best = int(np.argmax(inside))
    if not inside[best]:
        return ()
    wanted = np.arange(len(inside)) == best
    events = join_events([view.events(kind, others, wanted) for kind in kinds])
    time = int(covered_ns(merge_intervals(events.start, events.stop), *times).sum())
    if time < _MOST * int((times[1] - times[0]).sum()):
        return ()
    shown = int(view.track_of(events.row[[int(np.argmax(events.duration))]])[0])
    actor = case.threads.name(view.capture.tracks[shown].thread or 0)
    name = view.capture.strings[best]
    return (
        Doing(actor, english("is in {name} for {time} of that time", name=name, time=format_duration(time))),
    )


rules = (Rule("operators", "host", find_operators), Rule("between_operators", "host", find_time_between))
