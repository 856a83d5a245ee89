"""The time of GPUs as segments: what runs on them, and what they wait for when idle."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import (
    Index,
    IntArray,
    Segments,
    chain_segments,
    join_segments,
    make_segments,
    narrow,
    overlay,
)
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import GPU_KINDS, View, is_exported_range
from warpline.analysis.structure.gpu_gaps import LATENCY_NS, SYNCHRONIZATION, times_in_order
from warpline.analysis.structure.gpus import Gpu
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import calls_of_rows, launched_outside, threads_of_tracks
from warpline.analysis.structure.memory_copies import page_migrations
from warpline.analysis.structure.overlap import gaps
from warpline.model.intervals import (
    clip_intervals,
    merge_intervals,
    subtract_intervals,
)

Int64Array = npt.NDArray[np.int64]
_COPIES = ("memcpy", "memset")
_AT_ONCE = 1 << 18
"""How many stretches of work are processed together."""


@dataclass(frozen=True, eq=False)
class GpuTime:
    """A GPU as an actor: its segments, and the host threads that launched its work."""

    gpu: Gpu
    actor: int
    segments: Segments
    threads: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Work:
    """Work on a GPU [n], by start: int64 capture ns, rows, and the index of its cause in `BUSY`."""

    start: Int64Array
    stop: Int64Array
    row: IntArray
    activity: npt.NDArray[np.int8]

    def take(self, index: npt.NDArray[np.generic] | slice) -> _Work:
        """A subset, by index, mask or slice."""
        return _Work(self.start[index], self.stop[index], self.row[index], self.activity[index])


BUSY = (Cause.COMPUTATION, Cause.COMMUNICATION, Cause.COPY, Cause.MIGRATION)
"""Activities of a GPU; of overlapping ones, the first in this order counts."""


def gpu_time(view: View, gpu: Gpu, actor: int, tracked: npt.NDArray[np.bool_]) -> GpuTime:
    """The segments of a GPU: computation, then communication, then copies; idle time waits for the launching thread
    until the next launch is done, then for the GPU itself. ``tracked`` marks threads whose time is known.
    """
    work = _work(view, gpu)
    busy_start, busy_stop = merge_intervals(work.start, work.stop)
    parts: list[Segments] = []
    threads: set[int] = set()
    count = len(busy_start)
    # In batches of stretches, each with the idle time before it.
    for first in range(0, max(count, 1), _AT_ONCE):
        last = min(first + _AT_ONCE, count)
        low = int(busy_stop[first - 1]) if first else view.start_ns
        high = int(busy_stop[last - 1]) if last < count else view.stop_ns
        inside = np.searchsorted(
            work.start, [low if first else np.iinfo(np.int64).min, high], "left"
        ).tolist()
        own = work.take(slice(*inside) if last < count else slice(inside[0], None))
        free = gaps(
            busy_start[first:last], busy_stop[first:last], max(low, view.start_ns), min(high, view.stop_ns)
        )
        idle, launching = _idle(view, own, actor, *free, tracked, _next_launch(view, gpu))
        threads |= launching
        parts.append(join_segments([_busy(view, own, actor), idle]))
        view.check_cancelled()
    return GpuTime(gpu, actor, chain_segments(parts), frozenset(threads))


def _work(view: View, gpu: Gpu) -> _Work:
    communication = communication_ids(view)
    parts = []
    for kind in GPU_KINDS:
        for events in view.batches(kind, gpu.tracks):
            activity = (
                np.full(len(events), BUSY.index(Cause.COPY), np.int8)
                if kind in _COPIES
                else communication[events.name].astype(np.int8)
            )
            if kind == "memcpy":
                activity[page_migrations(view, events)] = BUSY.index(Cause.MIGRATION)
            parts.append(_Work(events.start, events.stop, narrow(events.row), activity))
    parts += _after_range(view, gpu)
    none = np.empty(0, np.int64)
    parts = parts or [_Work(none, none, none, none.astype(np.int8))]
    columns = [[getattr(part, item.name) for part in parts] for item in fields(_Work)]
    parts.clear()
    work = _Work(*(np.concatenate(columns.pop(0)) for _ in fields(_Work)))
    if (work.start[1:] >= work.start[:-1]).all():
        return work
    return work.take(times_in_order(work.start)[0])


def _after_range(view: View, gpu: Gpu) -> list[_Work]:
    """The first event of each lane after the range: the GPU waits for it when idle at the end of the range."""
    if view.is_whole:
        return []
    events, lanes = view.capture.events, view.capture.lanes
    codes = [view.capture.kinds[kind].code for kind in GPU_KINDS if kind in view.capture.kinds]
    next_rows = []
    for lane in np.flatnonzero(np.isin(np.asarray(lanes.track), list(gpu.tracks & view.tracks))).tolist():
        first, count = int(lanes.first[lane]), int(lanes.count[lane])
        end = view.stop_ns + view.capture.clock_offset_of_track(int(lanes.track[lane]))
        at = first + int(np.searchsorted(events.start[first : first + count], end, "left"))
        if at < first + count and int(events.kind[at]) in codes:
            next_rows.append(at)
    rows = np.array(sorted(next_rows), np.int64)
    start, stop = view.times_of(rows)
    return [_Work(start, stop, narrow(rows), np.zeros(len(rows), np.int8))]


def _busy(view: View, work: _Work, actor: int) -> Segments:
    parts = []
    none = np.empty(0, np.int64)
    covered = (none, none)
    for number, cause in enumerate(BUSY):
        wanted = work.activity == number
        if not wanted.any():
            continue
        own = work if wanted.all() else work.take(wanted)
        merged = merge_intervals(*clip_intervals(own.start, own.stop, view.start_ns, view.stop_ns))
        exposed = subtract_intervals(*merged, *covered) if len(covered[0]) else merged
        at = np.maximum(np.searchsorted(own.start, exposed[0], "right") - 1, 0)
        parts.append(make_segments(actor, exposed[0], exposed[1], cause, row=own.row[at]))
        joined = [np.concatenate([a, b]) for a, b in zip(covered, merged, strict=True)]
        covered = merge_intervals(*joined)
    return join_segments(parts)


def _idle(
    view: View,
    work: _Work,
    actor: int,
    start: Int64Array,
    stop: Int64Array,
    tracked: npt.NDArray[np.bool_],
    next_launch: tuple[int, int] | None,
) -> tuple[Segments, frozenset[int]]:
    # Pages migrate by themselves, so the GPU idles until the next launched work.
    work = work.take(work.activity != BUSY.index(Cause.MIGRATION))
    place = np.searchsorted(work.start, stop, "left")
    ends = place >= len(work.start)
    parts = [_at_end(actor, start[ends], stop[ends], next_launch, tracked)]
    before = np.flatnonzero(~ends)
    if not len(before):
        return join_segments(parts), frozenset()
    following = work.row[place[before]]
    # Page migrations divide idle time, so several gaps may end in the same work.
    rows, gap_row = np.unique(following.astype(np.int64), return_inverse=True)
    launched, launch_thread, call_start, launch_call = calls_of_rows(view, rows)
    own = np.searchsorted(rows, launched)
    call, thread, done = np.full((3, len(rows)), -1, np.int64)
    call[own], thread[own] = launch_call, launch_thread
    earlier = launched_outside(view, rows) if is_exported_range(view.capture) else np.zeros(len(rows), bool)
    # The wait for the CPU lasts until the launching call returns; some work starts even earlier.
    done[own] = call_start + view.durations(launch_call)
    of_gap = gap_row.reshape(-1)
    call, thread, done = call[of_gap], thread[of_gap], done[of_gap]
    known = (call >= 0) | earlier[of_gap]
    start, stop = start[before], stop[before]
    middle = np.where(known, np.clip(done, start, stop), start)
    waits = np.flatnonzero(middle > start)
    followed = (thread >= 0) & tracked[np.clip(thread, 0, len(tracked) - 1)]
    by = np.where(followed, thread, -1)
    parts.append(make_segments(actor, start[waits], middle[waits], Cause.LAUNCH, by[waits], row=call[waits]))
    rest = np.flatnonzero(stop > middle)
    is_latency = known & ((middle > start) | (stop - start <= LATENCY_NS))
    cause = np.where(known, np.int8(Cause.STREAM), np.int8(Cause.NO_LAUNCH))
    cause[is_latency] = Cause.LAUNCH_LATENCY
    parts.append(make_segments(actor, middle[rest], stop[rest], cause[rest], row=following[rest]))
    return join_segments(parts), frozenset(np.unique(thread[thread >= 0]).tolist())


def _at_end(
    actor: int,
    start: Int64Array,
    stop: Int64Array,
    next_launch: tuple[int, int] | None,
    tracked: npt.NDArray[np.bool_],
) -> Segments:
    """Idle time without work behind it. ``next_launch`` is the end and thread of the call that launched the work behind
    an exported range.
    """
    if next_launch is None or not len(start):
        return make_segments(actor, start, stop, Cause.GPU_END)
    done, thread = next_launch
    by = thread if 0 <= thread < len(tracked) and tracked[thread] else -1
    middle = np.clip(done, start, stop)
    waits, rest = np.flatnonzero(middle > start), np.flatnonzero(stop > middle)
    short = (middle > start) | (stop - start <= LATENCY_NS)
    cause = np.where(short, np.int8(Cause.LAUNCH_LATENCY), np.int8(Cause.STREAM))
    return join_segments(
        [
            make_segments(actor, start[waits], middle[waits], Cause.LAUNCH, np.full(len(waits), by)),
            make_segments(actor, middle[rest], stop[rest], cause[rest]),
        ]
    )


def _next_launch(view: View, gpu: Gpu) -> tuple[int, int] | None:
    """The end of the call that launched the first work behind an exported range, and its thread (−1: unknown)."""
    source = view.capture.meta.get("exported_from")
    work = source.get("next_work") if isinstance(source, dict) else None
    if not isinstance(work, list) or view.stop_ns < view.capture.span[1]:
        return None
    uris = {view.capture.tracks[track].uri for track in gpu.tracks}
    own = [entry for entry in work if isinstance(entry, dict) and entry.get("track") in uris]
    known = [
        entry
        for entry in own
        if type(entry.get("start_ns")) is int and type(entry.get("call_stop_ns")) is int
    ]
    if not known:
        return None
    first = min(known, key=lambda entry: int(entry["start_ns"]))
    thread = first.get("thread")
    return int(first["call_stop_ns"]), thread if type(thread) is int else -1


_CALLS = (
    (
        re.compile(r"^(cu|cuda|hip)(Malloc|MemAlloc|Free|MemFree|HostAlloc|MallocHost)(?!.*Async)"),
        Cause.ALLOCATING,
    ),
    (re.compile(r"^(cu|hip)(Module|Library)(Load|GetFunction)|nvrtcCompile|cuLink"), Cause.COMPILING),
)


def with_calls(view: View, host: Segments) -> Segments:
    """CPU segments overlaid with calls that allocate memory or load code."""
    if not view.has("cuda_api"):
        return host
    parts = []
    for pattern, cause in _CALLS:
        wanted = matching_names(view.capture, pattern)
        if not wanted.any():
            continue
        events = view.events("cuda_api", named=wanted)
        thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else events.row
        start, stop = np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns)
        inside = np.flatnonzero((stop > start) & np.isin(thread, host.actor))
        parts.append(
            make_segments(thread[inside], start[inside], stop[inside], cause, row=events.row[inside])
        )
    if not parts:
        return host
    patch = _placed(_disjoint(join_segments(parts)), view, host)
    return overlay(host, patch, view.start_ns, view.stop_ns)


def _placed(calls: Segments, view: View, host: Segments) -> Segments:
    """Calls with the place of their thread in the middle of the call, else at its start."""
    index = Index(host, view.start_ns, view.stop_ns)
    place = np.full(len(calls), -1, np.int64)
    for moment in ((calls.start + calls.stop) // 2, calls.start):
        at = index.at(calls.actor, moment)
        place = np.where((place < 0) & (at >= 0), host.place[np.maximum(at, 0)], place)
    return replace(calls, place=place)


def with_synchronization(view: View, host: Segments, gpu_times: list[GpuTime]) -> Segments:
    """CPU segments overlaid with calls that wait for a GPU; the GPU's last work before their end ends them."""
    wanted = matching_names(view.capture, SYNCHRONIZATION)
    if not gpu_times or not wanted.any() or not view.has("cuda_api"):
        return host
    events = view.events("cuda_api", named=wanted)
    thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    events, thread = events.take(thread >= 0), thread[thread >= 0]
    by = _gpu_of_threads(view, gpu_times)[thread]
    start, stop = np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns)
    # A call waits for the GPU only while that is busy; the rest of the call is CPU time.
    parts = []
    for time in gpu_times:
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


@dataclass(frozen=True, eq=False)
class WaitingCalls:
    """Calls that wait for a GPU [n], by thread and time: int64 thread, ``start``/``stop`` capture ns, how long they
    waited, and the first segment of each.
    """

    thread: Int64Array
    start: Int64Array
    stop: Int64Array
    waited_ns: Int64Array
    segment: Int64Array

    def __len__(self) -> int:
        return len(self.thread)


def waiting_calls(segments: Segments) -> WaitingCalls:
    """The calls behind segments of waiting for a GPU; one call may be cut into several segments."""
    waits = np.flatnonzero(segments.cause == Cause.GPU)
    thread, row = segments.actor[waits].astype(np.int64), segments.row[waits]
    start, stop = segments.start[waits], segments.stop[waits]
    is_first = np.ones(len(waits), bool)
    is_first[1:] = (thread[1:] != thread[:-1]) | (row[1:] != row[:-1])
    is_first[1:] |= (row[1:] < 0) & (start[1:] > stop[:-1])
    first = np.flatnonzero(is_first)
    waited = np.add.reduceat(stop - start, first) if len(first) else start
    last = np.append(first[1:], len(waits)) - 1
    return WaitingCalls(thread[first], start[first], stop[last] if len(first) else stop, waited, waits[first])


def _disjoint(calls: Segments) -> Segments:
    """The outermost calls only (a driver's call lies in that of the runtime)."""
    if not len(calls):
        return calls
    span = int(calls.stop.max()) - int(calls.start.min()) + 1
    base = calls.actor.astype(np.int64) * span - int(calls.start.min())
    reach = np.maximum.accumulate(calls.stop + base)
    first = np.ones(len(calls), bool)
    first[1:] = calls.start[1:] + base[1:] >= reach[:-1]
    return calls.take(first)


def _gpu_of_threads(view: View, gpu_times: list[GpuTime]) -> Int64Array:
    """For each thread, the actor of the GPU it launches on, else of one its process uses; −1 for none."""
    by = np.full(len(view.capture.threads) + 1, -1, np.int64)
    for time in gpu_times:
        processes = {view.capture.threads[thread].process for thread in time.threads}
        for index, thread in enumerate(view.capture.threads):
            if thread.process in processes and by[index] < 0:
                by[index] = time.actor
    for time in gpu_times:
        by[sorted(time.threads)] = time.actor
    return by
