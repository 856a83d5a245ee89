"""Work on several streams that never runs side by side, though nothing but its order keeps it from that."""

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
from warpline.analysis.framework.selection import SelectedEvents
from warpline.analysis.structure.gpu_gaps import SYNCHRONIZATION
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import launch_of_each
from warpline.i18n import english
from warpline.model.intervals import clip_intervals, merge_intervals, union_ns
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_PART = 0.1
"""Of the range: on a stream with less there is nothing to win."""
_BESIDE = 0.05
"""Of the work of the streams but the busiest: who has more of it beside other work uses them."""
_SMALL = 0.8
"""Of that work: so much of it leaves room for other kernels."""
_MOST_STREAMS = 64
_ORDERED = re.compile(r"^(cu|cuda|hip)(StreamWaitEvent|GraphLaunch|EventSynchronize)")
"""Calls by which a program says that one stream waits for another: such work is not independent."""


def of_serial_streams(case: Case) -> Iterator[Finding]:
    """Small kernels on several streams, one after the other."""
    if case.gpu is None or not case.view.has("kernel"):
        return
    view, capture = case.view, case.view.capture
    own = [capture.tracks[one] for one in sorted(case.gpu.gpu.tracks)]
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
    beside = sum(times) - union_ns(*(np.concatenate([one[side] for one in busy]) for side in (0, 1)))
    small = sum(int(one.inside[fills_few(case, one)].sum()) for one in works)
    if beside > _BESIDE * rest or small < _SMALL * sum(times) or rest < NOTE * case.whole_ns:
        return
    yield _told(case, works, busy, times, rest)


def _has_order(case: Case) -> bool:
    """Whether the program says that streams wait for each other, or waits between them itself."""
    if not case.view.has("cuda_api"):
        return False
    ordered = matching_names(case.view.capture, _ORDERED) | matching_names(case.view.capture, SYNCHRONIZATION)
    found = sum(int(ordered[events.name].sum()) for events in case.view.batches("cuda_api"))
    # One at the end of each step orders nothing within it.
    return found > 2 * len(case.scope.steps) + 2


def _told(
    case: Case,
    works: list[SelectedEvents],
    busy: list[tuple[Int64Array, Int64Array]],
    times: list[int],
    rest: int,
) -> Finding:
    where = _launched_at(case, works[int(np.argmin(times))])
    text = english(
        "{count} streams of the {device} compute for {time} in {whole}, {rest} of it one after the "
        "other, in kernels that leave most of it free: side by side it could be at most {factor} × as fast. Launched "
        "at {place}.",
        count=len(works), rest=format_duration(rest), factor=at_most(case, rest), place=place_known(where),
        **cost(case, sum(times)),
    )  # fmt: skip
    start, stop = merge_intervals(*(np.concatenate([one[side] for one in busy]) for side in (0, 1)))
    longest = [int(one.row[int(np.argmax(one.duration))]) for one in works]
    tracks = tuple(dict.fromkeys(case.view.track_of(np.array(longest, np.int64)).tolist()))
    return Finding(
        "gpu_serial_streams",
        severity(rest / case.fair_ns, Severity.WARNING),
        english("Streams that take turns"),
        text,
        0,
        0.0,
        rest,
        where,
        english(
            "See what orders them: the default stream waits for all others (streams that do not block, or a default "
            "stream for each thread), and so do allocations and copies from pageable memory."
        ),
        evidence=Evidence(np.column_stack((start, stop)), tuple(longest), tracks),
        needs=line_needed(case, where),
    )


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
    found = usual_place(case.view, thread, launches.call_start[launches.thread == thread]).where
    return replace(found, thread=case.threads.name(thread))


rules = (Rule("gpu_serial_streams", "gpu", of_serial_streams),)
