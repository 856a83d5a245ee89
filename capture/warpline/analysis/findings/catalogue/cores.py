"""Rules: threads that were ready to run but had no core, and who used the cores instead."""

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
from warpline.analysis.structure.overlap import covered_ns
from warpline.i18n import english
from warpline.model.intervals import merge_intervals
from warpline.model.track_titles import CORE_LOAD

Int64Array = npt.NDArray[np.int64]
_IDLE = 0.5
"""A core used for less than this share of the waiting time is idle."""
_SEEN = 0.5
"""Least share of the waiting time that samples must cover."""
_SOME = 0.2
"""Share of the waiting time below which a set of allowed cores is ignored."""


def find_cores(case: Case) -> Iterator[Finding]:
    """Find waits for a core. They are only a note when programs outside the recording used the cores."""
    pieces = pieces_of(case, "runnable")
    if not len(pieces):
        return
    start, stop = case.pieces.start[pieces], case.pieces.stop[pieces]
    waited = int((stop - start).sum())
    gain = case.bounded_by_cores(case.gain_as_recorded_ns(case.segments.cause == Cause.RUNNABLE))
    if max(waited, gain) < NOTE * case.fair_ns:
        return
    cores, fields = case.cores, cost(case, waited)
    restricted = list(_restricted(case, pieces, gain, fields))
    if restricted:
        yield from restricted
        return
    taken = case.ran_while_waiting
    crowded = case.crowded_ns(cores)
    title = english("Waiting for a core")
    if crowded < NOTE * case.fair_ns or not taken:
        outside = 100 * case.outside_ns / max(case.core_waits_ns, 1)
        text = english(
            "{time} of {whole} ({percent:.0f} %) is spent ready to run but without a CPU core. Other programs on this "
            "machine used {outside:.0f} % of the cores during that time.",
            outside=outside, **fields,
        )  # fmt: skip
        remedy = english("Free up cores: other programs on this machine cause this wait.")
        yield from make_finding(
            case, name="waits_for_core", title=title, text=text, pieces=pieces, gain_ns=gain,
            where=where_of(case, pieces), remedy=remedy, worst=Severity.NOTE,
        )  # fmt: skip
    else:
        most = max(taken, key=lambda actor: taken[actor])
        running = np.flatnonzero((case.segments.actor == most) & (case.segments.cause == Cause.RUNNING))
        place = np.bincount(case.group_of_segment[running], case.segments.length[running])
        best = running[case.group_of_segment[running] == int(np.argmax(place))][0]
        where = case.where(int(best))
        text = english(
            "{time} of {whole} ({percent:.0f} %) is spent ready to run but without a CPU core: {count} other threads "
            "of the program compete for the cores. {subject} uses them most, at {place}.",
            count=len(taken), subject=case.actor_name(most), place=place_known(where), **fields,
        )  # fmt: skip
        remedy = english("Run no more threads and processes than there are cores.")
        if 2 * sum(_is_of_library(case, actor) for actor in taken) > len(taken):
            remedy = english(
                "Most of them are threads of a native library. Limit them to the cores: OMP_NUM_THREADS (OpenMP), "
                "OPENBLAS_NUM_THREADS, MKL_NUM_THREADS, torch.set_num_threads."
            )
        own = min(gain, crowded)  # the rest is due to other programs
        yield from make_finding(
            case, name="waits_for_core", title=title, text=text, pieces=pieces, gain_ns=own, where=where,
            remedy=remedy,
        )  # fmt: skip


def _is_of_library(case: Case, actor: int) -> bool:
    """Whether a thread without any stack of Python runs beside one that has such stacks, in the same process."""
    threads = case.view.capture.threads
    process = threads[actor].process
    sampled = {int(thread) for thread in np.unique(case.threads.samples[0]).tolist()}
    return actor not in sampled and any(threads[other].process == process for other in sampled)


def _restricted(
    case: Case, pieces: Int64Array, gain: int, fields: dict[str, str | float]
) -> Iterator[Finding]:
    """The program waits for cores although other cores are forbidden to it or idle, and all cores would be enough."""
    cores = case.cores
    allowed = _allowed_cores(case)
    idle = _idle_cores(case, case.pieces.start[pieces], case.pieces.stop[pieces])
    if allowed < cores:
        text = english(
            "{time} of {whole} ({percent:.0f} %) is spent ready to run but without a CPU core: the program may use "
            "only {allowed} of {cores} cores.",
            allowed=allowed, cores=cores, **fields,
        )  # fmt: skip
        # Other programs would use the remaining cores just as much.
        gain = min(gain, case.crowded_ns(allowed) - case.crowded_ns(cores))
    elif idle:
        allowed = max(cores - idle, 1)
        text = english(
            "{time} of {whole} ({percent:.0f} %) is spent ready to run but without a CPU core, while {idle} of {cores} "
            "cores were idle.",
            idle=idle, cores=cores, **fields,
        )  # fmt: skip
    if allowed == cores or min(gain, case.crowded_ns(allowed)) < NOTE * case.fair_ns:
        return
    yield from make_finding(
        case, name="few_cores", title=english("Restricted to too few cores"), text=text, pieces=pieces, gain_ns=gain,
        where=where_of(case, pieces),
        remedy=english(
            "Find what restricts it: taskset, sched_setaffinity, numactl, a cpuset, or a library's own binding."
        ),
    )  # fmt: skip


def _allowed_cores(case: Case) -> int:
    """How many cores the waiting processes may use while they wait; all cores where that was not recorded."""
    capture, segments = case.view.capture, case.segments
    allowed: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for process, time_ns, cores in _recorded_cores(case):
        allowed.setdefault(process, []).append((time_ns, cores))
    waits = np.flatnonzero((segments.cause == Cause.RUNNABLE) & (segments.actor < len(capture.threads)))
    process_of = np.array([thread.process for thread in capture.threads], np.int64)[segments.actor[waits]]
    weights: dict[frozenset[int], int] = {}
    for process in np.unique(process_of).tolist():
        known = sorted(allowed.get(process, []), key=lambda entry: entry[0])
        if not known:
            return case.cores
        own = waits[process_of == process]
        # The first entry also holds before its time.
        edges = np.array([case.view.start_ns, *(time for time, _ in known[1:]), case.view.stop_ns], np.int64)
        edges = np.maximum.accumulate(np.clip(edges, case.view.start_ns, case.view.stop_ns))
        merged = merge_intervals(segments.start[own], segments.stop[own])
        for (_time, cores), waited in zip(
            known, covered_ns(merged, edges[:-1], edges[1:]).tolist(), strict=True
        ):
            weights[cores] = weights.get(cores, 0) + int(waited)
    least = _SOME * sum(weights.values())
    usable = frozenset[int]().union(*(cores for cores, waited in weights.items() if waited >= least))
    return min(max(len(usable), 1), case.cores) if weights else case.cores


def _recorded_cores(case: Case) -> Iterator[tuple[int, int, frozenset[int]]]:
    """(process index, capture ns from which it holds, allowed cores); malformed entries are skipped."""
    entries = case.view.capture.meta.get("allowed_cores")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        process, time_ns, cores = (entry.get(key) for key in ("process", "time_ns", "cores"))
        if isinstance(process, int) and isinstance(time_ns, int) and isinstance(cores, list) and cores:
            yield process, time_ns, frozenset(core for core in cores if isinstance(core, int))


def _idle_cores(case: Case, start: Int64Array, stop: Int64Array) -> int:
    """How many cores were idle, machine-wide, for most of some stretches of time."""
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
        # A sample covers the time since the previous one.
        weight = covered_ns(waited, times[:-1], times[1:])
        used = np.clip(np.nan_to_num(np.asarray(counter.values, np.float64)[1:], nan=1.0), 0, 1)
        if weight.sum() >= _SEEN * (waited[1] - waited[0]).sum():
            idle += bool((used * weight).sum() < _IDLE * weight.sum())
    return idle


rules = (Rule("cores", "locks", find_cores),)
