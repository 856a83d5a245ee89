"""Makes the case of a diagnosis: all segments, what the target waited for, and what is known to delay it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces, blame
from warpline.analysis.findings.case import EXACT, Case
from warpline.analysis.findings.categories import (
    categories,
    garbage_intervals,
    loading_events,
    operator_intervals,
    range_intervals,
)
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.gpu_segments import (
    GpuTime,
    gpu_time,
    waiting_calls,
    with_calls,
    with_synchronization,
)
from warpline.analysis.findings.host_segments import host_segments
from warpline.analysis.findings.scope import Scope, WaitedFor
from warpline.analysis.findings.segments import (
    Index,
    IntArray,
    Segments,
    chain_segments,
    doing_of,
    one_of,
    split_at,
)
from warpline.analysis.findings.serial import categorize_serial
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.analysis.framework.allocation import release_freed
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.structure.gpus import gpus
from warpline.i18n import tr
from warpline.model.progress import Progress, unwatched

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_ON_PATH = 0.01
"""Share of the range that an actor must have on the critical path for all its waits to count as delays."""
_DELAYS = 0.02
"""Share of the target's time from which a cause at a place counts as delaying it."""
_LARGEST_KEY = 1 << 32
_AT_ONCE = 1 << 20
"""How many pieces are added up together."""


def make_case(scope: Scope, target: WaitedFor, progress: Progress = unwatched) -> Case:
    """Build the case of a target in its scope."""
    view = scope.view
    threads = Threads(view)
    actor = len(view.capture.threads) if target.gpu is not None else target.thread or 0
    segments, gpu_times = _all_segments(scope, target, threads, actor, progress)
    release_freed()
    _next_part(view, progress, 0.4)
    graph = WaitGraph(segments, view.start_ns, view.stop_ns)
    del segments
    release_freed()
    _next_part(view, progress, 0.45)
    pieces = blame(graph.segments, graph.index, actor, view.start_ns, view.stop_ns)
    _next_part(view, progress, 0.5)
    groups = _groups(threads, graph.segments)
    _hold_delays(graph, groups, pieces, actor)
    category = categories(view, graph.segments, pieces, target)
    _next_part(view, progress, 0.55)
    category = categorize_serial(graph, pieces, category, actor, groups)
    loaders = frozenset(np.unique(loading_events(view, target)[0]).tolist())
    return Case(
        scope=scope,
        target=target,
        threads=threads,
        gpus=tuple(gpu_times),
        graph=graph,
        actor=actor,
        pieces=pieces,
        category=category,
        group_of_segment=groups,
        loaders=loaders,
        claimed=np.zeros(len(pieces), bool),
    )


def _all_segments(
    scope: Scope, target: WaitedFor, threads: Threads, actor: int, progress: Progress
) -> tuple[Segments, list[GpuTime]]:
    """The segments of all threads and GPUs, cut at the ends of steps and data loading. A target GPU comes first."""
    view = scope.view
    n_threads = len(view.capture.threads)
    host = with_calls(view, host_segments(threads))
    tracked = np.zeros(n_threads + 1, bool)
    tracked[host.actor[host.cause != Cause.NOT_RECORDED]] = True
    _next_part(view, progress, 0.2)
    gpu_times: list[GpuTime] = []
    if view.were_recorded(*GPU_KINDS):
        wanted = {gpu.tracks: gpu for gpu in gpus(view)}
        if target.gpu is not None:
            overlapping = [tracks for tracks in wanted if tracks & target.gpu.tracks]
            for tracks in overlapping:
                del wanted[tracks]
            wanted = {target.gpu.tracks: target.gpu, **wanted}
        for number, gpu in enumerate(wanted.values()):
            gpu_times.append(gpu_time(view, gpu, n_threads + number, tracked))
            _next_part(view, progress, 0.2 + 0.1 * (number + 1) / len(wanted))
        host = with_synchronization(view, host, gpu_times)
    _next_part(view, progress, 0.35)
    parts = [_host_cut(scope, target, host, actor, gpu_times)]
    del host
    numbers = [time.actor for time in gpu_times]
    for time in gpu_times:
        is_own = time.actor == actor
        parts.append(_cut(view, time.segments, actor, _borders(scope, target)) if is_own else time.segments)
    gpu_times = [replace(time, segments=parts[0].take(slice(0, 0))) for time in gpu_times]
    segments = chain_segments(parts)
    # The segments of GPUs become slices of all segments, instead of copies.
    first = [*np.searchsorted(segments.actor, numbers).tolist(), len(segments)]
    return segments, [
        replace(time, segments=segments.take(slice(first[place], first[place + 1])))
        for place, time in enumerate(gpu_times)
    ]


def _next_part(view: View, progress: Progress, fraction: float) -> None:
    """Report progress between two parts of the work; raises Cancelled."""
    view.check_cancelled()
    progress(fraction, tr("Reading what was recorded"))


def _groups(threads: Threads, segments: Segments) -> IntArray:
    """A number for the place in the user's code of each segment; 0 when unknown."""
    used = np.zeros(int(segments.place.max(initial=-1)) + 2, bool)
    used[segments.place] = True
    numbers: dict[Where, int] = {Where(): 0}
    # The last entry is for −1, no stack.
    group_of_stack = np.zeros(len(used), np.int32)
    if not used[:-1].any():
        return np.broadcast_to(group_of_stack[0], len(segments))
    for stack in np.flatnonzero(used[:-1]).tolist():
        group_of_stack[stack] = numbers.setdefault(threads.place(stack), len(numbers))
    groups: IntArray = group_of_stack[segments.place]
    return groups


def _delaying(segments: Segments, groups: IntArray, pieces: Pieces) -> BoolArray:
    """Which segments, of any actor, have a cause and place that explain enough of the target's time."""
    key = doing_of(segments, groups)
    # Codes of a damaged capture may be anything.
    if key.min(initial=0) < 0 or key.max(initial=0) > _LARGEST_KEY:
        key = np.unique(key, return_inverse=True)[1]
    explained = np.zeros(int(key.max(initial=0)) + 1)
    for first in range(0, len(pieces), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        explained += np.bincount(
            key[pieces.leaf[some]], pieces.stop[some] - pieces.start[some], len(explained)
        )
    delays: BoolArray = (explained > _DELAYS * explained.sum())[key]
    return delays


def _hold_delays(graph: WaitGraph, groups: IntArray, pieces: Pieces, actor: int) -> None:
    """Mark what is known to delay the target, so that a replay without any change reproduces the recording."""
    graph.hold(_delaying(graph.segments, groups, pieces))
    allowed_ns = EXACT * (graph.stop_ns - graph.start_ns)
    # An idle helper's wait lies on the critical path when its end is unknown, so as little as possible is held.
    if graph.baseline_error_ns(actor) <= allowed_ns:
        return
    path, start, stop = graph.walk(actor)
    on_path = np.zeros(len(graph.segments), bool)
    on_path[path] = True
    graph.hold(on_path)
    if not len(path) or graph.baseline_error_ns(actor) <= allowed_ns:
        return
    # A wait for a lock or the GIL keeps its length in the replay, so the arrival of its own thread matters, too.
    spent = np.bincount(graph.segments.actor[path], stop - start)
    least_ns = _ON_PATH * (graph.stop_ns - graph.start_ns)
    graph.hold(one_of(graph.segments.actor, np.flatnonzero(spent > least_ns)))


def _borders(scope: Scope, target: WaitedFor) -> Int64Array:
    """Where the target's steps, data loading, operators and garbage collection begin and end."""
    view = scope.view
    _, start, stop = loading_events(view, target)
    named = (
        *operator_intervals(view, target),
        *range_intervals(view, target),
        *garbage_intervals(view, target),
    )
    return np.unique(np.concatenate([scope.steps.start, scope.steps.stop, start, stop, *named]))


def _host_cut(
    scope: Scope, target: WaitedFor, host: Segments, actor: int, gpu_times: Sequence[GpuTime]
) -> Segments:
    """Threads cut at the target's borders, at those of data loading, and where a GPU starts or stops waiting for them,
    so that work during such a time is separate from other work.
    """
    view = scope.view
    if target.gpu is None:
        host = _cut(view, host, actor, _borders(scope, target))
    thread, start, stop = loading_events(view, target)
    calls = waiting_calls(host)  # the CPU could have worked ahead for as long as a wait lasted
    actors = [thread, thread, calls.thread]
    borders = [start, stop, calls.stop + calls.waited_ns]
    for time in gpu_times:
        gaps = np.flatnonzero((time.segments.cause == Cause.LAUNCH) & (time.segments.by >= 0))
        # Gaps are sorted and disjoint, so their interleaved ends are sorted too.
        ends = np.column_stack((time.segments.start[gaps], time.segments.stop[gaps])).reshape(-1)
        actors.append(np.repeat(time.segments.by[gaps], 2))
        borders.append(ends)
    # Cut at all moments in one go: each cut copies all segments.
    return _cut(view, host, np.concatenate(actors), np.concatenate(borders))


def _cut(view: View, segments: Segments, actor: IntArray | int, borders: Int64Array) -> Segments:
    """Segments cut at moments inside the range, of one actor or one actor per moment."""
    if not len(borders):
        return segments
    actors = np.full(len(borders), actor, np.int32) if isinstance(actor, int) else actor
    inside = (borders > view.start_ns) & (borders < view.stop_ns)
    if not inside.all():
        actors, borders = actors[inside], borders[inside]
    return split_at(segments, Index(segments, view.start_ns, view.stop_ns), actors, borders)
