"""Time of GPUs as segments: what runs on them, and what they wait for when nothing does."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import Index, Segments, join_segments, make_segments, overlay
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import SelectedEvents, View
from warpline.analysis.structure.gpu_gaps import LATENCY_NS, SYNCHRONIZATION
from warpline.analysis.structure.gpus import Gpu, gpu_work
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import launch_of_each, threads_of_tracks
from warpline.analysis.structure.overlap import gaps
from warpline.model.intervals import (
    clip_intervals,
    merge_intervals,
    subtract_intervals,
)

Int64Array = npt.NDArray[np.int64]
_COPIES = ("memcpy", "memset")


@dataclass(frozen=True, eq=False)
class GpuTime:
    """A GPU as an actor: its segments, and the host threads that launched its work."""

    gpu: Gpu
    actor: int
    segments: Segments
    threads: frozenset[int]


def gpu_time(view: View, gpu: Gpu, actor: int, tracked: npt.NDArray[np.bool_]) -> GpuTime:
    """What a GPU does in the range: computation before communication before copies; idle time until the launch of what
    comes next waits for the launching thread, then for the GPU itself. ``tracked`` tells of each thread whether its
    time is known.
    """
    events = gpu_work(view, gpu)
    events = events.take(np.argsort(events.start, kind="stable"))
    busy = _busy(view, events, actor)
    taken = merge_intervals(events.start, events.stop)
    start, stop = gaps(*taken, view.start_ns, view.stop_ns)
    idle, threads = _idle(view, events, actor, start, stop, tracked)
    return GpuTime(gpu, actor, join_segments([busy, idle]), threads)


def _busy(view: View, events: SelectedEvents, actor: int) -> Segments:
    communication = communication_ids(view)[events.name]
    codes = view.capture.events.kind[events.row]
    of_copies = [view.capture.kinds[kind].code for kind in _COPIES if kind in view.capture.kinds]
    copies = np.isin(codes, of_copies)
    parts = []
    none = np.empty(0, np.int64)
    covered = (none, none)
    groups = (
        (Cause.COMPUTATION, ~communication & ~copies),
        (Cause.COMMUNICATION, communication & ~copies),
        (Cause.COPY, copies),
    )
    for cause, wanted in groups:
        own = events.take(wanted)
        merged = merge_intervals(*clip_intervals(own.start, own.stop, view.start_ns, view.stop_ns))
        left = subtract_intervals(*merged, *covered)
        at = np.maximum(np.searchsorted(own.start, left[0], "right") - 1, 0)
        row = own.row[at] if len(own) else at
        parts.append(make_segments(np.full(len(at), actor), left[0], left[1], cause, row=row))
        joined = [np.concatenate([a, b]) for a, b in zip(covered, merged, strict=True)]
        covered = merge_intervals(*joined)
    return join_segments(parts)


def _idle(
    view: View,
    events: SelectedEvents,
    actor: int,
    start: Int64Array,
    stop: Int64Array,
    tracked: npt.NDArray[np.bool_],
) -> tuple[Segments, frozenset[int]]:
    place = np.searchsorted(events.start, stop, "left")
    ends = place >= len(events)
    parts = [make_segments(np.full(int(ends.sum()), actor), start[ends], stop[ends], Cause.GPU_END)]
    before = np.flatnonzero(~ends)
    if not len(before):
        return join_segments(parts), frozenset()
    following = events.take(place[before])
    by_row = np.argsort(following.row, kind="stable")
    launches, of_event = launch_of_each(view, following.take(by_row))
    launch = np.empty(len(before), np.int64)
    launch[by_row] = of_event
    known = launch >= 0
    start, stop = start[before], stop[before]
    call, thread = np.full(len(before), 0, np.int64), np.full(len(before), -1, np.int64)
    if len(launches):
        # Until the launching call is done the host has not done its part; some work starts even before.
        call[known] = launches.call_stop[launch[known]]
        thread[known] = launches.thread[launch[known]]
    middle = np.where(known, np.clip(call, start, stop), start)
    waits = np.flatnonzero(middle > start)
    followed = (thread >= 0) & tracked[np.clip(thread, 0, len(tracked) - 1)]
    by = np.where(followed, thread, -1)
    parts.append(
        make_segments(
            np.full(len(waits), actor),
            start[waits],
            middle[waits],
            Cause.LAUNCH,
            by[waits],
            row=launches.call[launch[waits]] if len(launches) else -1,
        )
    )
    rest = np.flatnonzero(stop > middle)
    is_latency = known & ((middle > start) | (stop - start <= LATENCY_NS))
    cause = np.where(is_latency, int(Cause.LAUNCH_LATENCY), int(Cause.STREAM))
    parts.append(
        make_segments(
            np.full(len(rest), actor), middle[rest], stop[rest], cause[rest], row=following.row[rest]
        )
    )
    return join_segments(parts), frozenset(np.unique(thread[thread >= 0]).tolist())


_CALLS = (
    (
        re.compile(r"^(cu|cuda|hip)(Malloc|MemAlloc|Free|MemFree|HostAlloc|MallocHost)(?!.*Async)"),
        Cause.ALLOCATING,
    ),
    (re.compile(r"^(cu|hip)(Module|Library)(Load|GetFunction)|nvrtcCompile|cuLink"), Cause.COMPILING),
)


def with_calls(view: View, host: Segments) -> Segments:
    """Running time of the host with calls that allocate, or load code, laid over it."""
    if not view.has("cuda_api"):
        return host
    parts = []
    for pattern, cause in _CALLS:
        wanted = matching_names(view.capture, pattern)
        if not wanted.any():
            continue
        events = view.events("cuda_api")
        events = events.take(wanted[events.name])
        thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else events.row
        start, stop = np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns)
        kept = np.flatnonzero((stop > start) & np.isin(thread, host.actor))
        parts.append(make_segments(thread[kept], start[kept], stop[kept], cause, row=events.row[kept]))
    if not parts:
        return host
    patch = _placed(_disjoint(join_segments(parts)), view, host)
    return overlay(host, patch, view.start_ns, view.stop_ns)


def _placed(calls: Segments, view: View, host: Segments) -> Segments:
    """Calls with the place that is known of their thread meanwhile: in the middle of them, else at their start."""
    index = Index(host, view.start_ns, view.stop_ns)
    place = np.full(len(calls), -1, np.int64)
    for moment in ((calls.start + calls.stop) // 2, calls.start):
        at = index.at(calls.actor, moment)
        place = np.where((place < 0) & (at >= 0), host.place[np.maximum(at, 0)], place)
    return replace(calls, place=place)


def with_synchronization(view: View, host: Segments, found: list[GpuTime]) -> Segments:
    """Host time with the calls that wait for a GPU laid over it; what the GPU did last before their end ends them."""
    wanted = matching_names(view.capture, SYNCHRONIZATION)
    if not found or not wanted.any() or not view.has("cuda_api"):
        return host
    events = view.events("cuda_api")
    events = events.take(wanted[events.name])
    thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    events, thread = events.take(thread >= 0), thread[thread >= 0]
    by = _gpu_of_threads(view, found)[thread]
    start, stop = np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns)
    # Only while the GPU is busy is it what the call waits for; the rest of the call is the host's.
    parts = []
    for time in found:
        own = np.flatnonzero((by == time.actor) & (stop > start))
        runs = np.flatnonzero(time.segments.cause >= Cause.COMPUTATION)
        busy = time.segments.take(runs[time.segments.cause[runs] != Cause.GPU_END])
        if not len(own) or not len(busy):
            continue
        last = np.searchsorted(busy.start, stop[own], "left") - 1
        end = np.where(last >= 0, np.minimum(busy.stop[np.maximum(last, 0)], stop[own]), start[own])
        waits = np.flatnonzero(end > start[own])
        rows = own[waits]
        parts.append(
            make_segments(thread[rows], start[rows], end[waits], Cause.GPU, time.actor, row=events.row[rows])
        )
    if not parts:
        return host
    patch = _disjoint(join_segments(parts))
    patch = _placed(patch.take(np.isin(patch.actor, host.actor)), view, host)
    return overlay(host, patch, view.start_ns, view.stop_ns)


def _disjoint(found: Segments) -> Segments:
    """Without those that lie in one before them (a driver's call in that of the runtime)."""
    if not len(found):
        return found
    span = int(found.stop.max()) - int(found.start.min()) + 1
    base = found.actor * span - int(found.start.min())
    reach = np.maximum.accumulate(found.stop + base)
    first = np.ones(len(found), bool)
    first[1:] = found.start[1:] + base[1:] >= reach[:-1]
    return found.take(first)


def _gpu_of_threads(view: View, found: list[GpuTime]) -> Int64Array:
    """For each thread the actor of the GPU it launches on, else one of its process; −1 for none."""
    by = np.full(len(view.capture.threads) + 1, -1, np.int64)
    for time in found:
        processes = {view.capture.threads[thread].process for thread in time.threads}
        for index, thread in enumerate(view.capture.threads):
            if thread.process in processes and by[index] < 0:
                by[index] = time.actor
    for time in found:
        by[sorted(time.threads)] = time.actor
    return by
