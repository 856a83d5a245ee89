"""Rules: memory that is freed and allocated repeatedly, and memory that is read from disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import NOTE, cost, place_known, severity
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.i18n import english
from warpline.model.times import format_duration
from warpline.model.track_titles import DISK_FAULTS, PAGE_FAULTS, RESIDENT_MEMORY

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_RUNS = (int(Cause.RUNNING), int(Cause.IMPORTING))
"""Faults are counted over all of this time; those of imports belong to the imports."""
_PAGE_BYTES = 4096
"""Assumed everywhere: on a machine with larger pages, the finding gets smaller, never larger."""
_MOST_RATE, _MOST_NS = 1e18, float(1 << 62)
"""Rates and times beyond these come from damaged counters."""
_ROWS = 20
_FEWEST_SIZES = 3
"""Fewer samples of a process's memory do not show how far it grew."""


@dataclass(frozen=True, eq=False)
class _Counted:
    """Page faults of a process in the range: ``edges`` capture ns [n + 1], ``counts`` [n] between them."""

    process: int
    edges: Int64Array
    counts: Float64Array


def find_page_faults(case: Case) -> Iterator[Finding]:
    """Find page faults beyond the growth of the process, at the measured cost of one fault."""
    each_ns = case.view.capture.meta.get("page_fault_ns")
    if not isinstance(each_ns, int) or each_ns <= 0:
        return
    segments = case.segments
    keep = np.ones(len(segments), np.float32)
    grown, running = _grown_pages(case), _Running(case)
    spent: list[tuple[float, int, Int64Array]] = []
    for counted in _counted(case, PAGE_FAULTS):
        if counted.process not in grown:
            continue
        again = counted.counts.sum() - grown[counted.process]
        if not NOTE * case.fair_ns <= again * each_ns < _MOST_NS:
            continue
        runs = running.segments_of(counted.process)
        share = _share(
            segments.start[runs], segments.stop[runs], counted, each_ns * again / counted.counts.sum()
        )
        whole = float((share * segments.length[runs]).sum())
        share[segments.cause[runs] == Cause.IMPORTING] = 0
        keep[runs] = 1 - share
        own = float((share * segments.length[runs]).sum())
        spent.append((own, round(again * own / max(whole, 1.0)), runs))
    if not spent:
        return
    lost_ns = int((case.pieces.length * (1 - keep[case.pieces.leaf])).sum())
    gain = min(case.gain_of_shares(keep), case.whole_ns)
    if max(lost_ns, gain) < NOTE * case.fair_ns:
        return
    _most, count, runs = max(spent, key=lambda entry: entry[0])
    lost = (1 - keep[runs]).astype(np.float64) * segments.length[runs]
    best = runs[int(np.argmax(lost * (case.group_of_segment[runs] == _usual(case, runs, lost))))]
    where = case.where(int(best))
    longest = runs[np.argsort(-lost, kind="stable")[: _ROWS * 4]]
    text = english(
        "About {time} of {whole} goes to page faults on memory that was freed and allocated again: {count:,} faults of "
        "{each} each (measured on this machine), mostly at {place}.",
        count=count, each=format_duration(each_ns), place=place_known(where), **cost(case, lost_ns),
    )  # fmt: skip
    # Fresh memory has its price, and faults take longer on a busy machine: only their share of all time counts.
    yield Finding(
        id="page_faults", severity=severity(round(min(gain, lost_ns) / case.fair_ns, 3), Severity.WARNING),
        title=english("Memory freed and allocated repeatedly"), text=text, gain_ns=gain, where=where,
        remedy=english(
            "Reuse buffers instead of allocating new ones; let the allocator keep freed memory "
            "(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, another allocator), or use huge pages."
        ),
        evidence=Evidence(
            np.column_stack((segments.start[longest], segments.stop[longest]))[
                np.argsort(segments.start[longest])
            ],
            tuple(row for row in segments.row[longest[:_ROWS]].tolist() if row >= 0),
            case.target.tracks,
        ),
    )  # fmt: skip


def disk_faults(case: Case, pieces: Int64Array) -> int:
    """How many pages were read from disk during some pieces, for the processes that explain them."""
    process = _processes(case)[case.segments.actor[case.pieces.leaf[pieces]]]
    faults = 0.0
    for counted in _counted(case, DISK_FAULTS):
        own = pieces[process == counted.process]
        if len(own):
            first = np.searchsorted(counted.edges, case.pieces.start[own], "right") - 1
            last = np.searchsorted(counted.edges, case.pieces.stop[own], "left")
            seen = np.zeros(len(counted.counts) + 1, np.int64)
            np.add.at(seen, np.clip(first, 0, len(counted.counts)), 1)
            np.add.at(seen, np.clip(last, 0, len(counted.counts)), -1)
            faults += counted.counts[np.cumsum(seen[:-1]) > 0].sum()
    return round(faults)


def _counted(case: Case, name: str) -> Iterator[_Counted]:
    """The counters of a name, which hold rates per second, as counts in the range; unknown values count as 0."""
    capture = case.view.capture
    for counter in capture.counters:
        process = capture.tracks[counter.track].process
        if counter.name != name or process is None or len(counter.times) < 2:
            continue
        times = np.asarray(counter.times, np.int64)
        rates = np.nan_to_num(np.asarray(counter.values, np.float64)[:-1], nan=0.0, posinf=0.0, neginf=0.0)
        edges = np.clip(times, case.view.start_ns, case.view.stop_ns)
        inside = np.diff(edges) > 0
        if inside.any():
            counts = np.clip(rates[inside], 0, _MOST_RATE) * np.diff(edges)[inside] / 1e9
            yield _Counted(process, np.append(edges[:-1][inside], edges[1:][inside][-1]), counts)


def _grown_pages(case: Case) -> dict[int, float]:
    """Upper bound of the pages by which each process grew in the range; processes without a counter are left out."""
    capture = case.view.capture
    grown: dict[int, float] = {}
    for counter in capture.counters:
        process = capture.tracks[counter.track].process
        if counter.name == RESIDENT_MEMORY and process is not None and process not in grown:
            times, values = np.asarray(counter.times), np.asarray(counter.values, np.float64)
            first = max(int(np.searchsorted(times, case.view.start_ns, "right")) - 1, 0)
            own = values[first : np.searchsorted(times, case.view.stop_ns, "right")]
            own = own[np.isfinite(own)]
            if len(own) >= _FEWEST_SIZES:
                # Memory held at the start belongs to the time before, unless the process started in the range.
                before = own[0] if times[first] <= case.view.start_ns else 0.0
                grown[process] = max(float(own.max()) - before, 0.0) / _PAGE_BYTES
    return grown


def _processes(case: Case) -> Int64Array:
    """The process of each actor; −1 for GPUs, whose numbers follow those of the threads."""
    processes = np.array([thread.process for thread in case.view.capture.threads], np.int64)
    gpus = int(case.segments.actor.max(initial=-1)) + 1 - len(processes)
    return np.append(processes, np.full(max(gpus, 0), -1))


class _Running:
    """The running segments by process, computed for all processes on first use."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def segments_of(self, process: int) -> Int64Array:
        """The running segments of one process, in order."""
        runs, ordered = self._sorted
        first, last = np.searchsorted(ordered, [process, process + 1])
        return runs[first:last]

    @cached_property
    def _sorted(self) -> tuple[Int64Array, Int64Array]:
        segments = self._case.segments
        runs = np.flatnonzero(one_of(segments.cause, _RUNS))
        process = _processes(self._case)[segments.actor[runs]]
        order = np.argsort(process, kind="stable")
        return runs[order], process[order]


def _share(start: Int64Array, stop: Int64Array, counted: _Counted, each_ns: float) -> Float64Array:
    """The share of each running stretch that faults took, spread evenly over all running time between two samples."""
    edges = counted.edges
    ran = np.diff(_until(start, edges) - _until(stop, edges))
    part = np.divide(counted.counts * each_ns, ran, out=np.zeros(len(ran)), where=ran > 0)
    taken = np.concatenate([[0.0], np.cumsum(np.minimum(part, 1) * np.diff(edges))])
    length = np.maximum(stop - start, 1)
    share: Float64Array = (np.interp(stop, edges, taken) - np.interp(start, edges, taken)) / length
    return share


def _until(times: Int64Array, edges: Int64Array) -> Float64Array:
    """For each edge, the sum of its distances to all earlier times."""
    ordered = np.sort(times).astype(np.float64)
    before = np.searchsorted(ordered, edges, "right")
    sums = np.concatenate([[0.0], np.cumsum(ordered - float(edges[0]))])
    distances: Float64Array = before * (edges - edges[0]).astype(np.float64) - sums[before]
    return distances


def _usual(case: Case, segments: Int64Array, weight: Float64Array) -> int:
    """The number of the place with the most weight; 0 when no place is known."""
    totals = np.bincount(case.group_of_segment[segments], weight)
    totals[0] = 0
    return int(np.argmax(totals))


rules = (Rule("page_faults", "outside", find_page_faults),)
