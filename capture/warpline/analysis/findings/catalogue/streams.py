"""Rule: independent work on several streams that never overlaps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.kernels import fills_few
from warpline.analysis.findings.draft import (
    NOTE,
    at_most,
    cost,
    line_needed,
    place_known,
    severity,
)
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.host_places import MOMENTS, usual_place
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.structure.gpu_gaps import SYNCHRONIZATION
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import launch_of_each
from warpline.i18n import english
from warpline.model.intervals import clip_intervals, merge_intervals, union_ns
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_PART = 0.1
"""Share of the range below which a stream does not matter."""
_BESIDE = 0.05
"""Largest share of the other streams' work that may overlap; with more, the streams already run side by side."""
_SMALL = 0.8
"""Least share of the work that must be small kernels."""
_MOST_STREAMS = 64
_ORDERED = re.compile(r"^(cu|cuda|hip)(StreamWaitEvent|GraphLaunch|EventSynchronize)")
"""Calls that make one stream wait for another, so that their work is not independent."""


def find_serial_streams(case: Case) -> Iterator[Finding]:
    """Find small kernels that run one after another on several streams."""
    if case.gpu is None or not case.view.has("kernel"):
        return
    view, capture = case.view, case.view.capture
    own = [capture.tracks[track] for track in sorted(case.gpu.gpu.tracks)]
    streams = [track.index for track in own if track.stream is not None]
    if not 2 <= len(streams) <= _MOST_STREAMS or _has_order(case):
        return
    communication = communication_ids(view)
    works: list[SelectedEvents] = []
    busy: list[tuple[Int64Array, Int64Array]] = []
    for stream in streams:
        events = view.events("kernel", frozenset([stream]))
        events = events.take(~communication[events.name])
        merged = merge_intervals(*clip_intervals(events.start, events.stop, view.start_ns, view.stop_ns))
        if int((merged[1] - merged[0]).sum()) >= _PART * case.whole_ns:
            works.append(events)
            busy.append(merged)
    if len(works) < 2:
        return
    times = [int((stop - start).sum()) for start, stop in busy]
    rest = sum(times) - max(times)
    beside = sum(times) - union_ns(*(np.concatenate([times[side] for times in busy]) for side in (0, 1)))
    small = sum(int(work.inside[fills_few(case, work)].sum()) for work in works)
    if beside > _BESIDE * rest or small < _SMALL * sum(times) or rest < NOTE * case.whole_ns:
        return
    yield _serial_streams(case, works, busy, times, rest)


def _has_order(case: Case) -> bool:
    """Whether the program makes streams wait for each other, or waits between them itself."""
    if not case.view.has("cuda_api"):
        return False
    ordered = matching_names(case.view.capture, _ORDERED) | matching_names(case.view.capture, SYNCHRONIZATION)
    count = sum(int(ordered[events.name].sum()) for events in case.view.batches("cuda_api"))
    # A call at the end of each step does not order the work within it.
    return count > 2 * len(case.scope.steps) + 2


def _serial_streams(
    case: Case,
    works: list[SelectedEvents],
    busy: list[tuple[Int64Array, Int64Array]],
    times: list[int],
    rest: int,
) -> Finding:
    where = _launched_at(case, works[int(np.argmin(times))])
    text = english(
        "{count} streams of the {device} compute for {time} of {whole}, {rest} of it one after another, in kernels "
        "that leave most of the {device} free. Up to {factor}× faster side by side. Launched at {place}.",
        count=len(works), rest=format_duration(rest), factor=at_most(case, rest), place=place_known(where),
        **cost(case, sum(times)),
    )  # fmt: skip
    start, stop = merge_intervals(*(np.concatenate([times[side] for times in busy]) for side in (0, 1)))
    longest = [int(work.row[int(np.argmax(work.duration))]) for work in works]
    tracks = tuple(dict.fromkeys(case.view.track_of(np.array(longest, np.int64)).tolist()))
    return Finding(
        id="gpu_serial_streams", severity=severity(rest / case.fair_ns, Severity.WARNING),
        title=english("Streams do not overlap"), text=text, gain_ns=rest, where=where,
        remedy=english(
            "Find what orders them. The default stream waits for all others (use non-blocking streams, or a default "
            "stream per thread); so do allocations and copies from pageable memory."
        ),
        evidence=Evidence(np.column_stack((start, stop)), tuple(longest), tracks), needs=line_needed(case, where),
    )  # fmt: skip


def _launched_at(case: Case, events: SelectedEvents) -> Where:
    """Where most of some kernels were launched."""
    chosen = events.take(
        np.unique(np.linspace(0, len(events) - 1, min(len(events), MOMENTS)).astype(np.int64))
    )
    launches, _ = launch_of_each(case.view, chosen)
    threads = launches.thread[launches.thread >= 0]
    if not len(threads):
        return Where()
    thread = int(np.argmax(np.bincount(threads)))
    usual = usual_place(case.view, thread, launches.call_start[launches.thread == thread]).where
    return replace(usual, thread=case.threads.name(thread))


rules = (Rule("gpu_serial_streams", "gpu", find_serial_streams),)
