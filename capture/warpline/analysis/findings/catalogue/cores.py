"""Ready to run, and others had the cores: the program's own threads, neighbours, or all crowded on a few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    cost,
    make_finding,
    pieces_of,
    place_known,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.analysis.structure.overlap import covered_ns
from warpline.i18n import english
from warpline.model.intervals import merge_intervals
from warpline.model.track_titles import CORE_LOAD

Int64Array = npt.NDArray[np.int64]
_PARTS = 2048
"""Of the range, in which is looked at how many run at a time."""
_IDLE = 0.5
"""A core that is used for less of the time that others are waited for is idle."""
_SEEN = 0.5
"""Of that time: if samples tell of less, nothing is known."""
_SOME = 0.2
"""Of the time that cores are waited for: where somebody may run for less of it does not count."""
_RUNS = tuple(int(cause) for cause in (Cause.RUNNING, Cause.IMPORTING, Cause.ALLOCATING, Cause.COMPILING))


def of_cores(case: Case) -> Iterator[Finding]:
    """Ready to run, and others had the cores: the program's own threads, or somebody outside, whose doing is a note."""
    pieces = pieces_of(case, "runnable")
    if not len(pieces):
        return
    start, stop = case.pieces.start[pieces], case.pieces.stop[pieces]
    waited = int((stop - start).sum())
    gain = case.bounded_by_cores(case.gain_ns(case.segments.cause == Cause.RUNNABLE))
    if max(waited, gain) < NOTE * case.whole_ns:
        return
    cores, fields = _cores(case), cost(case, waited)
    few = _kept_to_few(case, pieces, gain, fields)
    if few is not None:
        yield few
        return
    taken = _ran_meanwhile(case, start, stop)
    crowded = crowded_ns(case, cores)
    title = english("Waiting for a core")
    if crowded < NOTE * case.whole_ns or not taken:
        outside = 100 * max(1 - sum(taken.values()) / (waited * cores), 0.0)
        text = english(
            "Ready to run and without a core for {time} of {whole} ({percent:.0f} %). Other programs on this machine "
            "used {outside:.0f} % of the cores meanwhile.",
            outside=outside, **fields,
        )  # fmt: skip
        remedy = english("Leave cores to this program; this is no fault of its own.")
        found = make_finding(
            case, "waits_for_core", title, text, pieces, gain, where_of(case, pieces), remedy, Severity.NOTE
        )
    else:
        most = max(taken, key=lambda actor: taken[actor])
        running = np.flatnonzero((case.segments.actor == most) & (case.segments.cause == Cause.RUNNING))
        place = np.bincount(case.group_of_segment[running], case.segments.length[running])
        best = running[case.group_of_segment[running] == int(np.argmax(place))][0]
        where = case.where(int(best))
        text = english(
            "Ready to run and without a core for {time} of {whole} ({percent:.0f} %): {count} other threads of the "
            "program want the cores too, first of all {who}, at {place}.",
            count=len(taken), who=case.actor_name(most), place=place_known(where), **fields,
        )  # fmt: skip
        remedy = english("Run fewer threads and processes than there are cores.")
        # What neighbours took of it is theirs.
        own = min(gain, crowded)
        found = make_finding(case, "waits_for_core", title, text, pieces, own, where, remedy)
    if found is not None:
        yield found


def _kept_to_few(case: Case, pieces: Int64Array, gain: int, fields: dict[str, str | float]) -> Finding | None:
    """Cores that the program may not run on, or nobody used while it waited for others: where it is too crowded for
    it, and would not be on all.
    """
    cores = _cores(case)
    allowed = _allowed_cores(case)
    idle = _idle_cores(case, case.pieces.start[pieces], case.pieces.stop[pieces])
    if allowed < cores:
        text = english(
            "Ready to run and without a core for {time} of {whole} ({percent:.0f} %): it may run on {allowed} of "
            "{cores} cores only.",
            allowed=allowed, cores=cores, **fields,
        )  # fmt: skip
        # What neighbours take of these cores they would take of the others, too.
        gain = min(gain, crowded_ns(case, allowed) - crowded_ns(case, cores))
    elif idle:
        allowed = max(cores - idle, 1)
        text = english(
            "Ready to run and without a core for {time} of {whole} ({percent:.0f} %), while {idle} of {cores} cores "
            "idled.",
            idle=idle, cores=cores, **fields,
        )  # fmt: skip
    if allowed == cores or min(gain, crowded_ns(case, allowed)) < NOTE * case.whole_ns:
        return None
    return make_finding(
        case, "few_cores", english("Kept to fewer cores than there are"), text, pieces, gain,
        where_of(case, pieces),
        english("See what keeps it there: taskset, sched_setaffinity, numactl, a cpuset, or a library's own binding."),
    )  # fmt: skip


def _allowed_cores(case: Case) -> int:
    """On how many cores those processes may run that wait for one, while they do; all that there are where that was not
    recorded.
    """
    capture, segments = case.view.capture, case.segments
    told: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for process, time_ns, cores in _told_cores(case):
        told.setdefault(process, []).append((time_ns, cores))
    waits = np.flatnonzero((segments.cause == Cause.RUNNABLE) & (segments.actor < len(capture.threads)))
    process_of = np.array([thread.process for thread in capture.threads], np.int64)[segments.actor[waits]]
    weights: dict[frozenset[int], int] = {}
    for process in np.unique(process_of).tolist():
        known = sorted(told.get(process, []), key=lambda one: one[0])
        if not known:
            return _cores(case)
        own = waits[process_of == process]
        # What was seen first was so before.
        edges = np.array([case.view.start_ns, *(time for time, _ in known[1:]), case.view.stop_ns], np.int64)
        edges = np.maximum.accumulate(np.clip(edges, case.view.start_ns, case.view.stop_ns))
        merged = merge_intervals(segments.start[own], segments.stop[own])
        for (_time, cores), waited in zip(
            known, covered_ns(merged, edges[:-1], edges[1:]).tolist(), strict=True
        ):
            weights[cores] = weights.get(cores, 0) + int(waited)
    least = _SOME * sum(weights.values())
    found = frozenset[int]().union(*(cores for cores, waited in weights.items() if waited >= least))
    return min(max(len(found), 1), _cores(case)) if weights else _cores(case)


def _told_cores(case: Case) -> Iterator[tuple[int, int, frozenset[int]]]:
    """From when on (capture ns) a process (its index) may run on which cores, as far as that makes sense in a file."""
    entries = case.view.capture.meta.get("allowed_cores")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        process, time_ns, cores = (entry.get(key) for key in ("process", "time_ns", "cores"))
        if isinstance(process, int) and isinstance(time_ns, int) and isinstance(cores, list) and cores:
            yield process, time_ns, frozenset(core for core in cores if isinstance(core, int))


def _cores(case: Case) -> int:
    return max(sum(track.role == "core" for track in case.view.capture.tracks), 1)


def _idle_cores(case: Case, start: Int64Array, stop: Int64Array) -> int:
    """How many cores nobody at all used for most of some stretches, by what the kernel says of the whole machine."""
    capture = case.view.capture
    waited = merge_intervals(start, stop)
    idle = 0
    for counter in capture.counters:
        if (
            capture.tracks[counter.track].role != "core"
            or counter.name != CORE_LOAD
            or len(counter.times) < 2
        ):
            continue
        times = np.asarray(counter.times)
        # A sample tells of the time since the one before it.
        weight = covered_ns(waited, times[:-1], times[1:])
        used = np.nan_to_num(np.asarray(counter.values, np.float64)[1:], nan=1.0)
        if weight.sum() >= _SEEN * (waited[1] - waited[0]).sum():
            idle += bool((used * weight).sum() < _IDLE * weight.sum())
    return idle


def crowded_ns(case: Case, cores: int) -> int:
    """How much longer the program would last on so many cores, all to itself, than on as many as it likes.

    Everybody's time is replayed without any wait for a core. What then runs side by side beyond the cores there are has
    to be done after all, on these cores. A neighbour on the machine makes threads ready for long; it does not make them
    run more. Taken in the mean over short parts of the range: who runs for moments crowds nobody out.
    """
    segments, graph = case.segments, case.graph
    ends = graph.replay(np.where(segments.cause == Cause.RUNNABLE, np.float32(0), np.float32(1)))
    first = np.ones(len(segments), bool)
    first[1:] = segments.actor[1:] != segments.actor[:-1]
    begins = np.empty_like(ends)
    begins[1:] = ends[:-1]
    begins[first] = graph.start_ns
    runs = np.flatnonzero(one_of(segments.cause, _RUNS))
    edges = np.linspace(0, case.whole_ns, _PARTS + 1)
    ran = _sum_until(begins[runs] - graph.start_ns, edges) - _sum_until(ends[runs] - graph.start_ns, edges)
    beyond = np.maximum(np.diff(ran) - cores * np.diff(edges), 0)
    return int(beyond.sum() / cores)


def _sum_until(times: Int64Array, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each edge the sum of how long before it all times lie that do."""
    part = np.clip(np.searchsorted(edges, times, "right"), 1, len(edges) - 1)
    before = (edges[part] - times) * (times < edges[-1])
    # Within its own part a time counts up to the part's end, from there on with every part.
    counts = np.cumsum(np.bincount(part[times < edges[-1]], minlength=len(edges)))
    whole = np.concatenate([[0.0], np.cumsum(counts[:-1] * np.diff(edges))])
    found: npt.NDArray[np.float64] = whole + np.cumsum(np.bincount(part, before, len(edges)))
    return found


def _ran_meanwhile(case: Case, start: Int64Array, stop: Int64Array) -> dict[int, int]:
    """How long each other thread of the program ran in some stretches."""
    threads = len(case.view.capture.threads)
    running = one_of(case.segments.cause, (int(Cause.RUNNING), int(Cause.IMPORTING)))
    others = np.unique(case.segments.actor[running & (case.segments.actor < threads)])
    found = {}
    for actor in others[others != case.actor].tolist():
        window, segment = case.graph.index.overlapping(np.full(len(start), actor), start, stop)
        runs = running[segment]
        window, segment = window[runs], segment[runs]
        length = np.minimum(stop[window], case.segments.stop[segment]) - np.maximum(
            start[window], case.segments.start[segment]
        )
        if len(length):
            found[actor] = int(length.sum())
    return found


rules = (Rule("cores", "locks", of_cores),)
